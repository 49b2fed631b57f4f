//! What the kernel knows of a mount: numbers of files and folders, and where each is now.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use fuser::FileType;

use crate::client::{StoredFile, WrittenFile};
use crate::path::StorePath;
use crate::under::UnderVersion;

/// The number of the root.
pub const ROOT: u64 = 1;

/// A file or folder that the kernel knows by a number, which no other ever gets.
#[derive(Debug)]
pub struct MountNode {
    pub number: u64,
    pub kind: NodeKind,
    pub state: Mutex<NodeState>,
}

/// What sort of node it is, as long as it has its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    File,
    Folder,
    /// A symbolic link to this folder. It stays one, so that who removes all below a folder does
    /// not remove what it leads to.
    Link(StorePath),
}

impl NodeKind {
    /// For the kernel.
    pub fn of_file(&self) -> FileType {
        match self {
            Self::File => FileType::RegularFile,
            Self::Folder => FileType::Directory,
            Self::Link(_) => FileType::Symlink,
        }
    }
}

/// What it is now.
#[derive(Debug, Default)]
pub struct NodeState {
    /// How often it is open, and how often for writing.
    pub handles: u32,
    pub writers: u32,
    pub content: FileContent,
    /// It has bytes that are not committed, or is not there yet.
    pub is_changed: bool,
    /// The store has not got it yet.
    pub is_new: bool,
    /// The process that wrote last.
    pub writer: u32,
    /// Which version the store had when it was asked last: size, and time of change.
    pub seen: Option<(u64, i64)>,
    /// The version that the kernel may have pages of.
    pub cached: Option<UnderVersion>,
    /// When its bytes were changed here, or what somebody set.
    pub modified: Option<SystemTime>,
    /// Its permission bits, as far as they are known.
    pub permissions: Option<u32>,
    /// They were set here, and the store has not got them yet.
    pub is_permitted: bool,
}

/// Where the bytes of a file are.
#[derive(Debug, Default)]
pub enum FileContent {
    /// The store has them.
    #[default]
    Closed,
    /// One version of the store.
    Stored(StoredFile),
    /// All of them are here: it is small, and is or was written.
    Small(Vec<u8>),
    /// It is being written.
    Written(Box<WrittenFile>),
    /// The store ended, or refused, while it was written.
    Lost,
}

impl NodeState {
    /// Bytes, where that is known here.
    pub fn size_bytes(&self) -> Option<u64> {
        match &self.content {
            FileContent::Closed | FileContent::Lost => None,
            FileContent::Stored(file) => Some(file.size_bytes()),
            FileContent::Small(bytes) => Some(bytes.len() as u64),
            FileContent::Written(file) => Some(file.size_bytes()),
        }
    }

    /// Whether what is here counts, whatever the store has by now.
    pub fn is_own(&self) -> bool {
        let is_known = !matches!(self.content, FileContent::Closed);
        matches!(self.content, FileContent::Small(_) | FileContent::Written(_))
            || self.writers > 0 && is_known
    }
}

/// All nodes. A node that was removed or replaced has no path.
#[derive(Debug)]
pub struct NodeTable {
    nodes: HashMap<u64, Known>,
    numbers: HashMap<StorePath, u64>,
    next: u64,
}

#[derive(Debug)]
struct Known {
    node: Arc<MountNode>,
    path: Option<StorePath>,
    /// How often the kernel was told of it, and has not forgotten it.
    lookups: u64,
}

impl NodeTable {
    /// The root alone.
    pub fn new() -> Self {
        let mut table = Self { nodes: HashMap::new(), numbers: HashMap::new(), next: ROOT };
        table.add(&StorePath::default(), NodeKind::Folder);
        table
    }

    /// What has a number.
    pub fn get(&self, number: u64) -> Option<Arc<MountNode>> {
        self.nodes.get(&number).map(|known| Arc::clone(&known.node))
    }

    /// Where a node is.
    pub fn path(&self, number: u64) -> Option<StorePath> {
        self.nodes.get(&number).and_then(|known| known.path.clone())
    }

