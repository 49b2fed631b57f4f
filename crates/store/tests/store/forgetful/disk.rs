//! Bytes and names of the disk: as processes see them, and as they are durable.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::time::SystemTime;

use fuser::{Errno, RenameFlags};

/// The number of the root.
pub const ROOT: u64 = 1;
const SECTOR_BYTES: usize = 512;

type Names = BTreeMap<OsString, u64>;

/// A file or folder.
#[derive(Clone)]
pub struct Node {
    pub is_folder: bool,
    pub mode: u16,
    pub bytes: Vec<u8>,
    pub modified: SystemTime,
    pub changed: SystemTime,
    names: Names,
    durable_bytes: Vec<u8>,
    durable_names: Names,
}

impl Node {
    fn new(is_folder: bool, mode: u16) -> Self {
        let now = SystemTime::now();
        Self {
            is_folder,
            mode,
            bytes: vec![],
            modified: now,
            changed: now,
            names: Names::new(),
            durable_bytes: vec![],
            durable_names: Names::new(),
        }
    }

    /// Leaves each unsynchronised sector old or new, and the size of either.
    fn tear(&mut self, draw: &mut dyn FnMut() -> u64) {
        if self.bytes == self.durable_bytes {
            return;
        }
        let (old, new) = (std::mem::take(&mut self.durable_bytes), std::mem::take(&mut self.bytes));
        let size_bytes = if draw().is_multiple_of(2) { old.len() } else { new.len() };
        let mut torn = vec![0; size_bytes];
        for (index, sector) in torn.chunks_mut(SECTOR_BYTES).enumerate() {
            let source = if draw().is_multiple_of(2) { &old } else { &new };
            let start = source.len().min(index * SECTOR_BYTES);
            let end = source.len().min(start + sector.len());
            sector[..end - start].copy_from_slice(&source[start..end]);
        }
        self.durable_bytes.clone_from(&torn);
        self.bytes = torn;
    }
}

/// An atomic change of names: folder, name, and the node that has the name afterwards.
type Change = Vec<(u64, OsString, Option<u64>)>;

/// The disk.
pub struct Disk {
    pub changes_left: Option<u64>,
    pub changes: u64,
    nodes: HashMap<u64, Node>,
    next: u64,
    /// Changes of names that are not durable, in order.
    pending: Vec<Change>,
}

impl Default for Disk {
    fn default() -> Self {
        let nodes = HashMap::from([(ROOT, Node::new(true, 0o755))]);
        Self { changes_left: None, changes: 0, nodes, next: ROOT + 1, pending: vec![] }
    }
}

impl Disk {
    pub fn node(&self, number: u64) -> Result<&Node, Errno> {
        self.nodes.get(&number).ok_or(Errno::ENOENT)
    }

    fn node_mut(&mut self, number: u64) -> Result<&mut Node, Errno> {
        self.nodes.get_mut(&number).ok_or(Errno::ENOENT)
    }

