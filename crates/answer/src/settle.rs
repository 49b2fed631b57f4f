//! Completion of an answer after its engine has ended: files are synchronised to the disk and their
//! checksums computed, in parallel with the verification.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use serde::Serialize;

use crate::checksum::{Entry, entries};
use crate::{OPERATION, sorted_entries, walk};

/// Result of the completion.
#[derive(Clone, Debug, Serialize)]
pub struct Settled {
    /// The files, sorted by name.
    pub files: Vec<Entry>,
    /// Seconds until all of them were on the disk.
    pub disk_seconds: f64,
    /// Seconds until all checksums were computed.
    pub checksum_seconds: f64,
}

/// Files that are synchronised in parallel.
const TOGETHER: usize = 16;

/// Thread that returns a value and the seconds it took.
type Timed<T> = JoinHandle<Result<(T, f64)>>;

/// Two threads that work on an answer folder; dropping this stops them at their next step.
#[derive(Debug)]
pub struct Settling {
    progress: Arc<Progress>,
    /// Number of threads that hash.
    threads: Arc<AtomicUsize>,
    disk: Option<Timed<()>>,
    checksums: Option<Timed<Vec<Entry>>>,
}

impl Settling {
    /// Starts with the files that are in `folder` now.
    ///
    /// # Errors
    /// `System` when no more threads can be started.
    pub fn start(folder: &Path) -> Result<Self> {
        let progress = Arc::new(Progress::default());
        let failed = |error: &io::Error| Error::system(OPERATION, "writing", folder, error);
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let (path, thread_progress) = (folder.to_owned(), Arc::clone(&progress));
        let disk = thread("cuesta-disk")
            .spawn(move || timed(|| synchronise(&path, &thread_progress)))
            .map_err(|error| failed(&error))?;
        let (path, thread_progress): (PathBuf, _) = (folder.to_owned(), Arc::clone(&progress));
        let threads = Arc::new(AtomicUsize::new(1));
        let hashing = Arc::clone(&threads);
        let checksums = thread("cuesta-checksum")
            .spawn(move || timed(|| entries(&path, &[], &hashing, &thread_progress)))
            .map_err(|error| failed(&error))?;
        Ok(Self { progress, threads, disk: Some(disk), checksums: Some(checksums) })
    }

    /// Sets the number of threads that hash, at most one a core, once there is nothing else to do.
    pub fn hurry(&self, threads: usize) {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.store(threads.min(cores), Ordering::Relaxed);
    }

    /// Returns whether both threads have ended, so that [`Settling::finish`] would not wait.
    pub fn is_finished(&self) -> bool {
        self.disk.as_ref().is_none_or(JoinHandle::is_finished)
            && self.checksums.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for both threads.
    ///
    /// # Errors
    /// `System` when a file cannot be read or written, e.g. because the disk is full; `Cancelled`.
    pub fn finish(mut self) -> Result<Settled> {
        let ((), disk_seconds) = self.disk.take().map_or(Ok(((), 0.0)), joined)?;
        let (files, checksum_seconds) = self.checksums.take().map_or(Ok((vec![], 0.0)), joined)?;
        Ok(Settled { files, disk_seconds, checksum_seconds })
    }
}

impl Drop for Settling {
    fn drop(&mut self) {
        self.progress.cancel();
    }
}

fn joined<T>(thread: JoinHandle<Result<T>>) -> Result<T> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Synchronises all files and folders in `folder` to the disk, files first, several in parallel,
/// because the system then writes them together. `folder` itself is synchronised later, with the
/// record of the answer.
///
/// # Errors
/// `System` when the disk is full or broken; `Cancelled`.
pub fn synchronise(folder: &Path, progress: &Progress) -> Result<()> {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in sorted_entries(folder)? {
        walk(&entry, &mut |path, is_folder| {
            if is_folder { &mut folders } else { &mut files }.push(path.to_owned());
            Ok(())
        })?;
    }
    synchronise_all(&files, progress)?;
    synchronise_all(&folders, progress)
}

fn synchronise_all(paths: &[PathBuf], progress: &Progress) -> Result<()> {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            progress.advance(0)?;
            synchronise_path(path)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..paths.len().min(TOGETHER)).map(|_| scope.spawn(work)).collect();
        let result = work();
        helpers
            .into_iter()
            .map(|helper| helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .fold(result, Result::and)
    })
}

