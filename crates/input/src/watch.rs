//! Fingerprints of inputs, made while these are read by whatever reads them.
//!
//! Every reader opens its files as a [`storage::Input`](crate::storage::Input). While there is a
//! [`ReadWatch`], these pass on the bytes that they read, in any order, by any thread, some of them
//! twice; each byte counts once. So the fingerprint of an input costs no reading of its own, and a
//! part that nobody reads costs nothing.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use cuesta_core::content::{self, PAGE_BYTES};
use cuesta_core::digest::{Digest, Record, Tag};
use cuesta_core::{Error, Result};
use serde::Serialize;

use crate::storage::{self, Input};

const OPERATION: &str = "input.fingerprint";
const TAG: Tag = Tag::Named(*b"input\0\0\0");
/// Ranges of a file that are remembered; one that is read in more pieces has no fingerprint.
const RANGES_MAX: usize = 1 << 16;
/// Bytes that are read at once where nothing else reads them.
const READ_BYTES: usize = 1 << 18;

static WATCHES: RwLock<Vec<Weak<Watched>>> = RwLock::new(Vec::new());
/// Number of watches, so that without any a reader takes no lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Fingerprint of the bytes that were read of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputFingerprint {
    /// Bytes that were read, each counted once.
    pub bytes: u64,
    /// Files that were read.
    pub files: u64,
    /// Sum over the names of the files within the input and what was read of them; `None` where
    /// they were read in too many pieces.
    pub sum: Option<String>,
}

/// Hears what is read of some inputs until it is dropped.
pub struct ReadWatch {
    watched: Arc<Watched>,
}

struct Watched {
    inputs: Vec<PathBuf>,
    files: Mutex<HashMap<PathBuf, Arc<WatchedFile>>>,
}

/// Ranges and sums of what was read of a file.
#[derive(Debug, Default)]
pub struct WatchedFile {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Ends of ranges that were read, by their beginnings; none touches another.
    ranges: BTreeMap<u64, u64>,
    bytes: u64,
    /// Digest of pages that were read wholly.
    digest: Digest,
    /// Sum and bytes of pages that were read in part.
    parts: HashMap<u64, (u64, usize)>,
    is_lost: bool,
}

impl ReadWatch {
    /// Hears what is read of `inputs`, which are files, folders or URIs, from now on.
    pub fn new(inputs: Vec<PathBuf>) -> Self {
        let watched = Arc::new(Watched { inputs, files: Mutex::default() });
        let mut all = WATCHES.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|watch| watch.strong_count() > 0);
        all.push(Arc::downgrade(&watched));
        COUNT.store(all.len(), Ordering::Release);
        drop(all);
        Self { watched }
    }

    /// Fingerprints of the inputs, in their order.
    pub fn fingerprints(&self) -> Vec<InputFingerprint> {
        let files = self.watched.files();
        self.watched.inputs.iter().map(|input| fingerprint(input, &files)).collect()
    }

    /// Reads what nothing has read yet.
    ///
    /// # Errors
    /// `System`.
    pub fn complete(&self) -> Result<()> {
        let mut buffer = vec![0; READ_BYTES];
        self.watched.inputs.iter().try_for_each(|input| read_all(input, &mut buffer))
    }
}

impl Drop for ReadWatch {
    fn drop(&mut self) {
        let mut all = WATCHES.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|watch| !std::ptr::eq(watch.as_ptr(), Arc::as_ptr(&self.watched)));
        COUNT.store(all.len(), Ordering::Release);
    }
}

