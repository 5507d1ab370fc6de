//! `--save DIR`: the files of a result, written as they come. What an agent calls a file is no path: of a name, only what
//! can do no harm is kept.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use baton_core::model::{Artifact, Content, Part, StreamResponse, safe_name};

use super::output;

/// Whether and where files are kept.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct SaveArgs {
    /// Write the files of the result into this folder, as they come
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// With --save: replace files that are there already
    #[arg(long, requires = "save")]
    force: bool,
}

/// Files of one conversation.
#[derive(Debug)]
pub struct Saver {
    dir: PathBuf,
    force: bool,
    /// Names that this command has given.
    taken: HashSet<String>,
    /// By artifact; a reply's files have no artifact.
    artifacts: HashMap<String, Vec<Kept>>,
}

/// One file, which further pieces of the same name continue.
#[derive(Debug)]
struct Kept {
    said: Option<String>,
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl SaveArgs {
    pub fn saver(&self) -> io::Result<Option<Saver>> {
        let Some(dir) = &self.save else { return Ok(None) };
        fs::create_dir_all(dir)
            .map_err(|why| io::Error::new(why.kind(), format!("cannot make {}: {why}", dir.display())))?;
        let (taken, artifacts) = (HashSet::new(), HashMap::new());
        Ok(Some(Saver { dir: dir.clone(), force: self.force, taken, artifacts }))
    }
}

impl Saver {
    /// Writes what an answer brings.
    pub fn take(&mut self, response: &StreamResponse) -> io::Result<()> {
        match response {
            StreamResponse::Task(task) => {
                task.artifacts.iter().flatten().try_for_each(|artifact| self.whole(artifact))
            }
            StreamResponse::ArtifactUpdate(update) if update.append => self.piece(&update.artifact),
            StreamResponse::ArtifactUpdate(update) => self.whole(&update.artifact),
            StreamResponse::Message(message) => {
                let reply = Artifact { parts: message.parts.clone(), ..Artifact::default() };
                self.whole(&reply)
            }
            StreamResponse::StatusUpdate(_) => Ok(()),
        }
    }

    /// Names what was written.
    pub fn finish(&self) {
        let mut kept: Vec<&Kept> = self.artifacts.values().flatten().collect();
        kept.sort_by_key(|kept| &kept.path);
        for Kept { path, bytes, .. } in kept {
            output::note(&format!("saved {} ({bytes} bytes)", path.display()));
        }
    }

    /// An artifact from its beginning: files that it has already are written anew.
    fn whole(&mut self, artifact: &Artifact) -> io::Result<()> {
        let mut before = self.artifacts.remove(&artifact.artifact_id).unwrap_or_default().into_iter();
        let mut kept: Vec<Kept> = Vec::new();
        for part in artifact.parts.iter().filter(|part| is_file(part)) {
            if !continues(kept.last(), part) {
                kept.push(match before.next() {
                    Some(known) if known.said == part.filename => known.emptied()?,
                    Some(_) | None => self.open(artifact, part)?,
                });
            }
            write_to(kept.last_mut(), part)?;
        }
        self.artifacts.insert(artifact.artifact_id.clone(), kept);
        Ok(())
    }

    /// More of an artifact.
    fn piece(&mut self, artifact: &Artifact) -> io::Result<()> {
        let mut kept = self.artifacts.remove(&artifact.artifact_id).unwrap_or_default();
        for part in artifact.parts.iter().filter(|part| is_file(part)) {
            if !continues(kept.last(), part) {
                kept.push(self.open(artifact, part)?);
            }
            write_to(kept.last_mut(), part)?;
        }
        self.artifacts.insert(artifact.artifact_id.clone(), kept);
        Ok(())
    }

    fn open(&mut self, artifact: &Artifact, part: &Part) -> io::Result<Kept> {
        let name = self.name(artifact, part);
        let path = self.dir.join(&name);
        if self.force && fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_dir()) {
            fs::remove_file(&path)?;
        }
        // A new file and no other: not what is there, and not what a link there points to.
        let file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(|why| {
            let hint = if why.kind() == io::ErrorKind::AlreadyExists && !self.force {
                "; --force replaces it, and `baton task get` with --save has the files again"
            } else {
                ""
            };
            io::Error::new(why.kind(), format!("cannot write {}: {why}{hint}", path.display()))
        })?;
        Ok(Kept { said: part.filename.clone(), path, file, bytes: 0 })
    }

    /// A name that no other file of this conversation has.
    fn name(&mut self, artifact: &Artifact, part: &Part) -> String {
        let name = part.filename.as_deref().and_then(safe_name);
        let name = name.or_else(|| {
            let stem = safe_name(artifact.name.as_deref().unwrap_or(&artifact.artifact_id))?;
            Some(format!("{stem}{}", ending(part)))
        });
        let name = name.unwrap_or_else(|| format!("file{}", ending(part)));
        let path = Path::new(&name);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let end = path.extension().map(|end| format!(".{}", end.to_string_lossy())).unwrap_or_default();
        let mut candidate = name.clone();
        let mut count = 1;
        while !self.taken.insert(candidate.clone()) {
            count += 1;
            candidate = format!("{stem}-{count}{end}");
        }
        candidate
    }
}

impl Kept {
    fn emptied(self) -> io::Result<Self> {
        use std::io::Seek as _;
        let mut kept = Self { bytes: 0, ..self };
        kept.file.set_len(0)?;
        kept.file.rewind()?;
        Ok(kept)
    }
}

/// Bytes are a file; text and data are one where they have a name.
fn is_file(part: &Part) -> bool {
    match &part.content {
        Content::Raw(_) => true,
        Content::Text(_) | Content::Data(_) => part.filename.is_some(),
        Content::Url(_) | Content::Missing => false,
    }
}

/// Whether a part goes on with a file: pieces of one file have its name, each of them.
fn continues(last: Option<&Kept>, part: &Part) -> bool {
    part.filename.is_some() && last.is_some_and(|last| last.said == part.filename)
}

fn write_to(kept: Option<&mut Kept>, part: &Part) -> io::Result<()> {
    let Some(kept) = kept else { return Ok(()) };
    let mut write = |bytes: &[u8]| {
        kept.bytes += bytes.len() as u64;
        kept.file.write_all(bytes)
    };
    match &part.content {
        Content::Raw(base64) => base64.pieces().try_for_each(|piece| write(&piece)),
        Content::Text(text) => write(text.as_bytes()),
        Content::Data(json) => write(json.as_str().as_bytes()),
        Content::Url(_) | Content::Missing => Ok(()),
    }
}

fn ending(part: &Part) -> &'static str {
    let kind = part.media_type.as_deref().unwrap_or_default();
    match kind.split(';').next().unwrap_or_default().trim() {
        "text/plain" => ".txt",
        "text/markdown" => ".md",
        "text/csv" => ".csv",
        "text/html" => ".html",
        "application/json" => ".json",
        "application/pdf" => ".pdf",
        "application/zip" => ".zip",
        "image/png" => ".png",
        "image/jpeg" => ".jpg",
        "image/gif" => ".gif",
        "image/webp" => ".webp",
        "image/svg+xml" => ".svg",
        "audio/mpeg" => ".mp3",
        "audio/wav" => ".wav",
        "video/mp4" => ".mp4",
        _ => ".bin",
    }
}

#[cfg(test)]
mod tests;