fn synchronise_path(path: &Path) -> Result<()> {
    check_synchronised(path, File::open(path).and_then(|file| file.sync_all()))
}

/// Returns the error of a file or folder; some file systems cannot synchronise folders.
fn check_synchronised(path: &Path, synchronised: io::Result<()>) -> Result<()> {
    match synchronised {
        Err(error) if error.kind() != io::ErrorKind::InvalidInput => {
            Err(Error::system(OPERATION, "writing", path, &error))
        }
        _ => Ok(()),
    }
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let started = Instant::now();
    Ok((work()?, started.elapsed().as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_answer_is_synchronised_and_has_its_checksums() {
        let folder = tempfile::tempdir().expect("folder");
        fs::create_dir(folder.path().join("pairs.zarr")).expect("folder");
        fs::write(folder.path().join("pairs.zarr/0"), "zero").expect("write");
        fs::write(folder.path().join("a"), "a").expect("write");
        let settling = Settling::start(folder.path()).expect("start");
        settling.hurry(2);
        let settled = settling.finish().expect("finish");
        let names: Vec<&str> = settled.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["a", "pairs.zarr"]);
        assert_eq!(settled.files[0].blake3, blake3::hash(b"a").to_hex().to_string());
    }

    #[test]
    fn it_is_finished_once_both_threads_are() {
        let (send, wait) = std::sync::mpsc::channel();
        let disk = std::thread::spawn(|| Ok(((), 0.0)));
        let checksums = std::thread::spawn(move || {
            wait.recv().expect("a word");
            Ok((vec![], 0.0))
        });
        let progress = Arc::new(Progress::default());
        let threads = Arc::new(AtomicUsize::new(1));
        let mut settling = Settling { progress, threads, disk: Some(disk), checksums: None };
        while !settling.is_finished() {
            std::thread::yield_now();
        }
        settling.checksums = Some(checksums);
        assert!(!settling.is_finished());
        send.send(()).expect("it waits");
        while !settling.is_finished() {
            std::thread::yield_now();
        }
        settling.finish().expect("finish");
    }

    #[test]
    fn a_dropped_completion_stops() {
        let folder = tempfile::tempdir().expect("folder");
        let settling = Settling::start(folder.path()).expect("start");
        let progress = Arc::clone(&settling.progress);
        assert!(progress.advance(0).is_ok());
        drop(settling);
        assert!(progress.advance(0).is_err());
    }

    #[test]
    fn an_unsupported_synchronisation_is_no_error() {
        let path = Path::new("a");
        assert!(check_synchronised(path, Err(io::ErrorKind::InvalidInput.into())).is_ok());
        assert!(check_synchronised(path, Err(io::ErrorKind::StorageFull.into())).is_err());
        assert!(synchronise_path(Path::new("/nowhere/at/all")).is_err());
    }

    #[test]
    fn a_missing_folder_is_an_error_that_names_it() {
        let settling = Settling::start(Path::new("/nowhere/at/all")).expect("start");
        let error = settling.finish().expect_err("no folder");
        assert!(error.message().contains("/nowhere/at/all"), "{}", error.message());
    }

    #[test]
    fn a_cancelled_completion_has_no_checksums() {
        let folder = tempfile::tempdir().expect("folder");
        fs::write(folder.path().join("a"), vec![0; 1 << 20]).expect("write");
        let progress = Progress::default();
        progress.cancel();
        assert!(synchronise(folder.path(), &progress).is_err());
        assert!(entries(folder.path(), &[], &AtomicUsize::new(1), &progress).is_err());
    }
}
