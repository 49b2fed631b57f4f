//! Bytes and names of the model file system: as the system shows them, and as they are on the disk.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use cuesta_core::random::Stream;

use super::UnderVersion;

/// Bytes that a disk writes atomically.
const SECTOR_BYTES: usize = 512;

#[derive(Clone, Debug, Default)]
pub(super) struct ModelDisk {
    pub(super) nodes: HashMap<u64, Node>,
    /// Paths below the root, as the system shows them.
    pub(super) names: BTreeMap<String, u64>,
    /// Paths that are on the disk.
    pub(super) durable_names: BTreeMap<String, u64>,
    /// Changes of names that are not on the disk, each atomic: paths and their new inode numbers.
    pub(super) pending: Vec<Vec<(String, Option<u64>)>>,
    /// Number of changes so far; also the clock.
    pub(super) clock: u64,
    /// Whether exchanging and linking names is unsupported, as on many network file systems.
    pub(super) lacks_exchange: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) is_folder: bool,
    pub(super) bytes: Vec<u8>,
    pub(super) durable_bytes: Vec<u8>,
    pub(super) modified: u64,
    pub(super) changed: u64,
}

/// Returns the parent folders of a path, except the root.
pub(super) fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

impl ModelDisk {
    pub(super) fn number(&self, path: &str) -> io::Result<u64> {
        self.names.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn check_folder(&self, folder: &str) -> io::Result<()> {
        let is_folder = folder.is_empty() || self.nodes[&self.number(folder)?].is_folder;
        if is_folder { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    pub(super) fn make(&mut self, path: &str, is_folder: bool) -> io::Result<u64> {
        self.check_folder(folder_of(path))?;
        self.clock += 1;
        let number = self.clock;
        let node = Node { is_folder, modified: number, changed: number, ..Node::default() };
        self.nodes.insert(number, node);
        self.change(vec![(path.to_owned(), Some(number))]);
        Ok(number)
    }

    pub(super) fn version(&self, number: u64) -> UnderVersion {
        let node = &self.nodes[&number];
        UnderVersion {
            device: 1,
            inode: number,
            size_bytes: node.bytes.len() as u64,
            modified_ns: node.modified.cast_signed(),
            changed_ns: node.changed.cast_signed(),
        }
    }

    pub(super) fn move_name(&mut self, from: &str, to: &str) -> io::Result<()> {
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

    /// Changes the inode numbers of paths atomically.
    pub(super) fn change(&mut self, change: Vec<(String, Option<u64>)>) {
        apply(&mut self.names, &change);
        self.pending.push(change);
    }

    /// Drops unsynced data as a power failure may.
    pub(super) fn lose_power(&mut self, seed: u64) {
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
            // A change that follows a lost change of the same name is lost too.
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

    /// Syncs the names in a folder to the disk.
    pub(super) fn sync_folder(&mut self, folder: &str) {
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
    /// Leaves random sectors of the bytes that were not synced.
    pub(super) fn tear(&mut self, stream: &Stream) {
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
