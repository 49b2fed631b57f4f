//! Brings files to the disk without making others wait for it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use cuesta_core::{Error, Result};

use super::limits::{SYNC_FILES_MAX, SYNC_THREADS};
use crate::parallel::{self, lock};

/// A thread that brings complete files to the disk in the background.
pub struct Syncer {
    files: Mutex<Option<SyncSender<(PathBuf, File)>>>,
    thread: Mutex<Option<JoinHandle<Result<()>>>>,
}

impl Syncer {
    /// Starts the thread.
    pub fn start() -> Self {
        let (sender, receiver) = sync_channel::<(PathBuf, File)>(SYNC_FILES_MAX);
        let work = move || receiver.iter().try_for_each(|(path, file)| sync(&path, &file));
        let thread = Mutex::new(Some(std::thread::spawn(work)));
        Self { files: Mutex::new(Some(sender)), thread }
    }

    /// Hands over files; waits only when many are waiting already. A failure is told by
    /// [`Syncer::finish`].
    pub fn add(&self, files: Vec<(PathBuf, File)>) {
        let Some(sender) = lock(&self.files).clone() else { return };
        for file in files {
            // Fails only after the thread did.
            let _ = sender.send(file);
        }
    }

    /// Waits until all files are on the disk.
    ///
    /// # Errors
    /// `System`.
    pub fn finish(&self) -> Result<()> {
        lock(&self.files).take();
        match lock(&self.thread).take().map(JoinHandle::join) {
            None => Ok(()),
            Some(result) => result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        }
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        lock(&self.files).take();
        if let Some(thread) = lock(&self.thread).take() {
            // The files are about to be removed: how it ended does not matter.
            let _ = thread.join();
        }
    }
}

/// Brings a folder with everything below it to the disk, many files at a time: the wait is for the
/// disk, not for a processor.
///
/// # Errors
/// `System`.
pub fn sync_tree(folder: &Path) -> Result<()> {
    let mut paths = vec![folder.to_owned()];
    let mut next = 0;
    while next < paths.len() {
        if paths[next].is_dir() {
            let entries = fs::read_dir(&paths[next]).and_then(Iterator::collect);
            let entries: Vec<fs::DirEntry> = entries.map_err(|cause| failed(folder, &cause))?;
            paths.extend(entries.iter().map(fs::DirEntry::path));
        }
        next += 1;
    }
    let work = |_: &mut (), task: usize| sync_path(&paths[task]);
    parallel::run(SYNC_THREADS, paths.len(), || (), work, |_| {}).map(|_| ())
}

/// Brings a file or a folder to the disk.
///
/// # Errors
/// `System`.
pub fn sync_path(path: &Path) -> Result<()> {
    sync(path, &File::open(path).map_err(|cause| failed(path, &cause))?)
}

fn sync(path: &Path, file: &File) -> Result<()> {
    file.sync_all().map_err(|cause| failed(path, &cause))
}

fn failed(path: &Path, cause: &std::io::Error) -> Error {
    Error::system("output.pairs", "writing", path, cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_handed_over_and_whole_trees_are_synchronised() {
        let folder = tempfile::tempdir().unwrap();
        let syncer = Syncer::start();
        for number in 0..40 {
            let path = folder.path().join(number.to_string());
            syncer.add(vec![(path.clone(), File::create(&path).unwrap())]);
        }
        syncer.finish().unwrap();
        syncer.finish().unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        sync_tree(folder.path()).unwrap();
        assert!(sync_path(&folder.path().join("absent")).is_err());
    }
}
