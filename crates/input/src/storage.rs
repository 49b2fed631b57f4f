//! Files of inputs, wherever they are: on this machine, in the store of this machine
//! (`cuesta:///file`), or at another URI such as `hdfs://host/file`, which a [`Storage`] reads that
//! was installed for the process.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cuesta_store::client::{self, BlockBytes, Client, StoredFile};

use crate::watch::{self, WatchedFile};

mod entries;

/// Bytes of a URI that are read at once.
const BLOCK_BYTES: u64 = 4 << 20;

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMetadata {
    /// Bytes of a file.
    pub size_bytes: u64,
    /// Whether it is a file, and no device or pipe.
    pub is_file: bool,
    /// Whether it is a folder.
    pub is_folder: bool,
}

/// Reads URIs.
pub trait Storage: Send + Sync {
    /// What is at a URI.
    ///
    /// # Errors
    /// `NotFound`, and whatever keeps it from answering.
    fn metadata(&self, uri: &str) -> io::Result<FileMetadata>;

    /// What is directly in a folder, as URIs.
    ///
    /// # Errors
    /// As for [`Storage::metadata`].
    fn list(&self, uri: &str) -> io::Result<Vec<String>>;

    /// Bytes of a file from `offset` on, all of them.
    ///
    /// # Errors
    /// As for [`Storage::metadata`].
    fn read(&self, uri: &str, offset: u64, into: &mut [u8]) -> io::Result<()>;
}

static INSTALLED: OnceLock<Box<dyn Storage>> = OnceLock::new();

/// Has URIs read by `storage` from now on; the first one that is installed stays.
pub fn install(storage: Box<dyn Storage>) {
    let _ = INSTALLED.set(storage);
}

fn installed() -> io::Result<&'static dyn Storage> {
    let none = || io::Error::new(ErrorKind::Unsupported, "nothing here reads URIs");
    INSTALLED.get().map(|storage| &**storage).ok_or_else(none)
}

/// The URI that a path is, if it is one.
pub fn uri(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| text.contains("://"))
}

/// Whether a URI is a path in the store of this machine.
fn is_stored(uri: &str) -> bool {
    uri.starts_with("cuesta://")
}

/// What is at a path or URI.
///
/// # Errors
/// `NotConnected` for a file of the store where none runs; those of the system or of the storage.
pub fn metadata(path: &Path) -> io::Result<FileMetadata> {
    if let Some(uri) = uri(path) {
        if !is_stored(uri) {
            return installed()?.metadata(uri);
        }
        let found = Client::shared()?.facts(&client::path_of(uri)?)?;
        let (size_bytes, is_folder) = (found.size_bytes, found.is_folder);
        return Ok(FileMetadata { size_bytes, is_file: !is_folder, is_folder });
    }
    let found = fs::metadata(path)?;
    Ok(FileMetadata {
        size_bytes: found.len(),
        is_file: found.is_file(),
        is_folder: found.is_dir(),
    })
}

/// Entries of a folder, by name: files and folders, no pipes, sockets and devices, and no
/// links back to a folder on the way.
///
/// # Errors
/// `NotFound` for a link to nothing; as for [`metadata`].
pub fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = match uri(folder) {
        Some(uri) if is_stored(uri) => {
            let path = client::path_of(uri)?;
            let names = Client::shared()?.list(&path)?;
            let base = path.to_string();
            names
                .iter()
                .map(|name| format!("{}/{name}", base.trim_end_matches('/')).into())
                .collect()
        }
        Some(uri) => installed()?.list(uri)?.into_iter().map(PathBuf::from).collect(),
        None => entries::list(folder)?,
    };
    found.sort();
    Ok(found)
}

/// A file of an input, to be read anywhere or from its start.
#[derive(Debug)]
pub struct Input {
    source: Source,
    /// The place that is read next.
    place: u64,
    /// Watches of inputs that the file is of.
    watched: Vec<Arc<WatchedFile>>,
}

#[derive(Debug)]
enum Source {
    /// One of this machine.
    Local(File),
    /// One of the store: what is in memory is mapped.
    Stored(StoredFile),
    /// One at another URI.
    Remote(RemoteFile),
}

impl Input {
    /// Opens a file.
    ///
    /// # Errors
    /// As for [`metadata`].
    pub fn open(path: &Path) -> io::Result<Self> {
        let source = match uri(path) {
            None => Source::Local(File::open(path)?),
            Some(uri) if is_stored(uri) => {
                Source::Stored(Client::shared()?.open(&client::path_of(uri)?)?)
            }
            Some(uri) => Source::Remote(RemoteFile {
                uri: uri.to_owned(),
                size_bytes: installed()?.metadata(uri)?.size_bytes,
                block: Mutex::new((0, Vec::new())),
            }),
        };
        Ok(Self { source, place: 0, watched: watch::of(path) })
    }

    /// A file that is open, and is no input that could be watched.
    pub fn local(file: File) -> Self {
        Self { source: Source::Local(file), place: 0, watched: Vec::new() }
    }

    /// The file, where it is one of this machine.
    pub fn as_local(&self) -> Option<&File> {
        match &self.source {
            Source::Local(file) => Some(file),
            Source::Stored(_) | Source::Remote(_) => None,
        }
    }

    /// Its size.
    ///
    /// # Errors
    /// Those of the system.
    pub fn size_bytes(&self) -> io::Result<u64> {
        match &self.source {
            Source::Local(file) => Ok(file.metadata()?.len()),
            Source::Stored(file) => Ok(file.size_bytes()),
            Source::Remote(remote) => Ok(remote.size_bytes),
        }
    }