    /// Counts a change that is about to happen.
    fn change(&mut self) -> Result<(), Errno> {
        self.changes += 1;
        match &mut self.changes_left {
            Some(0 | 1) => {
                self.changes_left = Some(0);
                Err(Errno::EIO)
            }
            Some(count) => {
                *count -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub fn look_up(&self, parent: u64, name: &OsStr) -> Result<u64, Errno> {
        self.node(parent)?.names.get(name).copied().ok_or(Errno::ENOENT)
    }

    pub fn list(&self, folder: u64) -> Result<Vec<(OsString, u64, bool)>, Errno> {
        let names = &self.node(folder)?.names;
        let listed = |(name, &number): (&OsString, &u64)| {
            Ok((name.clone(), number, self.node(number)?.is_folder))
        };
        names.iter().map(listed).collect()
    }

    pub fn set(
        &mut self,
        number: u64,
        mode: Option<u32>,
        size_bytes: Option<u64>,
        modified: Option<SystemTime>,
    ) -> Result<(), Errno> {
        self.change()?;
        let node = self.node_mut(number)?;
        let now = SystemTime::now();
        if let Some(size_bytes) = size_bytes {
            node.bytes.resize(size_bytes as usize, 0);
            node.modified = now;
        }
        node.mode = mode.map_or(node.mode, |mode| (mode & 0o7777) as u16);
        node.modified = modified.unwrap_or(node.modified);
        node.changed = now;
        Ok(())
    }

    pub fn write(&mut self, number: u64, start: usize, data: &[u8]) -> Result<(), Errno> {
        self.change()?;
        let node = self.node_mut(number)?;
        let end = start + data.len();
        if node.bytes.len() < end {
            node.bytes.resize(end, 0);
        }
        node.bytes[start..end].copy_from_slice(data);
        node.modified = SystemTime::now();
        node.changed = node.modified;
        Ok(())
    }

    pub fn make(
        &mut self,
        parent: u64,
        name: &OsStr,
        mode: u16,
        is_folder: bool,
    ) -> Result<u64, Errno> {
        if self.look_up(parent, name).is_ok() {
            return Err(Errno::EEXIST);
        }
        let number = self.next;
        self.next += 1;
        self.apply(vec![(parent, name.to_owned(), Some(number))])?;
        self.nodes.insert(number, Node::new(is_folder, mode & 0o7777));
        Ok(number)
    }

    pub fn link(&mut self, number: u64, parent: u64, name: &OsStr) -> Result<u64, Errno> {
        if self.look_up(parent, name).is_ok() {
            return Err(Errno::EEXIST);
        }
        self.apply(vec![(parent, name.to_owned(), Some(number))])?;
        Ok(number)
    }

    pub fn unlink(&mut self, parent: u64, name: &OsStr, is_folder: bool) -> Result<(), Errno> {
        let number = self.look_up(parent, name)?;
        let node = self.node(number)?;
        match (node.is_folder, is_folder) {
            (true, false) => return Err(Errno::EISDIR),
            (false, true) => return Err(Errno::ENOTDIR),
            (true, true) if !node.names.is_empty() => return Err(Errno::ENOTEMPTY),
            _ => (),
        }
        self.apply(vec![(parent, name.to_owned(), None)])
    }

    pub fn rename(
        &mut self,
        from: (u64, &OsStr),
        to: (u64, &OsStr),
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        let moved = self.look_up(from.0, from.1)?;
        let replaced = self.look_up(to.0, to.1).ok();
        if flags.contains(RenameFlags::RENAME_NOREPLACE) && replaced.is_some() {
            return Err(Errno::EEXIST);
        }
        let is_exchange = flags.contains(RenameFlags::RENAME_EXCHANGE);
        if is_exchange && replaced.is_none() {
            return Err(Errno::ENOENT);
        }
        let back = if is_exchange { replaced } else { None };
        self.apply(vec![(from.0, from.1.to_owned(), back), (to.0, to.1.to_owned(), Some(moved))])
    }

    fn apply(&mut self, change: Change) -> Result<(), Errno> {
        self.change()?;
        for (folder, name, number) in &change {
            let names = &mut self.node_mut(*folder)?.names;
            match number {
                Some(number) => names.insert(name.clone(), *number),
                None => names.remove(name),
            };
        }
        self.pending.push(change);
        Ok(())
    }

    pub fn sync_bytes(&mut self, number: u64) -> Result<(), Errno> {
        self.change()?;
        let node = self.node_mut(number)?;
        node.durable_bytes.clone_from(&node.bytes);
        Ok(())
    }

    /// Makes all changes of a folder durable.
    pub fn sync_names(&mut self, folder: u64) -> Result<(), Errno> {
        self.change()?;
        let touches = |change: &Change| change.iter().any(|(place, ..)| *place == folder);
        let (durable, pending) = std::mem::take(&mut self.pending).into_iter().partition(touches);
        self.pending = pending;
        let durable: Vec<Change> = durable;
        durable.into_iter().for_each(|change| self.make_durable(change));
        Ok(())
    }

    fn make_durable(&mut self, change: Change) {
        for (folder, name, number) in change {
            let Some(node) = self.nodes.get_mut(&folder) else { continue };
            match number {
                Some(number) => node.durable_names.insert(name, number),
                None => node.durable_names.remove(&name),
            };
        }
    }

    /// Leaves the durable state, with a random subset of the other changes.
    pub fn power_off(&mut self, draw: &mut dyn FnMut() -> u64) {
        for change in std::mem::take(&mut self.pending) {
            if draw().is_multiple_of(2) {
                self.make_durable(change);
            }
        }
        for node in self.nodes.values_mut() {
            node.names.clone_from(&node.durable_names);
            node.tear(draw);
        }
        self.changes_left = None;
    }
}
