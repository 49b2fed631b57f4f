//! The files of one sharded Zarr array, written piece by piece and read piece by piece.
//!
//! A shard is the encoded inner chunks one after the other, then the index (offset and size of
//! each, little-endian u64, all ones for a chunk that is not there) and its CRC-32C. Writing
//! inner chunks as they come keeps memory small; a library would want the whole shard first.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};

use super::damaged;
use super::limits::INDEX_PAGE_BYTES;

const ENTRY_BYTES: usize = 16;
const CRC_BYTES: usize = 4;
const NOTHING: (u64, u64) = (u64::MAX, u64::MAX);

/// Where the shards of an array lie.
#[derive(Clone, Debug)]
pub struct ShardPath {
    /// Folder of the array.
    pub array: PathBuf,
    /// Dimensions of the array; all but the first are one shard long.
    pub dimensions: usize,
    /// Inner chunks of a shard.
    pub chunks: u64,
}

impl ShardPath {
    fn of(&self, shard: u64) -> PathBuf {
        let mut path = self.array.join("c");
        path.push(shard.to_string());
        (1..self.dimensions).for_each(|_| path.push("0"));
        path
    }
}

/// Writes the inner chunks of an array in ascending order.
pub struct ShardWriter {
    place: ShardPath,
    open: Option<OpenShard>,
}

struct OpenShard {
    shard: u64,
    file: File,
    path: PathBuf,
    size_bytes: u64,
    index: Vec<(u64, u64)>,
}

/// Files that are complete but perhaps not on the disk yet.
pub type Closed = Vec<(PathBuf, File)>;

impl ShardWriter {
    /// A writer of an array that has no chunk yet.
    pub fn new(place: ShardPath) -> Self {
        Self { place, open: None }
    }

    /// Writes inner chunks from number `first` on: `bytes` is cut by `sizes`. Shards that became
    /// complete are added to `closed`. The chunks must lie in one shard.
    ///
    /// # Errors
    /// `System`.
    pub fn append(
        &mut self,
        first: u64,
        sizes: &[usize],
        bytes: &[u8],
        closed: &mut Closed,
    ) -> Result<()> {
        let shard = first / self.place.chunks;
        if self.open.as_ref().is_some_and(|open| open.shard != shard) {
            self.close(closed)?;
        }
        let open = match self.open.take() {
            Some(open) => open,
            None => self.start(shard)?,
        };
        let open = self.open.insert(open);
        open.file
            .write_all(bytes)
            .map_err(|cause| Error::system("output.pairs", "writing", &open.path, &cause))?;
        let start = (first % self.place.chunks) as usize;
        for (entry, &size) in open.index[start..start + sizes.len()].iter_mut().zip(sizes) {
            *entry = (open.size_bytes, size as u64);
            open.size_bytes += size as u64;
        }
        Ok(())
    }

    /// Completes the shard that is open, if one is.
    ///
    /// # Errors
    /// `System`.
    pub fn close(&mut self, closed: &mut Closed) -> Result<()> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let mut index = Vec::with_capacity(open.index.len() * ENTRY_BYTES + CRC_BYTES);
        for (offset, size) in &open.index {
            index.extend_from_slice(&offset.to_le_bytes());
            index.extend_from_slice(&size.to_le_bytes());
        }
        index.extend_from_slice(&crc32c::crc32c(&index).to_le_bytes());
        open.file
            .write_all(&index)
            .map_err(|cause| Error::system("output.pairs", "writing", &open.path, &cause))?;
        closed.push((open.path, open.file));
        Ok(())
    }

    fn start(&self, shard: u64) -> Result<OpenShard> {
        let path = self.place.of(shard);
        let folder = path.parent().unwrap_or(&self.place.array);
        fs::create_dir_all(folder)
            .map_err(|cause| Error::system("output.pairs", "creating", folder, &cause))?;
        let file = File::create_new(&path)
            .map_err(|cause| Error::system("output.pairs", "creating", &path, &cause))?;
        let index = vec![NOTHING; self.place.chunks as usize];
        Ok(OpenShard { shard, file, path, size_bytes: 0, index })
    }
}

/// One open shard with its index; reading another shard replaces it.
#[derive(Default)]
pub struct ShardReader {
    open: Option<ReadShard>,
}

struct ReadShard {
    shard: u64,
    path: PathBuf,
    file: File,
    /// Bytes in front of the index.
    data_bytes: u64,
    /// Bytes of the index.
    index_bytes: usize,
    /// The part of the index that is in memory, and where it begins.
    page: Vec<u8>,
    page_at: usize,
}

impl ShardReader {
    /// Replaces `out` by the encoded inner chunk `chunk` of the array.
    ///
    /// # Errors
    /// `Input` when the shard or the chunk is missing or damaged; `System`.
    pub fn read(&mut self, place: &ShardPath, chunk: u64, out: &mut Vec<u8>) -> Result<()> {
        let shard = chunk / place.chunks;
        let open = match self.open.take() {
            Some(open) if open.shard == shard => open,
            _ => ReadShard::open(place, shard)?,
        };
        let open = self.open.insert(open);
        let (offset, size) = open.entry((chunk % place.chunks) as usize)?;
        let inside = offset.checked_add(size).is_some_and(|end| end <= open.data_bytes);
        if !inside {
            return Err(damaged(&open.path, "a chunk is missing from it"));
        }
        out.resize(size as usize, 0);
        read_exactly(&open.file, &open.path, out, offset)
    }

