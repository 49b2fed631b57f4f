//! What remains to be done to an answer when the engine has ended: its bytes on the disk, and their
//! checksums. Done beside its verification.

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

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Settled {
    /// The files, sorted by name.
    pub files: Vec<Entry>,
    /// Seconds until all of them were on the disk.
    pub disk_seconds: f64,
    /// Seconds until all checksums were known.
    pub checksum_seconds: f64,
}

/// So many files are waited for together.
const TOGETHER: usize = 16;

/// What a thread computes, and the seconds it took.
type Timed<T> = JoinHandle<Result<(T, f64)>>;

/// Two threads that work on an answer folder; dropping it stops them at their next step.
#[derive(Debug)]
pub struct Settling {
    progress: Arc<Progress>,
    /// Those that hash.
    threads: Arc<AtomicUsize>,
    disk: Option<Timed<()>>,
    checksums: Option<Timed<Vec<Entry>>>,
}

impl Settling {
    /// Starts with the files that are in `folder` now.
    ///
    /// # Errors
    /// `System` when there can be no more threads.
    pub fn start(folder: &Path) -> Result<Self> {
        let progress = Arc::new(Progress::default());
        let failed = |error: &io::Error| Error::system(OPERATION, "writing", folder, error);
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let (own, told) = (folder.to_owned(), Arc::clone(&progress));
        let disk = thread("cuesta-disk")
            .spawn(move || timed(|| synchronise(&own, &told)))
            .map_err(|error| failed(&error))?;
        let (own, told): (PathBuf, _) = (folder.to_owned(), Arc::clone(&progress));
        let threads = Arc::new(AtomicUsize::new(1));
        let hashing = Arc::clone(&threads);
        let checksums = thread("cuesta-checksum")
            .spawn(move || timed(|| entries(&own, &[], &hashing, &told)))
            .map_err(|error| failed(&error))?;
        Ok(Self { progress, threads, disk: Some(disk), checksums: Some(checksums) })
    }

    /// Has so many threads hash from now on, at most one a core: nothing else is to be done.
    pub fn hurry(&self, threads: usize) {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.store(threads.min(cores), Ordering::Relaxed);
    }

    /// Whether both threads have ended, so that [`Settling::finish`] would not wait.
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

/// Brings every file and folder in `folder` to the disk, each once, files first; not the folder
/// itself, which gets its record yet. Several at once, because the system brings files to the disk
/// together that are waited for together.
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
            synchronise_one(path)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..paths.len().min(TOGETHER)).map(|_| scope.spawn(work)).collect();
        let own = work();
        others
            .into_iter()
            .map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .fold(own, Result::and)
    })
}

fn synchronise_one(path: &Path) -> Result<()> {
    told(path, File::open(path).and_then(|file| file.sync_all()))
}

/// The error of a file or folder; some file systems do not synchronise folders.
fn told(path: &Path, synchronised: io::Result<()>) -> Result<()> {
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
        let names: Vec<&str> = settled.files.iter().map(|one| one.name.as_str()).collect();
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
    fn one_that_is_dropped_stops() {
        let folder = tempfile::tempdir().expect("folder");
        let settling = Settling::start(folder.path()).expect("start");
        let progress = Arc::clone(&settling.progress);
        assert!(progress.advance(0).is_ok());
        drop(settling);
        assert!(progress.advance(0).is_err());
    }

    #[test]
    fn what_cannot_be_synchronised_alone_is_let_pass() {
        let path = Path::new("a");
        assert!(told(path, Err(io::ErrorKind::InvalidInput.into())).is_ok());
        assert!(told(path, Err(io::ErrorKind::StorageFull.into())).is_err());
        assert!(synchronise_one(Path::new("/nowhere/at/all")).is_err());
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_that_names_it() {
        let settling = Settling::start(Path::new("/nowhere/at/all")).expect("start");
        let error = settling.finish().expect_err("no folder");
        assert!(error.message.contains("/nowhere/at/all"), "{}", error.message);
    }

    #[test]
    fn a_cancelled_one_ends_without_its_checksums() {
        let folder = tempfile::tempdir().expect("folder");
        fs::write(folder.path().join("a"), vec![0; 1 << 20]).expect("write");
        let progress = Progress::default();
        progress.cancel();
        assert!(synchronise(folder.path(), &progress).is_err());
        assert!(entries(folder.path(), &[], &AtomicUsize::new(1), &progress).is_err());
    }
}
