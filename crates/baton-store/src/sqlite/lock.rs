//! The data folder's lock: one node per SQLite store.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::OpenError;

/// How long a lock is waited for. A node that was killed while it started a process leaves its files open there until
/// that process runs something else: for a moment, the lock of a dead node is held.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);

/// Held as long as the store is open; the kernel lets go of it when the process dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of `folder`, which is created (0700) where it is not there.
    pub fn take(folder: &Path) -> Result<Self, OpenError> {
        let in_folder = |source| OpenError::Folder { path: folder.to_path_buf(), source };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(in_folder)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(folder.join("baton.lock"))
            .map_err(in_folder)?;
        if let Err(why) = patiently(&file, std::thread::sleep) {
            if why != Errno::WOULDBLOCK {
                return Err(in_folder(why.into()));
            }
            let mut holder = String::new();
            file.read_to_string(&mut holder).map_err(in_folder)?;
            return Err(OpenError::Locked { path: folder.to_path_buf(), holder: holder.trim().to_owned() });
        }
        file.set_len(0).map_err(in_folder)?;
        file.rewind().map_err(in_folder)?;
        writeln!(file, "process {}", std::process::id()).map_err(in_folder)?;
        Ok(Self { _file: file })
    }
}

/// Takes the lock, with a pause after each try that finds it held: a lock that is waited for cannot be given up after a
/// time, and nothing runs yet that the pauses could hold up.
pub(super) fn patiently(file: &File, mut pause: impl FnMut(Duration)) -> Result<(), Errno> {
    let mut left = PATIENCE;
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if !left.is_zero() => {
                pause(PAUSE);
                left = left.saturating_sub(PAUSE);
            }
            result => return result,
        }
    }
}
