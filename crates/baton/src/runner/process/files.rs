//! Files for a `text` child: what of a message is no text lies in a folder of its own while the child runs.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, chown};
use std::path::{Path, PathBuf};

use baton_core::model::{Content, Message, Part, safe_name};
use nix::unistd::{Uid, User};

use crate::clock::new_id;

/// The variable that names the folder.
pub const VARIABLE: &str = "BATON_FILES";

/// A folder that goes with this value. Only the node and the child's user can look into it.
#[derive(Debug)]
pub struct Files {
    folder: PathBuf,
}

impl Files {
    /// Writes what of `message` is no text, numbered as the parts are; `None` where there is nothing.
    pub async fn of(message: &Message, user: Option<&str>) -> io::Result<Option<Self>> {
        let is_file = |part: &&(usize, Part)| !matches!(part.1.content, Content::Text(_) | Content::Missing);
        let numbered = message.parts.iter().cloned().enumerate().map(|(at, part)| (at + 1, part));
        let parts: Vec<(usize, Part)> = numbered.filter(|part| is_file(&part)).collect();
        if parts.is_empty() {
            return Ok(None);
        }
        let owner = user.map(id_of).transpose()?;
        tokio::task::spawn_blocking(move || write(&parts, owner)).await.map_err(io::Error::other)?.map(Some)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if let Err(why) = fs::remove_dir_all(&self.folder)
            && why.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(folder = %self.folder.display(), error = %why, "a child's files could not be removed");
        }
    }
}

fn write(parts: &[(usize, Part)], owner: Option<Uid>) -> io::Result<Files> {
    let folder = std::env::temp_dir().join(format!("baton-files-{}", new_id()));
    DirBuilder::new().mode(0o700).create(&folder)?;
    // From here on it is removed, whatever happens.
    let files = Files { folder };
    for (number, part) in parts {
        let path = files.folder.join(format!("{number}-{}", name(part)));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        match &part.content {
            Content::Raw(base64) => base64.pieces().try_for_each(|piece| file.write_all(&piece))?,
            Content::Data(json) => file.write_all(json.as_str().as_bytes())?,
            Content::Url(text) | Content::Text(text) => file.write_all(text.as_bytes())?,
            Content::Missing => {}
        }
        give(&path, owner)?;
    }
    give(&files.folder, owner)?;
    Ok(files)
}

fn give(path: &Path, owner: Option<Uid>) -> io::Result<()> {
    owner.map_or(Ok(()), |owner| chown(path, Some(owner.as_raw()), None))
}

/// What the sender calls it, else what it is.
fn name(part: &Part) -> String {
    let said = part.filename.as_deref().and_then(safe_name);
    match &part.content {
        Content::Url(_) => said.map_or_else(|| "link.url".to_owned(), |name| format!("{name}.url")),
        Content::Data(_) => said.unwrap_or_else(|| "data.json".to_owned()),
        Content::Raw(_) | Content::Text(_) | Content::Missing => said.unwrap_or_else(|| "file".to_owned()),
    }
}

/// The user of a child, by number or by name, as the warden looks it up.
fn id_of(user: &str) -> io::Result<Uid> {
    if let Ok(number) = user.parse() {
        return Ok(Uid::from_raw(number));
    }
    let unknown = || io::Error::new(io::ErrorKind::NotFound, format!("there is no user {user}"));
    Ok(User::from_name(user).map_err(io::Error::from)?.ok_or_else(unknown)?.uid)
}
