//! A file system in memory that loses data at a crash that was not synced; for tests.

mod disk;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use cuesta_runtime::parallel::lock;

use super::{Facts, Under, UnderFile, UnderVersion, UnderWriter};
use crate::path::StorePath;
use disk::{ModelDisk, folder_of, parents};

/// Kind of a crash, by the unsynced data that it loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// Loses nothing: the process was killed, and the system continues.
    Nothing,
    /// Loses the bytes of files, but not their names.
    Bytes,
    /// Loses bytes and names.
    Everything,
    /// Loses some of both, by the seed. In a file that was not synced, each sector may be new, old
    /// or zero; each change of a name that was not synced may be on the disk or not, in any order,
    /// except that changes of the same name are in order.
    Power(u64),
}

impl Crash {
    /// All crashes without a seed.
    pub const ALL: [Self; 3] = [Self::Nothing, Self::Bytes, Self::Everything];
}

/// The file system; clones share its state.
#[derive(Clone, Debug, Default)]
pub struct ModelUnder(Arc<Mutex<ModelDisk>>);

impl ModelUnder {
    /// Returns the file system after a crash.
    pub fn after(&self, crash: Crash) -> Self {
        let mut disk = self.disk().clone();
        if let Crash::Power(seed) = crash {
            disk.lose_power(seed);
        } else if crash != Crash::Nothing {
            for node in disk.nodes.values_mut() {
                node.bytes.clone_from(&node.durable_bytes);
            }
        }
        if crash == Crash::Everything {
            let durable = disk.durable_names.clone();
            // A path in a missing folder is missing too.
            disk.names = durable.clone();
            disk.names.retain(|path, _| parents(path).all(|folder| durable.contains_key(folder)));
        }
        disk.durable_names.clone_from(&disk.names);
        disk.pending.clear();
        for node in disk.nodes.values_mut() {
            node.durable_bytes.clone_from(&node.bytes);
        }
        Self(Arc::new(Mutex::new(disk)))
    }

    /// Returns this file system, without support for exchanges and links of names.
    pub fn without_exchange(self) -> Self {
        self.disk().lacks_exchange = true;
        self
    }

    /// Writes a file without the store, as another program does: under another name, then renamed.
    pub fn write_past(&self, path: &str, bytes: &[u8]) {
        let mut disk = self.disk();
        if let Ok(number) = disk.make(path, false)
            && let Some(node) = disk.nodes.get_mut(&number)
        {
            (node.bytes, node.durable_bytes) = (bytes.to_vec(), bytes.to_vec());
        }
        disk.sync_folder(folder_of(path));
    }

    /// Returns the bytes of a file, if it exists.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        let disk = self.disk();
        let node = &disk.nodes[disk.names.get(path)?];
        (!node.is_folder).then(|| node.bytes.clone())
    }

    /// Returns all paths, in order.
    pub fn paths(&self) -> Vec<String> {
        self.disk().names.keys().cloned().collect()
    }

    fn disk(&self) -> MutexGuard<'_, ModelDisk> {
        lock(&self.0)
    }
}

fn text(path: &StorePath) -> String {
    String::from(path.clone())
}

