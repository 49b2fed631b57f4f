//! Recently used files: a reader that opens a file for each piece of it finds its blocks leased and
//! mapped.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use cuesta_runtime::parallel::lock;

use super::file::OpenFile;
use super::limits::{RECENT_FILES, RECENT_TIME};

/// Files that remain open for a moment after their last use.
#[derive(Debug, Default)]
pub struct RecentFiles(Arc<Mutex<Recent>>);

#[derive(Debug, Default)]
struct Recent {
    files: Vec<(Arc<OpenFile>, Instant)>,
    /// Whether a thread is running that closes them.
    has_closer: bool,
}

impl RecentFiles {
    /// Adds a file that was just opened.
    pub fn keep(&self, file: &Arc<OpenFile>) {
        let mut recent = lock(&self.0);
        let mut closing = Vec::new();
        recent.files.retain(|(other, _)| !Arc::ptr_eq(other, file));
        if recent.files.len() >= RECENT_FILES {
            closing.push(recent.files.remove(0));
        }
        recent.files.push((Arc::clone(file), Instant::now()));
        if !recent.has_closer {
            recent.has_closer = self.start();
            if !recent.has_closer {
                closing.append(&mut recent.files);
            }
        }
        // Closing a file waits for replies of the store.
        drop(recent);
        drop(closing);
    }

    /// Closes all files.
    pub fn clear(&self) {
        let closing = std::mem::take(&mut *lock(&self.0));
        drop(closing);
    }

    fn start(&self) -> bool {
        let recent = Arc::downgrade(&self.0);
        let closer = move || loop {
            std::thread::sleep(RECENT_TIME / 2);
            let Some(recent) = recent.upgrade() else { return };
            let mut recent = lock(&recent);
            let old: Vec<_> =
                recent.files.extract_if(.., |(_, used)| used.elapsed() > RECENT_TIME).collect();
            recent.has_closer = !recent.files.is_empty();
            let ends = recent.files.is_empty();
            drop(recent);
            drop(old);
            if ends {
                return;
            }
        };
        std::thread::Builder::new().name("cuesta-recent".to_owned()).spawn(closer).is_ok()
    }
}
