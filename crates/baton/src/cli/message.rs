//! A message from flags, files and standard input.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use baton_core::json::Json;
use baton_core::model::{Base64, Content, Message, Part, Role};

use super::Failure;
use crate::clock::new_id;

/// What is to be said.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MessageArgs {
    /// The text; `-`, or nothing where something is piped in, reads standard input
    #[arg(value_name = "TEXT")]
    pub text: Vec<String>,
    /// A file to send along (repeatable); `-` is standard input
    #[arg(long, short, value_name = "PATH")]
    pub file: Vec<PathBuf>,
    /// A JSON value to send along (repeatable); numbers arrive as they are written
    #[arg(long, short, value_name = "JSON")]
    pub data: Vec<String>,
}

/// Bytes of one file: as base64, it still fits into what servers take.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

impl MessageArgs {
    /// The message of these flags. `stdin` is read at most once.
    pub fn build(&self) -> Result<Message, Failure> {
        let from_stdin = self.text == ["-"];
        let piped_files = self.file.iter().filter(|path| is_stdin(path)).count();
        if piped_files + usize::from(from_stdin) > 1 {
            return Err(Failure::usage("standard input can be read once only; name it in one place"));
        }
        let mut parts = Vec::new();
        if from_stdin {
            parts.push(stdin_text()?);
        } else if !self.text.is_empty() {
            parts.push(Part::text(self.text.join(" ")));
        } else if self.file.is_empty() && self.data.is_empty() {
            if io::stdin().is_terminal() {
                return Err(Failure::usage(
                    "there is nothing to send; give a TEXT, --file or --data, or pipe a text in",
                ));
            }
            parts.push(stdin_text()?);
        }
        for path in &self.file {
            parts.push(file(path)?);
        }
        for text in &self.data {
            let json = Json::parse(text).map_err(|why| {
                Failure::usage(format!("--data is no JSON: {why}; quote it as '{{\"key\": 1}}'"))
            })?;
            parts.push(Part::data(json));
        }
        Ok(Message { message_id: new_id().to_string(), role: Role::User, parts, ..Message::default() })
    }
}

/// A text by itself.
pub fn of_text(text: &str) -> Message {
    Message::text(Role::User, new_id().to_string(), text)
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn stdin_text() -> Result<Part, Failure> {
    let bytes = read(io::stdin().lock(), "standard input")?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage("standard input is no UTF-8 text; send it as a file with --file -"))?;
    if text.is_empty() {
        return Err(Failure::usage("standard input is empty; there is nothing to send"));
    }
    Ok(Part::text(text))
}

fn file(path: &Path) -> Result<Part, Failure> {
    let name = path.display().to_string();
    let bytes = if is_stdin(path) {
        read(io::stdin().lock(), "standard input")?
    } else {
        let file = File::open(path).map_err(|why| Failure::usage(format!("cannot read {name}: {why}")))?;
        read(file, &name)?
    };
    let filename =
        path.file_name().filter(|_| !is_stdin(path)).map(|name| name.to_string_lossy().into_owned());
    Ok(Part {
        media_type: Some(media_type(path, &bytes).to_owned()),
        content: Content::Raw(Base64::encode(&bytes)),
        metadata: None,
        filename,
    })
}

fn read(from: impl Read, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = from.take(FILE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|why| Failure::usage(format!("cannot read {name}: {why}")))?;
    if bytes.len() as u64 > FILE_BYTES {
        let most = FILE_BYTES / (1024 * 1024);
        return Err(Failure::usage(format!(
            "{name} is larger than {most} MiB; give the agent a URL to it instead"
        )));
    }
    Ok(bytes)
}

/// By the name, else by whether it is text.
fn media_type(path: &Path, bytes: &[u8]) -> &'static str {
    let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    match ending.as_deref() {
        Some("json") => "application/json",
        Some("pdf") => "application/pdf",
        Some("zip") => "application/zip",
        Some("gz" | "tgz") => "application/gzip",
        Some("tar") => "application/x-tar",
        Some("xml") => "application/xml",
        Some("yaml" | "yml") => "application/yaml",
        Some("toml") => "application/toml",
        Some("csv") => "text/csv",
        Some("md") => "text/markdown",
        Some("html" | "htm") => "text/html",
        Some("css") => "text/css",
        Some("js" | "mjs") => "text/javascript",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("svg") => "image/svg+xml",
        Some("mp3") => "audio/mpeg",
        Some("wav") => "audio/wav",
        Some("ogg") => "audio/ogg",
        Some("mp4") => "video/mp4",
        Some("webm") => "video/webm",
        Some("docx") => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        Some("xlsx") => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        _ if std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0')) => "text/plain",
        _ => "application/octet-stream",
    }
}
