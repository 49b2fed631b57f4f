//! Has the system write files to the disk while they grow, rather than all at once at the end.
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

/// How often the files are looked at.
const LOOK: Duration = Duration::from_millis(200);

/// A file that has grown by less since the last time is left alone.
const LEAST_BYTES: u64 = 4 << 20;

/// Looks after the files of a folder until it is dropped.
///
/// It changes no byte and fails in silence: whether the bytes are on the disk is what
/// [`crate::settle`] asks and waits for.
#[derive(Debug)]
pub struct WriteBack {
    _stop: Sender<()>,
}

impl WriteBack {
    /// Starts to look after `folder`, on a thread of its own.
    ///
    /// # Errors
    /// `System` when there can be no more threads.
    pub fn start(folder: &Path) -> Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let own = folder.to_owned();
        // Not joined: the system may hold a thread up for as long as the disk is busy.
        std::thread::Builder::new()
            .name("cuesta-writeback".to_owned())
            .spawn(move || {
                let mut begun = HashMap::new();
                while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                    look(&own, &mut begun);
                }
            })
            .map_err(|error| Error::system(OPERATION, "watching", folder, &error))?;
        Ok(Self { _stop: stop })
    }
}

/// What a file was when its pages were last sent to the disk: blocks may be written in any order,
/// so the time counts as well as the size.
type Seen = (u64, Option<SystemTime>);

fn look(folder: &Path, begun: &mut HashMap<PathBuf, Seen>) {
    // A folder that changes meanwhile is looked at again.
    let _ = walk(folder, &mut |path, is_folder| {
        if is_folder {
            return Ok(());
        }
        if let Ok(facts) = fs::metadata(path) {
            let seen = (facts.len(), facts.modified().ok());
            if facts.len() >= LEAST_BYTES && begun.get(path) != Some(&seen) {
                begun.insert(path.to_owned(), seen);
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
    fn a_folder_that_is_not_there_does_no_harm() {
        let mut begun = HashMap::new();
        look(Path::new("/nowhere/at/all"), &mut begun);
        assert!(begun.is_empty());
    }
}