    /// What is at a path, if the kernel knows of it.
    pub fn at(&self, path: &StorePath) -> Option<Arc<MountNode>> {
        self.numbers.get(path).and_then(|&number| self.get(number))
    }

    /// A new node, in place of what is at the path.
    pub fn add(&mut self, path: &StorePath, kind: NodeKind) -> Arc<MountNode> {
        let number = self.next;
        self.next += 1;
        let node = Arc::new(MountNode { number, kind, state: Mutex::default() });
        if let Some(before) = self.numbers.insert(path.clone(), number)
            && let Some(before) = self.nodes.get_mut(&before)
        {
            before.path = None;
        }
        let path = Some(path.clone());
        self.nodes.insert(number, Known { node: Arc::clone(&node), path, lookups: 0 });
        node
    }

    /// A node is no longer at its path.
    pub fn detach(&mut self, number: u64) {
        let Some(known) = self.nodes.get_mut(&number) else { return };
        if let Some(path) = known.path.take() {
            self.numbers.remove(&path);
        }
    }

    /// What is at a path, and all that is in it, is at another one now.
    pub fn rename(&mut self, from: &StorePath, to: &StorePath) {
        if let Some(replaced) = self.at(to) {
            self.detach(replaced.number);
        }
        for (number, path) in self.inside(from) {
            self.detach(number);
            let Ok(path) = path.moved(from, to) else { continue };
            self.numbers.insert(path.clone(), number);
            if let Some(known) = self.nodes.get_mut(&number) {
                known.path = Some(path);
            }
        }
    }

    /// What is at a path, and all that is in it.
    pub fn inside(&self, folder: &StorePath) -> Vec<(u64, StorePath)> {
        let all = self.numbers.iter().filter(|(path, _)| *path == folder || path.is_inside(folder));
        all.map(|(path, &number)| (number, path.clone())).collect()
    }

    /// All nodes.
    pub fn all(&self) -> Vec<Arc<MountNode>> {
        self.nodes.values().map(|known| Arc::clone(&known.node)).collect()
    }

    /// The kernel was told of a node.
    pub fn remember(&mut self, number: u64) {
        self.nodes.entry(number).and_modify(|known| known.lookups += 1);
    }

    /// The kernel has forgotten so many of those times.
    pub fn forget(&mut self, number: u64, count: u64) {
        self.nodes.entry(number).and_modify(|known| {
            known.lookups = known.lookups.saturating_sub(count);
        });
    }

    /// Drops a node that is not open, if the kernel has forgotten it.
    pub fn drop_forgotten(&mut self, number: u64) {
        let is_forgotten = |known: &Known| known.lookups == 0 && number != ROOT;
        if self.nodes.get(&number).is_some_and(is_forgotten) {
            self.detach(number);
            self.nodes.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> StorePath {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_in_a_folder_moves_with_it_and_replaces_what_was_there() {
        let mut table = NodeTable::new();
        let folder = table.add(&path("a"), NodeKind::Folder);
        let file = table.add(&path("a/b"), NodeKind::File);
        let other = table.add(&path("ab"), NodeKind::File);
        let replaced = table.add(&path("c"), NodeKind::Folder);
        table.rename(&path("a"), &path("c"));
        assert_eq!(table.path(file.number), Some(path("c/b")));
        assert_eq!(table.path(folder.number), Some(path("c")));
        assert_eq!(table.path(other.number), Some(path("ab")));
        assert_eq!(table.path(replaced.number), None);
        assert!(table.at(&path("a/b")).is_none());
        assert_eq!(table.at(&path("c/b")).unwrap().number, file.number);
    }

    #[test]
    fn a_node_stays_until_the_kernel_has_forgotten_it_as_often_as_it_was_told() {
        let mut table = NodeTable::new();
        let file = table.add(&path("a"), NodeKind::File).number;
        table.remember(file);
        table.remember(file);
        table.forget(file, 1);
        table.drop_forgotten(file);
        assert!(table.get(file).is_some());
        table.forget(file, 1);
        table.drop_forgotten(file);
        assert!(table.get(file).is_none() && table.at(&path("a")).is_none());
        table.drop_forgotten(ROOT);
        assert!(table.get(ROOT).is_some());
    }
}
