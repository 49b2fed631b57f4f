//! A file system in memory that loses, at a crash, what was not synced; for tests.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use cuesta_core::random::Stream;
use cuesta_runtime::parallel::lock;

use super::{Facts, Under, UnderFile, UnderVersion, UnderWriter};
use crate::path::StorePath;

/// A disk writes this many bytes as one.
const SECTOR_BYTES: usize = 512;

/// What a crash loses of what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// Nothing: the process was killed, and the system goes on.
    Nothing,
    /// The bytes of files, but not their names.
    Bytes,
    /// Bytes and names.
    Everything,
    /// Some of both, by the seed: of a file that was not synced any sectors may be new, old or
    /// zero, and each change of a name that was not synced may have come: in any order, but for
    /// those of one name.
    Power(u64),
}

impl Crash {
    /// All of them that need no seed.
    pub const ALL: [Self; 3] = [Self::Nothing, Self::Bytes, Self::Everything];
}

/// The file system; clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct ModelUnder(Arc<Mutex<Disk>>);

#[derive(Clone, Debug, Default)]
struct Disk {
    nodes: HashMap<u64, Node>,
    /// Paths below the root, as the system shows them.
    names: BTreeMap<String, u64>,
    /// Those that are on the disk.
    durable_names: BTreeMap<String, u64>,
    /// Changes of names that are not, each as one: paths and what they have then.
    pending: Vec<Vec<(String, Option<u64>)>>,
    /// Counts changes; also the time.
    clock: u64,
    /// Names are neither exchanged nor linked, as on many network file systems.
    lacks_exchange: bool,
}

#[derive(Clone, Debug, Default)]
struct Node {
    is_folder: bool,
    bytes: Vec<u8>,
    durable_bytes: Vec<u8>,
    modified: u64,
    changed: u64,
}

impl ModelUnder {
    /// What is there after a crash.
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
            // What is in a folder that is not there is not there either.
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

    /// This file system, without exchanges and links of names.
    pub fn without_exchange(self) -> Self {
        self.disk().lacks_exchange = true;
        self
    }

    /// Writes a file past the store, as another program does: to another name, then renamed.
    pub fn write_past(&self, path: &str, bytes: &[u8]) {
        let mut disk = self.disk();
        if let Ok(number) = disk.make(path, false)
            && let Some(node) = disk.nodes.get_mut(&number)
        {
            (node.bytes, node.durable_bytes) = (bytes.to_vec(), bytes.to_vec());
        }
        disk.sync_folder(folder_of(path));
    }

    /// The bytes of a file, if it is there.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        let disk = self.disk();
        let node = &disk.nodes[disk.names.get(path)?];
        (!node.is_folder).then(|| node.bytes.clone())
    }

    /// All paths, in order.
    pub fn paths(&self) -> Vec<String> {
        self.disk().names.keys().cloned().collect()
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        lock(&self.0)
    }
}

/// The folders that a path is in, but for the root.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

impl Disk {
    fn number(&self, path: &str) -> io::Result<u64> {
        self.names.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn check_folder(&self, folder: &str) -> io::Result<()> {
        let is_folder = folder.is_empty() || self.nodes[&self.number(folder)?].is_folder;
        if is_folder { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    fn make(&mut self, path: &str, is_folder: bool) -> io::Result<u64> {
        self.check_folder(folder_of(path))?;
        self.clock += 1;
        let number = self.clock;
        let node = Node { is_folder, modified: number, changed: number, ..Node::default() };
        self.nodes.insert(number, node);
        self.change(vec![(path.to_owned(), Some(number))]);
        Ok(number)
    }

    fn version(&self, number: u64) -> UnderVersion {
        let node = &self.nodes[&number];
        UnderVersion {
            device: 1,
            inode: number,
            size_bytes: node.bytes.len() as u64,
            modified_ns: node.modified.cast_signed(),
            changed_ns: node.changed.cast_signed(),
        }
    }

    fn move_name(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.check_folder(folder_of(to))?;
        let number = self.number(from)?;
        let below = format!("{from}/");
        let inside = self.names.iter().filter(|(path, _)| path.starts_with(&below));
        let moved = inside.flat_map(|(path, &inner)| {
            [(path.clone(), None), (format!("{to}/{}", &path[below.len()..]), Some(inner))]
        });
        let ends = [(from.to_owned(), None), (to.to_owned(), Some(number))];
        self.change(moved.chain(ends).collect());
        self.clock += 1;
        let clock = self.clock;
        self.nodes.entry(number).and_modify(|node| node.changed = clock);
        Ok(())
    }

    /// Gives paths what they have from now on, in one step.
    fn change(&mut self, change: Vec<(String, Option<u64>)>) {
        apply(&mut self.names, &change);
        self.pending.push(change);
    }

    /// Leaves what a loss of power may leave.
    fn lose_power(&mut self, seed: u64) {
        let stream = Stream::new(seed, 1);
        let mut numbers: Vec<u64> = self.nodes.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            if let Some(node) = self.nodes.get_mut(&number) {
                node.tear(&Stream::new(seed, 1000 + number));
            }
        }
        let mut names = self.durable_names.clone();
        let mut missing = BTreeSet::new();
        for (place, change) in (0..).zip(self.pending.drain(..)) {
            // A change of a name whose change before did not come cannot come either.
            let depends = change.iter().any(|(path, _)| missing.contains(path));
            if depends || stream.bits(place) & 1 == 0 {
                missing.extend(change.into_iter().map(|(path, _)| path));
            } else {
                apply(&mut names, &change);
            }
        }
        self.names = names.clone();
        self.names.retain(|path, _| parents(path).all(|folder| names.contains_key(folder)));
    }

    /// Brings the names in a folder to the disk.
    fn sync_folder(&mut self, folder: &str) {
        for change in &mut self.pending {
            change.retain(|(path, _)| folder_of(path) != folder);
        }
        self.pending.retain(|change| !change.is_empty());
        self.durable_names.retain(|path, _| folder_of(path) != folder);
        let here = self.names.iter().filter(|(path, _)| folder_of(path) == folder);
        let here: Vec<_> = here.map(|(path, &number)| (path.clone(), number)).collect();
        self.durable_names.extend(here);
    }
}

impl Node {
    /// Leaves any sectors of the bytes that were not synced.
    fn tear(&mut self, stream: &Stream) {
        if self.bytes == self.durable_bytes {
            return;
        }
        let (new, old) = (std::mem::take(&mut self.bytes), &self.durable_bytes);
        let sizes = new.len().abs_diff(old.len()) as u64 + 1;
        let size = new.len().min(old.len()) + (stream.bits(0) % sizes) as usize;
        self.bytes = vec![0; size];
        for (place, sector) in self.bytes.chunks_mut(SECTOR_BYTES).enumerate() {
            let source = match stream.bits(1 + place as u64) % 3 {
                0 => &new,
                1 => old,
                _ => continue,
            };
            let start = place * SECTOR_BYTES;
            let end = source.len().min(start + sector.len());
            if let Some(bytes) = source.get(start..end) {
                sector[..bytes.len()].copy_from_slice(bytes);
            }
        }
    }
}

fn apply(names: &mut BTreeMap<String, u64>, change: &[(String, Option<u64>)]) {
    for (path, number) in change {
        match number {
            Some(number) => _ = names.insert(path.clone(), *number),
            None => _ = names.remove(path),
        }
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
        let found = bytes.get(..buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(found);
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
