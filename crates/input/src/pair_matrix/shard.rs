//! The files of a sharded Zarr array, written and read chunk by chunk.
//!
//! A shard consists of the encoded inner chunks, then the index (offset and size of each,
//! little-endian u64, all ones for a missing chunk) and its CRC-32C. Writing inner chunks as they
//! arrive needs little memory; a library would need the complete shard first.

use std::fs::{self, File};
use std::io::Write;

use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};

use super::damaged;
use crate::storage::Input;

const ENTRY_BYTES: usize = 16;
const CRC_BYTES: usize = 4;
/// The index entry of a missing chunk.
pub const NOTHING: (u64, u64) = (u64::MAX, u64::MAX);

/// Paths of the shards of an array.
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
    /// The file of a shard.
    pub fn of(&self, shard: u64) -> PathBuf {
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

impl ShardWriter {
    /// A writer of an array that has no chunk yet.
    pub fn new(place: ShardPath) -> Self {
        Self { place, open: None }
    }

    /// Writes inner chunks from number `first` on: `bytes` is cut by `sizes`. The chunks must lie
    /// in one shard.
    ///
    /// # Errors
    /// `System`.
    pub fn append(&mut self, first: u64, sizes: &[usize], bytes: &[u8]) -> Result<()> {
        let shard = first / self.place.chunks;
        if self.open.as_ref().is_some_and(|open| open.shard != shard) {
            self.close()?;
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
    pub fn close(&mut self) -> Result<()> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let mut index = Vec::with_capacity(open.index.len() * ENTRY_BYTES + CRC_BYTES);
        for (offset, size) in &open.index {
            index.extend_from_slice(&offset.to_le_bytes());
            index.extend_from_slice(&size.to_le_bytes());
        }
        index.extend_from_slice(&crc32c::crc32c(&index).to_le_bytes());
        open.file
            .write_all(&index)
            .map_err(|cause| Error::system("output.pairs", "writing", &open.path, &cause))
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

/// Reader of a shard at a time; reading another shard replaces the open one.
#[derive(Default)]
pub struct ShardReader {
    open: Option<ReadShard>,
}

struct ReadShard {
    shard: u64,
    path: PathBuf,
    file: Input,
    /// Bytes in front of the index.
    data_bytes: u64,
    /// Bytes of the index.
    index_bytes: usize,
    /// The index, once it was read.
    index: Vec<u8>,
}

impl ShardReader {
    /// Replaces `out` by the encoded inner chunk `chunk` of the array.
    ///
    /// # Errors
    /// `Input` when the shard or the chunk is missing or damaged; `System`.
    pub fn read(&mut self, place: &ShardPath, chunk: u64, out: &mut Vec<u8>) -> Result<()> {
        let open = self.open(place, chunk / place.chunks)?;
        let (offset, size) = open.entry((chunk % place.chunks) as usize)?;
        let inside = offset.checked_add(size).is_some_and(|end| end <= open.data_bytes);
        if !inside {
            return Err(damaged(&open.path, "a chunk is missing from it"));
        }
        out.resize(size as usize, 0);
        read_exactly(&open.file, &open.path, out, offset)
    }

    /// Like [`ShardReader::read`] for arrays whose chunks all exist and have `size` bytes: does not
    /// read the index.
    ///
    /// # Errors
    /// `Input` when the shard or the chunk is missing; `System`.
    pub fn read_fixed(
        &mut self,
        place: &ShardPath,
        chunk: u64,
        size: usize,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let open = self.open(place, chunk / place.chunks)?;
        out.resize(size, 0);
        let offset = chunk % place.chunks * size as u64;
        if offset + size as u64 > open.data_bytes {
            return Err(damaged(&open.path, "a chunk is missing from it"));
        }
        read_exactly(&open.file, &open.path, out, offset)
    }

    /// The shard, opened if it is not open.
    fn open(&mut self, place: &ShardPath, shard: u64) -> Result<&mut ReadShard> {
        let open = match self.open.take() {
            Some(open) if open.shard == shard => open,
            _ => ReadShard::open(place, shard)?,
        };
        Ok(self.open.insert(open))
    }

    /// The file that is open, for messages.
    pub fn path(&self) -> &Path {
        self.open.as_ref().map_or(Path::new("?"), |open| &open.path)
    }
}

impl ReadShard {
    fn open(place: &ShardPath, shard: u64) -> Result<Self> {
        let path = place.of(shard);
        let file = Input::open(&path).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => damaged(&path, "it is missing"),
            _ => Error::system("input.pairs", "opening", &path, &cause),
        })?;
        let size_bytes = file
            .size_bytes()
            .map_err(|cause| Error::system("input.pairs", "reading", &path, &cause))?;
        let index_bytes = place.chunks as usize * ENTRY_BYTES;
        let Some(data_bytes) = size_bytes.checked_sub((index_bytes + CRC_BYTES) as u64) else {
            return Err(damaged(&path, "it is cut short"));
        };
        Ok(Self { shard, path, file, data_bytes, index_bytes, index: Vec::new() })
    }

    /// Offset and size of an inner chunk.
    fn entry(&mut self, chunk: usize) -> Result<(u64, u64)> {
        if self.index.is_empty() {
            self.read_index()?;
        }
        let at = chunk * ENTRY_BYTES;
        Ok((word_at(&self.index, at), word_at(&self.index, at + 8)))
    }

    fn read_index(&mut self) -> Result<()> {
        let mut index = vec![0; self.index_bytes + CRC_BYTES];
        read_exactly(&self.file, &self.path, &mut index, self.data_bytes)?;
        let crc = index.split_off(self.index_bytes);
        if crc32c::crc32c(&index).to_le_bytes() != crc[..] {
            return Err(damaged(&self.path, "its index has a wrong checksum"));
        }
        self.index = index;
        Ok(())
    }
}

/// The file of a shard, its index (offset and bytes of each chunk), and the bytes in front of it.
pub type ShardIndex = (PathBuf, Vec<(u64, u64)>, u64);

/// Reads the index of a shard.
///
/// # Errors
/// `Input` when the shard is missing or damaged; `System`.
pub fn read_index(place: &ShardPath, shard: u64) -> Result<ShardIndex> {
    let mut open = ReadShard::open(place, shard)?;
    let entries = (0..place.chunks as usize).map(|chunk| open.entry(chunk));
    let index = entries.collect::<Result<_>>()?;
    Ok((open.path, index, open.data_bytes))
}

fn read_exactly(file: &Input, path: &Path, out: &mut [u8], offset: u64) -> Result<()> {
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
    fn chunks_are_read_back_and_missing_chunks_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let place = ShardPath { array: folder.path().join("a"), dimensions: 3, chunks: 4 };
        let mut writer = ShardWriter::new(place.clone());
        writer.append(1, &[2, 0], b"hi").unwrap();
        writer.append(9, &[5], b"world").unwrap();
        writer.close().unwrap();
        assert!(folder.path().join("a/c/2/0/0").is_file());
        let mut reader = ShardReader::default();
        let mut out = Vec::new();
        for (chunk, expected) in [(1, &b"hi"[..]), (9, b"world"), (2, b"")] {
            reader.read(&place, chunk, &mut out).unwrap();
            assert_eq!(out, expected);
        }
        for chunk in [0, 3, 4, 8] {
            let error = reader.read(&place, chunk, &mut out).unwrap_err();
            assert!(error.message().contains("missing"), "{}", error.message());
        }
    }

    #[test]
    fn chunks_of_equal_size_are_read_without_the_index() {
        let folder = tempfile::tempdir().unwrap();
        let place = ShardPath { array: folder.path().to_owned(), dimensions: 1, chunks: 4 };
        let mut writer = ShardWriter::new(place.clone());
        writer.append(0, &[2; 4], b"aabbccdd").unwrap();
        writer.append(4, &[2; 1], b"ee").unwrap();
        writer.close().unwrap();
        let (mut reader, mut out) = (ShardReader::default(), Vec::new());
        for (chunk, expected) in [(1, b"bb"), (3, b"dd"), (4, b"ee"), (0, b"aa")] {
            reader.read_fixed(&place, chunk, 2, &mut out).unwrap();
            assert_eq!(out, expected);
        }
        let error = reader.read_fixed(&place, 5, 2, &mut out).unwrap_err();
        assert!(error.message().contains("missing"), "{}", error.message());
    }

    #[test]
    fn a_cut_or_changed_shard_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let place = ShardPath { array: folder.path().to_owned(), dimensions: 1, chunks: 2 };
        let mut writer = ShardWriter::new(place.clone());
        writer.append(0, &[3], b"abc").unwrap();
        writer.close().unwrap();
        let path = folder.path().join("c/0");
        let complete = fs::read(&path).unwrap();
        let mut changed = complete.clone();
        changed[5] ^= 1;
        for bytes in [&complete[..complete.len() - 1], &complete[..10], &changed] {
            fs::write(&path, bytes).unwrap();
            let mut out = Vec::new();
            let error = ShardReader::default().read(&place, 0, &mut out).unwrap_err();
            assert!(error.message().contains("load the text again"), "{}", error.message());
        }
    }
}