impl Under for ModelUnder {
    fn open(&self, path: &StorePath) -> io::Result<Box<dyn UnderFile>> {
        let number = self.disk().number(&text(path))?;
        if self.disk().nodes[&number].is_folder {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(Box::new(ModelFile { disk: self.clone(), number }))
    }

    fn facts(&self, path: &StorePath) -> io::Result<Facts> {
        let disk = self.disk();
        if path.parent().is_none() {
            let version =
                UnderVersion { device: 1, inode: 0, size_bytes: 0, modified_ns: 0, changed_ns: 0 };
            return Ok(Facts { version, is_folder: true, permissions: 0o755 });
        }
        let number = disk.number(&text(path))?;
        let is_folder = disk.nodes[&number].is_folder;
        let permissions = if is_folder { 0o755 } else { 0o644 };
        Ok(Facts { version: disk.version(number), is_folder, permissions })
    }

    fn list(&self, folder: &StorePath) -> io::Result<Vec<String>> {
        let disk = self.disk();
        let folder = text(folder);
        disk.check_folder(&folder)?;
        let here = disk.names.keys().filter(|path| folder_of(path) == folder);
        Ok(here.map(|path| path.rsplit('/').next().unwrap_or(path).to_owned()).collect())
    }

    fn create(&self, path: &StorePath, hidden: &str) -> io::Result<Box<dyn UnderWriter>> {
        let mut disk = self.disk();
        let path = text(path);
        let folder = folder_of(&path);
        let place =
            if folder.is_empty() { hidden.to_owned() } else { format!("{folder}/{hidden}") };
        let number = disk.make(&place, false)?;
        Ok(Box::new(ModelWriter { disk: self.clone(), number, place }))
    }

    fn sync_names(&self, path: &StorePath) -> io::Result<()> {
        self.disk().sync_folder(folder_of(&text(path)));
        Ok(())
    }

    fn make_folder(&self, folder: &StorePath) -> io::Result<()> {
        let mut disk = self.disk();
        let path = text(folder);
        if disk.names.contains_key(&path) {
            return disk.check_folder(&path);
        }
        disk.make(&path, true)?;
        disk.sync_folder(folder_of(&path));
        Ok(())
    }

    fn remove(&self, path: &StorePath) -> io::Result<()> {
        let mut disk = self.disk();
        let path = text(path);
        disk.number(&path)?;
        if disk.names.keys().any(|other| folder_of(other) == path) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        disk.change(vec![(path.clone(), None)]);
        disk.sync_folder(folder_of(&path));
        Ok(())
    }

    fn rename(&self, from: &StorePath, to: &StorePath) -> io::Result<()> {
        let mut disk = self.disk();
        let (from, to) = (text(from), text(to));
        disk.move_name(&from, &to)?;
        disk.sync_folder(folder_of(&to));
        disk.sync_folder(folder_of(&from));
        Ok(())
    }

    fn rename_new(&self, from: &StorePath, to: &StorePath) -> io::Result<()> {
        let mut disk = self.disk();
        let (from, to) = (text(from), text(to));
        match disk.names.contains_key(&to) {
            true => Err(io::ErrorKind::AlreadyExists.into()),
            false => disk.move_name(&from, &to),
        }
    }

    fn exchange(&self, first: &StorePath, second: &StorePath) -> io::Result<()> {
        let mut disk = self.disk();
        if disk.lacks_exchange {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let (first, second) = (text(first), text(second));
        let numbers = (disk.number(&first)?, disk.number(&second)?);
        disk.change(vec![(first, Some(numbers.1)), (second, Some(numbers.0))]);
        Ok(())
    }

    fn link_new(&self, file: &StorePath, to: &StorePath) -> io::Result<()> {
        let mut disk = self.disk();
        if disk.lacks_exchange {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let (number, to) = (disk.number(&text(file))?, text(to));
        if disk.names.contains_key(&to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        disk.change(vec![(to, Some(number))]);
        Ok(())
    }
}

struct ModelFile {
    disk: ModelUnder,
    number: u64,
}

impl UnderFile for ModelFile {
    fn version(&self) -> io::Result<UnderVersion> {
        Ok(self.disk.disk().version(self.number))
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let disk = self.disk.disk();
        let bytes = disk.nodes[&self.number].bytes.get(offset as usize..).unwrap_or(&[]);
        let read = bytes.get(..buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(read);
        Ok(())
    }
}

struct ModelWriter {
    disk: ModelUnder,
    number: u64,
    place: String,
}

impl UnderWriter for ModelWriter {
    fn place(&self) -> Option<PathBuf> {
        None
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut disk = self.disk.disk();
        disk.clock += 1;
        let clock = disk.clock;
        let node = disk.nodes.get_mut(&self.number).ok_or(io::ErrorKind::NotFound)?;
        let end = offset as usize + bytes.len();
        node.bytes.resize(node.bytes.len().max(end), 0);
        node.bytes[offset as usize..end].copy_from_slice(bytes);
        (node.modified, node.changed) = (clock, clock);
        Ok(())
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.disk.disk().version(self.number).size_bytes)
    }

    fn truncate(&self, size_bytes: u64) -> io::Result<()> {
        let mut disk = self.disk.disk();
        let node = disk.nodes.get_mut(&self.number).ok_or(io::ErrorKind::NotFound)?;
        node.bytes.truncate(size_bytes as usize);
        Ok(())
    }

    fn sync(&self, _modified_ns: Option<i64>) -> io::Result<UnderVersion> {
        let mut disk = self.disk.disk();
        let node = disk.nodes.get_mut(&self.number).ok_or(io::ErrorKind::NotFound)?;
        node.durable_bytes.clone_from(&node.bytes);
        Ok(disk.version(self.number))
    }
}

impl Drop for ModelWriter {
    fn drop(&mut self) {
        let mut disk = self.disk.disk();
        if disk.names.get(&self.place) == Some(&self.number) {
            disk.change(vec![(self.place.clone(), None)]);
        }
    }
}