    /// The file that is open, for messages.
    pub fn path(&self) -> &Path {
        self.open.as_ref().map_or(Path::new("?"), |open| &open.path)
    }
}

impl ReadShard {
    fn open(place: &ShardPath, shard: u64) -> Result<Self> {
        let path = place.of(shard);
        let file = File::open(&path).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => damaged(&path, "it is missing"),
            _ => Error::system("input.pairs", "opening", &path, &cause),
        })?;
        let size_bytes = file
            .metadata()
            .map_err(|cause| Error::system("input.pairs", "reading", &path, &cause))?
            .len();
        let index_bytes = place.chunks as usize * ENTRY_BYTES;
        let Some(data_bytes) = size_bytes.checked_sub((index_bytes + CRC_BYTES) as u64) else {
            return Err(damaged(&path, "it is cut short"));
        };
        let mut open =
            Self { shard, path, file, data_bytes, index_bytes, page: Vec::new(), page_at: 0 };
        if index_bytes <= INDEX_PAGE_BYTES {
            open.read_whole_index()?;
        }
        Ok(open)
    }

    /// Reads a small index with its checksum. Large ones are read by pages: a page that is wrong
    /// leads to a chunk whose own checksum is wrong.
    fn read_whole_index(&mut self) -> Result<()> {
        self.page.resize(self.index_bytes + CRC_BYTES, 0);
        read_exactly(&self.file, &self.path, &mut self.page, self.data_bytes)?;
        let crc = self.page.split_off(self.index_bytes);
        if crc32c::crc32c(&self.page).to_le_bytes() != crc[..] {
            return Err(damaged(&self.path, "its index has a wrong checksum"));
        }
        Ok(())
    }

    /// Offset and size of an inner chunk.
    fn entry(&mut self, chunk: usize) -> Result<(u64, u64)> {
        let at = chunk * ENTRY_BYTES;
        if at < self.page_at || at >= self.page_at + self.page.len() {
            self.page_at = at / INDEX_PAGE_BYTES * INDEX_PAGE_BYTES;
            self.page.resize(INDEX_PAGE_BYTES.min(self.index_bytes - self.page_at), 0);
            let place = self.data_bytes + self.page_at as u64;
            read_exactly(&self.file, &self.path, &mut self.page, place)?;
        }
        let at = at - self.page_at;
        Ok((word_at(&self.page, at), word_at(&self.page, at + 8)))
    }
}

fn read_exactly(file: &File, path: &Path, out: &mut [u8], offset: u64) -> Result<()> {
    file.read_exact_at(out, offset).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::UnexpectedEof => damaged(path, "it is cut short"),
        _ => Error::system("input.pairs", "reading", path, &cause),
    })
}

fn word_at(bytes: &[u8], place: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[place..place + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_come_back_and_those_never_written_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let place = ShardPath { array: folder.path().join("a"), dimensions: 3, chunks: 4 };
        let mut writer = ShardWriter::new(place.clone());
        let mut closed = Vec::new();
        writer.append(1, &[2, 0], b"hi", &mut closed).unwrap();
        writer.append(9, &[5], b"world", &mut closed).unwrap();
        assert_eq!(closed.len(), 1);
        writer.close(&mut closed).unwrap();
        assert!(folder.path().join("a/c/2/0/0").is_file());
        let mut reader = ShardReader::default();
        let mut out = Vec::new();
        for (chunk, expected) in [(1, &b"hi"[..]), (9, b"world"), (2, b"")] {
            reader.read(&place, chunk, &mut out).unwrap();
            assert_eq!(out, expected);
        }
        for chunk in [0, 3, 4, 8] {
            let error = reader.read(&place, chunk, &mut out).unwrap_err();
            assert!(error.message.contains("missing"), "{}", error.message);
        }
    }

    #[test]
    fn a_large_index_is_read_by_pages() {
        let folder = tempfile::tempdir().unwrap();
        let place = ShardPath { array: folder.path().to_owned(), dimensions: 1, chunks: 1000 };
        let mut writer = ShardWriter::new(place.clone());
        let bytes: Vec<u8> = (0..1000u32).map(|i| i as u8).collect();
        writer.append(0, &[1; 1000], &bytes, &mut Vec::new()).unwrap();
        writer.close(&mut Vec::new()).unwrap();
        let (mut reader, mut out) = (ShardReader::default(), Vec::new());
        for chunk in (0..1000).chain([0, 999, 255, 256, 257, 3]) {
            reader.read(&place, chunk, &mut out).unwrap();
            assert_eq!(out, [chunk as u8]);
        }
    }

    #[test]
    fn a_cut_or_changed_shard_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let place = ShardPath { array: folder.path().to_owned(), dimensions: 1, chunks: 2 };
        let mut writer = ShardWriter::new(place.clone());
        let mut closed = Vec::new();
        writer.append(0, &[3], b"abc", &mut closed).unwrap();
        writer.close(&mut closed).unwrap();
        let path = folder.path().join("c/0");
        let whole = fs::read(&path).unwrap();
        let mut changed = whole.clone();
        changed[5] ^= 1;
        for bytes in [&whole[..whole.len() - 1], &whole[..10], &changed] {
            fs::write(&path, bytes).unwrap();
            let mut out = Vec::new();
            let error = ShardReader::default().read(&place, 0, &mut out).unwrap_err();
            assert!(error.message.contains("load the text again"), "{}", error.message);
        }
    }
}