impl Watched {
    fn files(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<WatchedFile>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watches of a file; none where no input with it is watched.
pub fn of(path: &Path) -> Vec<Arc<WatchedFile>> {
    if COUNT.load(Ordering::Acquire) == 0 {
        return Vec::new();
    }
    let all = WATCHES.read().unwrap_or_else(PoisonError::into_inner);
    all.iter()
        .filter_map(Weak::upgrade)
        .filter(|watched| watched.inputs.iter().any(|input| path.starts_with(input)))
        .map(|watched| watched.files().entry(path.to_owned()).or_default().clone())
        .collect()
}

/// Has all files of a folder heard of that another library reads wholly.
///
/// # Errors
/// `System`.
pub fn read_elsewhere(folder: &Path) -> Result<()> {
    if of(folder).is_empty() {
        return Ok(());
    }
    read_all(folder, &mut vec![0; READ_BYTES])
}

impl WatchedFile {
    /// Hears of bytes that were read from `offset` on.
    pub fn add(&self, offset: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let new = self.state().claim(offset, offset + bytes.len() as u64);
        for (start, end) in new {
            let piece = &bytes[(start - offset) as usize..(end - offset) as usize];
            self.add_new(start, piece);
        }
    }

    fn add_new(&self, offset: u64, mut bytes: &[u8]) {
        let mut digest = Digest::default();
        let mut parts = Vec::new();
        let mut place = offset;
        while !bytes.is_empty() {
            let within = (place % PAGE_BYTES as u64) as usize;
            let (piece, rest) = bytes.split_at(bytes.len().min(PAGE_BYTES - within));
            let page = place / PAGE_BYTES as u64;
            let sum = content::part(within, piece);
            if piece.len() == PAGE_BYTES {
                content::add_page(&mut digest, page, sum);
            } else {
                parts.push((page, sum, piece.len()));
            }
            place += piece.len() as u64;
            bytes = rest;
        }
        self.state().take(&digest, parts);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The ranges within `start..end` that are new, which then are not.
    fn claim(&mut self, start: u64, end: u64) -> Vec<(u64, u64)> {
        if self.is_lost {
            return Vec::new();
        }
        let before = self.ranges.range(..start).next_back().map(|(&from, &to)| (from, to));
        let (mut first, mut last, mut place) = (start, end, start);
        if let Some((from, to)) = before
            && to >= start
        {
            (first, place) = (from, to);
        }
        let mut new = Vec::new();
        let touched: Vec<(u64, u64)> =
            self.ranges.range(start..=end).map(|(&from, &to)| (from, to)).collect();
        for (from, to) in touched {
            if place < from {
                new.push((place, from));
            }
            place = place.max(to);
            self.ranges.remove(&from);
        }
        if place < end {
            new.push((place, end));
        }
        last = last.max(place);
        first = first.min(start);
        self.ranges.insert(first, last);
        self.bytes += new.iter().map(|(from, to)| to - from).sum::<u64>();
        if self.ranges.len() > RANGES_MAX {
            *self = Self { is_lost: true, ..Self::default() };
            return Vec::new();
        }
        new
    }

    fn take(&mut self, digest: &Digest, parts: Vec<(u64, u64, usize)>) {
        if self.is_lost {
            return;
        }
        self.digest.merge(digest);
        for (page, sum, size_bytes) in parts {
            let part = self.parts.entry(page).or_default();
            *part = (part.0.wrapping_add(sum), part.1 + size_bytes);
            if part.1 == PAGE_BYTES {
                content::add_page(&mut self.digest, page, part.0);
                self.parts.remove(&page);
            }
        }
    }

    fn digest(&self) -> Digest {
        let mut digest = self.digest;
        for (&page, &(sum, _)) in &self.parts {
            content::add_page(&mut digest, page, sum);
        }
        digest
    }
}

fn fingerprint(input: &Path, files: &HashMap<PathBuf, Arc<WatchedFile>>) -> InputFingerprint {
    let mut read = InputFingerprint { bytes: 0, files: 0, sum: None };
    let (mut sum, mut is_lost) = (Digest::default(), false);
    for (path, file) in files {
        let Ok(name) = path.strip_prefix(input) else { continue };
        let state = file.state();
        if state.bytes == 0 && !state.is_lost {
            continue; // Some readers open an empty file, some do not.
        }
        let mut record = Record::new(TAG);
        let name = name.as_os_str().as_encoded_bytes();
        record.push(name.len() as u64);
        record.push_bytes(name);
        record.push(state.bytes);
        record.push_bytes(state.digest().to_string().as_bytes());
        sum.add_record(&record);
        is_lost |= state.is_lost;
        read.bytes += state.bytes;
        read.files += 1;
    }
    read.sum = (!is_lost).then(|| sum.to_string());
    read
}

fn read_all(path: &Path, buffer: &mut [u8]) -> Result<()> {
    let failed = |cause| Error::system(OPERATION, "reading", path, &cause);
    let facts = storage::metadata(path).map_err(failed)?;
    if facts.is_folder {
        let mut inner = storage::list(path).map_err(failed)?;
        inner.retain(|path| storage::uri(path).is_none() || !is_hidden(path));
        // A link to nothing is no file of the input.
        inner.retain(|path| storage::metadata(path).is_ok());
        return inner.iter().try_for_each(|path| read_all(path, buffer));
    }
    if !facts.is_file {
        return Ok(()); // A pipe or a device among the files of a folder.
    }
    let file = Input::open(path).map_err(failed)?;
    let mut offset = 0;
    loop {
        let count = file.read_at(buffer, offset).map_err(failed)?;
        if count == 0 {
            return Ok(());
        }
        offset += count as u64;
    }
}

fn is_hidden(path: &Path) -> bool {
    let first = path.file_name().and_then(|name| name.as_encoded_bytes().first());
    matches!(first, Some(b'.' | b'_'))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn complete_fingerprint(path: &Path) -> InputFingerprint {
        let watch = ReadWatch::new(vec![path.to_owned()]);
        watch.complete().unwrap();
        watch.fingerprints().remove(0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn pieces_read_in_any_order_give_the_same_fingerprint(
            seed in any::<u64>(),
            size in 0usize..60_000,
            reads in proptest::collection::vec((0u64..60_000, 1usize..20_000), 0..40),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x");
            let byte = |place| cuesta_core::digest::mix(seed ^ place) as u8;
            let bytes: Vec<u8> = (0..size as u64).map(byte).collect();
            fs::write(&path, &bytes).unwrap();
            let watch = ReadWatch::new(vec![path.clone()]);
            std::thread::scope(|scope| {
                for some in reads.chunks(10) {
                    let file = Input::open(&path).unwrap();
                    scope.spawn(move || {
                        for &(offset, count) in some {
                            file.read_at(&mut vec![0; count], offset).unwrap();
                        }
                    });
                }
            });
            let model: std::collections::BTreeSet<u64> = reads
                .iter()
                .flat_map(|&(offset, count)| offset..offset + count as u64)
                .filter(|&place| place < size as u64)
                .collect();
            prop_assert_eq!(watch.fingerprints()[0].bytes, model.len() as u64);
            watch.complete().unwrap();
            prop_assert_eq!(watch.fingerprints().remove(0), complete_fingerprint(&path));
            prop_assert_eq!(complete_fingerprint(&path).bytes, size as u64);
            if size > 0 {
                let mut other = bytes;
                other[seed as usize % size] ^= 1;
                fs::write(&path, &other).unwrap();
                let before = watch.fingerprints().remove(0);
                prop_assert_ne!(complete_fingerprint(&path).sum, before.sum);
            }
        }
    }

    #[test]
    fn files_of_a_folder_differ_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("in");
        fs::create_dir(&place).unwrap();
        fs::write(place.join("a"), "one").unwrap();
        fs::write(place.join("b"), "two").unwrap();
        let before = complete_fingerprint(&place);
        assert_eq!((before.files, before.bytes), (2, 6));
        fs::write(place.join("a"), "two").unwrap();
        fs::write(place.join("b"), "one").unwrap();
        assert_ne!(complete_fingerprint(&place), before);
    }

    #[test]
    fn only_inputs_are_watched_and_only_while_the_watch_lives() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("x"), folder.path().join("x2"));
        fs::write(&path, "one").unwrap();
        fs::write(&other, "other").unwrap();
        let watch = ReadWatch::new(vec![path.clone()]);
        storage::read(&other).unwrap();
        assert_eq!(watch.fingerprints()[0].files, 0);
        storage::read(&path).unwrap();
        assert_eq!((watch.fingerprints()[0].files, watch.fingerprints()[0].bytes), (1, 3));
        drop(watch);
        assert!(of(&path).is_empty());
    }

    #[test]
    fn a_file_read_in_too_many_pieces_has_no_fingerprint() {
        let file = WatchedFile::default();
        for place in 0..=RANGES_MAX as u64 {
            file.add(2 * place, b"x");
        }
        assert!(file.state().is_lost);
        file.add(1, b"x");
        assert!(file.state().ranges.is_empty());
    }
}
