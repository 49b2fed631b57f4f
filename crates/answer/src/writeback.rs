//! Early write-back: files are written to the disk while they grow, rather than all at the end.
//!
//! The only file of this crate with `unsafe`.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, SystemTime};

use cuesta_core::{Error, Result};

use crate::{OPERATION, walk};

/// Interval between two looks at the files.
const LOOK: Duration = Duration::from_millis(200);

/// Least growth of a file since the last look before it is written.
const LEAST_BYTES: u64 = 4 << 20;

/// Writes back the files of a folder in the background until it is dropped.
///
/// It changes no byte and ignores errors: [`crate::settle`] waits for the disk and checks the
/// result.
#[derive(Debug)]
pub struct WriteBack {
    _stop: Sender<()>,
}

impl WriteBack {
    /// Starts to watch `folder`, on a separate thread.
    ///
    /// # Errors
    /// `System` when no more threads can be started.
    pub fn start(folder: &Path) -> Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let watched_folder = folder.to_owned();
        // The thread is not joined: the system may block it for as long as the disk is busy.
        std::thread::Builder::new()
            .name("cuesta-writeback".to_owned())
            .spawn(move || {
                let mut begun = HashMap::new();
                while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                    look(&watched_folder, &mut begun);
                }
            })
            .map_err(|error| Error::system(OPERATION, "watching", folder, &error))?;
        Ok(Self { _stop: stop })
    }
}

/// State of a file when its pages were last sent to the disk: blocks may be written in any order,
/// so the time counts as well as the size.
type FileState = (u64, Option<SystemTime>);

fn look(folder: &Path, begun: &mut HashMap<PathBuf, FileState>) {
    // A folder that changes meanwhile is read again at the next look.
    let _ = walk(folder, &mut |path, is_folder| {
        if is_folder {
            return Ok(());
        }
        if let Ok(facts) = fs::metadata(path) {
            let state = (facts.len(), facts.modified().ok());
            if facts.len() >= LEAST_BYTES && begun.get(path) != Some(&state) {
                begun.insert(path.to_owned(), state);
                begin(path);
            }
        }
        Ok(())
    });
}

/// Starts to write all pages of a file that are not on the disk.
fn begin(path: &Path) {
    if let Ok(file) = File::open(path) {
        // SAFETY: the descriptor is open until the end of the block, and no memory is involved.
        unsafe {
            libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_is_sent_once_for_each_change() {
        let folder = tempfile::tempdir().expect("folder");
        let (small, large) = (folder.path().join("small"), folder.path().join("large"));
        fs::write(&small, vec![1; (4 << 20) - 1]).expect("write");
        fs::write(&large, vec![1; 4 << 20]).expect("write");
        let mut begun = HashMap::new();
        look(folder.path(), &mut begun);
        assert_eq!(begun.keys().collect::<Vec<_>>(), [&large]);
        let before = begun[&large];
        fs::write(&large, vec![1; 5 << 20]).expect("write");
        look(folder.path(), &mut begun);
        assert_ne!(begun[&large], before);
    }

    #[test]
    fn a_missing_folder_does_no_harm() {
        let mut begun = HashMap::new();
        look(Path::new("/nowhere/at/all"), &mut begun);
        assert!(begun.is_empty());
    }
}
