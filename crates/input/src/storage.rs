//! Access to input files: on this machine, in the store of this machine (`cuesta:///file`), or at
//! another URI such as `hdfs://host/file`, which the [`Storage`] that is installed for the process
//! reads.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cuesta_store::client::limits::Patience;
use cuesta_store::client::{self, BlockBytes, Client, StoredFile};

use crate::watch::{self, WatchedFile};

mod entries;

/// Bytes of a URI that are read at once.
const BLOCK_BYTES: u64 = 4 << 20;

/// Size and type of the file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMetadata {
    /// Size of a file in bytes.
    pub size_bytes: u64,
    /// Whether it is a regular file.
    pub is_file: bool,
    /// Whether it is a folder.
    pub is_folder: bool,
}

/// Backend that reads URIs.
pub trait Storage: Send + Sync {
    /// Size and type of the file at a URI.
    ///
    /// # Errors
    /// `NotFound`, and any failure of the backend.
    fn metadata(&self, uri: &str) -> io::Result<FileMetadata>;

    /// Entries of a folder, as URIs.
    ///
    /// # Errors
    /// As for [`Storage::metadata`].
    fn list(&self, uri: &str) -> io::Result<Vec<String>>;

    /// Fills `into` with the bytes of a file from `offset` on.
    ///
    /// # Errors
    /// As for [`Storage::metadata`].
    fn read(&self, uri: &str, offset: u64, into: &mut [u8]) -> io::Result<()>;
}

static INSTALLED: OnceLock<Box<dyn Storage>> = OnceLock::new();

/// Installs `storage` as the reader of URIs; only the first call has an effect.
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

/// Size and type of the file at a path or URI.
///
/// # Errors
/// `NotConnected` for a file of the store if none runs; errors of the system or of the storage.
pub fn metadata(path: &Path) -> io::Result<FileMetadata> {
    if let Some(uri) = uri(path) {
        if !is_stored(uri) {
            return installed()?.metadata(uri);
        }
        let stored = Client::shared()?.facts(&client::path_of(uri)?)?;
        let (size_bytes, is_folder) = (stored.size_bytes, stored.is_folder);
        return Ok(FileMetadata { size_bytes, is_file: !is_folder, is_folder });
    }
    let metadata = fs::metadata(path)?;
    Ok(FileMetadata {
        size_bytes: metadata.len(),
        is_file: metadata.is_file(),
        is_folder: metadata.is_dir(),
    })
}

/// Entries of a folder, sorted by name: files and folders, but no pipes, sockets and devices, and
/// no links to a parent folder.
///
/// # Errors
/// `NotFound` for a link to nothing; as for [`metadata`].
pub fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = match uri(folder) {
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
    paths.sort();
    Ok(paths)
}

/// Returns the folder that the store of this account is over; `None` where none answers.
pub fn store_under() -> Option<PathBuf> {
    let client = Client::connect(&client::default_folder(), Patience::default()).ok()?;
    Some(client.under())
}

/// An open input file, for random or sequential reads.
#[derive(Debug)]
pub struct Input {
    source: Source,
    /// Offset of the next sequential read.
    place: u64,
    /// Watches of the inputs that the file belongs to.
    watched: Vec<Arc<WatchedFile>>,
}

#[derive(Debug)]
enum Source {
    /// A file of this machine.
    Local(File),
    /// A file of the store: blocks in memory are mapped.
    Stored(StoredFile),
    /// A file at another URI.
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

    /// Wraps an open file that is not watched as an input.
    pub fn local(file: File) -> Self {
        Self { source: Source::Local(file), place: 0, watched: Vec::new() }
    }

    /// The file, if it is on this machine.
    pub fn as_local(&self) -> Option<&File> {
        match &self.source {
            Source::Local(file) => Some(file),
            Source::Stored(_) | Source::Remote(_) => None,
        }
    }

    /// Its size in bytes.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn size_bytes(&self) -> io::Result<u64> {
        match &self.source {
            Source::Local(file) => Ok(file.metadata()?.len()),
            Source::Stored(file) => Ok(file.size_bytes()),
            Source::Remote(remote) => Ok(remote.size_bytes),
        }
    }

    /// Reads bytes from `offset` on, perhaps fewer than requested; none at the end.
    ///
    /// # Errors
    /// Errors of the system or of the storage.
    pub fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = self.source.read_at(into, offset)?;
        self.pass_on(offset, &into[..count]);
        Ok(count)
    }

    /// Bytes from `offset` on, mapped without a copy; `None` if only [`read_at`](Self::read_at)
    /// can read them.
    ///
    /// # Errors
    /// Errors of the system.
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
    /// `UnexpectedEof` if there are fewer; errors of the system or of the storage.
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
            // A device or a pipe can only be read at its current position.
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
                self.place = file.seek(to).map_err(beyond_any_file)?;
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

/// `UnexpectedEof` instead of the error of an offset that no file can have: damaged headers hold
/// such offsets.
fn beyond_any_file(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::InvalidInput => ErrorKind::UnexpectedEof.into(),
        _ => error,
    }
}

/// A file at a URI, of which a block is cached.
#[derive(Debug)]
struct RemoteFile {
    uri: String,
    size_bytes: u64,
    /// Offset of the cached block, and its bytes.
    block: Mutex<(u64, Vec<u8>)>,
}

impl RemoteFile {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = self.size_bytes.saturating_sub(offset);
        let wanted = left.min(into.len() as u64) as usize;
        if wanted as u64 >= BLOCK_BYTES {
            // More at once is slower: it would need new memory each time.
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