    /// Reads some bytes from `offset` on; none at the end.
    ///
    /// # Errors
    /// Those of the system or of the storage.
    pub fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = self.source.read_at(into, offset)?;
        self.pass_on(offset, &into[..count]);
        Ok(count)
    }

    /// Some bytes from `offset` on as they lie in memory, without a copy; `None` where only
    /// [`read_at`](Self::read_at) has them.
    ///
    /// # Errors
    /// Those of the system.
    pub fn mapped(&self, offset: u64) -> io::Result<Option<BlockBytes>> {
        let Source::Stored(file) = &self.source else { return Ok(None) };
        let bytes = file.bytes_from(offset)?;
        if let Some(bytes) = &bytes {
            self.pass_on(offset, bytes);
        }
        Ok(bytes)
    }

    /// Fills `into` with the bytes from `offset` on.
    ///
    /// # Errors
    /// `UnexpectedEof` where there are fewer; those of the system or of the storage.
    pub fn read_exact_at(&self, mut into: &mut [u8], mut offset: u64) -> io::Result<()> {
        if let Source::Local(file) = &self.source {
            file.read_exact_at(into, offset)?;
            self.pass_on(offset, into);
            return Ok(());
        }
        while !into.is_empty() {
            let count = self.read_at(into, offset)?;
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            into = &mut into[count..];
            offset += count as u64;
        }
        Ok(())
    }

    fn pass_on(&self, offset: u64, bytes: &[u8]) {
        for file in &self.watched {
            file.add(offset, bytes);
        }
    }
}

impl Source {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::Local(file) => file.read_at(into, offset),
            Self::Stored(file) => file.read_at(into, offset),
            Self::Remote(remote) => remote.read_at(into, offset),
        }
    }
}

/// All bytes of a file of an input.
///
/// # Errors
/// As for [`Input::open`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    Input::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = match &mut self.source {
            // A device or a pipe can be read where it stands alone.
            Source::Local(file) => file.read(into)?,
            source => source.read_at(into, self.place)?,
        };
        self.pass_on(self.place, &into[..count]);
        self.place += count as u64;
        Ok(count)
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let size_bytes = match &mut self.source {
            Source::Local(file) => {
                self.place = file.seek(to)?;
                return Ok(self.place);
            }
            Source::Stored(file) => file.size_bytes(),
            Source::Remote(remote) => remote.size_bytes,
        };
        let next = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(by) => size_bytes.checked_add_signed(by),
            SeekFrom::Current(by) => self.place.checked_add_signed(by),
        };
        self.place = next.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.place)
    }
}

/// A file at a URI, of which one block is kept.
#[derive(Debug)]
struct RemoteFile {
    uri: String,
    size_bytes: u64,
    /// Where the block begins, and its bytes.
    block: Mutex<(u64, Vec<u8>)>,
}

impl RemoteFile {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = self.size_bytes.saturating_sub(offset);
        let wanted = left.min(into.len() as u64) as usize;
        if wanted as u64 >= BLOCK_BYTES {
            // More at once is slower: its memory would be new each time.
            let target = &mut into[..BLOCK_BYTES as usize];
            installed()?.read(&self.uri, offset, target)?;
            return Ok(target.len());
        }
        if wanted == 0 {
            return Ok(0);
        }
        let mut block = self.block.lock().unwrap_or_else(PoisonError::into_inner);
        let start = offset / BLOCK_BYTES * BLOCK_BYTES;
        if block.0 != start || block.1.is_empty() {
            block.1.clear();
            let size_bytes = BLOCK_BYTES.min(self.size_bytes - start) as usize;
            let mut bytes = std::mem::take(&mut block.1);
            bytes.resize(size_bytes, 0);
            installed()?.read(&self.uri, start, &mut bytes)?;
            *block = (start, bytes);
        }
        let held = &block.1[(offset - start) as usize..];
        let count = wanted.min(held.len());
        into[..count].copy_from_slice(&held[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files whose byte at place i is i modulo 251.
    struct Made;

    impl Storage for Made {
        fn metadata(&self, uri: &str) -> io::Result<FileMetadata> {
            let (_, size) = uri.rsplit_once('/').unwrap();
            let size_bytes = size.parse().map_err(|_| io::Error::from(ErrorKind::NotFound))?;
            Ok(FileMetadata { size_bytes, is_file: true, is_folder: false })
        }

        fn list(&self, uri: &str) -> io::Result<Vec<String>> {
            Ok([10, 2].map(|size| format!("{uri}/{size}")).to_vec())
        }

        fn read(&self, _: &str, offset: u64, into: &mut [u8]) -> io::Result<()> {
            into.iter_mut().zip(offset..).for_each(|(byte, place)| *byte = (place % 251) as u8);
            Ok(())
        }
    }

    #[test]
    fn a_uri_is_read_as_a_file_is() {
        install(Box::new(Made));
        let size = 2 * BLOCK_BYTES + 77;
        let mut input = Input::open(Path::new(&format!("made://x/{size}"))).unwrap();
        let expected = |place: u64| (place % 251) as u8;
        for (place, count) in [(0, 5), (BLOCK_BYTES - 2, 4), (size - 3, 3), (1, 5 << 20)] {
            let mut bytes = vec![0; count];
            input.read_exact_at(&mut bytes, place).unwrap();
            assert!(bytes.iter().zip(place..).all(|(&byte, place)| byte == expected(place)));
        }
        let mut over = [0; 4];
        let error = input.read_exact_at(&mut over, size - 3).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        input.seek(SeekFrom::End(-9)).unwrap();
        let mut rest = Vec::new();
        assert_eq!(input.read_to_end(&mut rest).unwrap(), 9);
        assert_eq!(rest[8], expected(size - 1));
        let listed = list(Path::new("made://x")).unwrap();
        assert_eq!(listed, [Path::new("made://x/10"), Path::new("made://x/2")]);
        let error = Input::open(Path::new("made://x/none")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
