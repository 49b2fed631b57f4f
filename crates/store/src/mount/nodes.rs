//! Nodes of a mount: the files and folders that the kernel knows by number, and their current
//! paths.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use fuser::FileType;

use crate::client::{StoredFile, WrittenFile};
use crate::path::StorePath;
use crate::under::UnderVersion;

/// The number of the root.
pub const ROOT: u64 = 1;

/// A file or folder that the kernel knows by a number, which is never used again.
#[derive(Debug)]
pub struct MountNode {
    pub number: u64,
    pub kind: NodeKind,
    pub state: Mutex<NodeState>,
}

/// Kind of a node, which never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    File,
    Folder,
    /// A symbolic link to this folder. It is presented as a link, so that a program that removes
    /// everything below a folder does not remove the link's target.
    Link(StorePath),
}

impl NodeKind {
    /// Returns the kind for the kernel.
    pub fn of_file(&self) -> FileType {
        match self {
            Self::File => FileType::RegularFile,
            Self::Folder => FileType::Directory,
            Self::Link(_) => FileType::Symlink,
        }
    }
}

/// Current state of a node.
#[derive(Debug, Default)]
pub struct NodeState {
    /// Number of open handles, and of those open for writing.
    pub handles: u32,
    pub writers: u32,
    pub content: FileContent,
    /// Whether it has bytes that are not committed, or does not exist in the store yet.
    pub is_changed: bool,
    /// Whether it does not exist in the store yet.
    pub is_new: bool,
    /// The process that wrote last.
    pub writer: u32,
    /// Size and modification time in the store when it was last queried.
    pub store_version: Option<(u64, i64)>,
    /// The version that the kernel may have pages of.
    pub cached: Option<UnderVersion>,
    /// Modification time of its bytes here, or one that a user set.
    pub modified: Option<SystemTime>,
    /// Its permission bits, if known.
    pub permissions: Option<u32>,
    /// Whether they were set here, and are not in the store yet.
    pub is_permitted: bool,
}

/// Content of a file.
#[derive(Debug, Default)]
pub enum FileContent {
    /// In the store only.
    #[default]
    Closed,
    /// An open version of the store's file.
    Stored(StoredFile),
    /// All bytes, in this process: the file is small, and is or was written.
    Small(Vec<u8>),
    /// It is being written.
    Written(Box<WrittenFile>),
    /// The store ended, or failed, while it was written.
    Lost,
}

impl NodeState {
    /// Returns the size in bytes, if known here.
    pub fn size_bytes(&self) -> Option<u64> {
        match &self.content {
            FileContent::Closed | FileContent::Lost => None,
            FileContent::Stored(file) => Some(file.size_bytes()),
            FileContent::Small(bytes) => Some(bytes.len() as u64),
            FileContent::Written(file) => Some(file.size_bytes()),
        }
    }

    /// Returns whether the content here overrides the content of the store.
    pub fn has_local_bytes(&self) -> bool {
        let is_known = !matches!(self.content, FileContent::Closed);
        matches!(self.content, FileContent::Small(_) | FileContent::Written(_))
            || self.writers > 0 && is_known
    }
}

/// All nodes. A node that was removed or replaced has no path.
#[derive(Debug)]
pub struct NodeTable {
    nodes: HashMap<u64, TableEntry>,
    numbers: HashMap<StorePath, u64>,
    next: u64,
}

#[derive(Debug)]
struct TableEntry {
    node: Arc<MountNode>,
    path: Option<StorePath>,
    /// Number of lookups by the kernel that it has not forgotten.
    lookups: u64,
}

impl NodeTable {
    /// Creates a table of the root only.
    pub fn new() -> Self {
        let mut table = Self { nodes: HashMap::new(), numbers: HashMap::new(), next: ROOT };
        table.add(&StorePath::default(), NodeKind::Folder);
        table
    }

    /// Returns the node of a number.
    pub fn get(&self, number: u64) -> Option<Arc<MountNode>> {
        self.nodes.get(&number).map(|entry| Arc::clone(&entry.node))
    }

    /// Returns the path of a node.
    pub fn path(&self, number: u64) -> Option<StorePath> {
        self.nodes.get(&number).and_then(|entry| entry.path.clone())
    }

    /// Returns the node at a path, if the kernel knows it.
    pub fn at(&self, path: &StorePath) -> Option<Arc<MountNode>> {
        self.numbers.get(path).and_then(|&number| self.get(number))
    }

    /// Adds a node, which replaces the node at the path.
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
        self.nodes.insert(number, TableEntry { node: Arc::clone(&node), path, lookups: 0 });
        node
    }

    /// Removes a node from its path.
    pub fn detach(&mut self, number: u64) {
        let Some(entry) = self.nodes.get_mut(&number) else { return };
        if let Some(path) = entry.path.take() {
            self.numbers.remove(&path);
        }
    }

    /// Moves the node at a path, and all below it, to another path.
    pub fn rename(&mut self, from: &StorePath, to: &StorePath) {
        if let Some(replaced) = self.at(to) {
            self.detach(replaced.number);
        }
        for (number, path) in self.inside(from) {
            self.detach(number);
            let Ok(path) = path.moved(from, to) else { continue };
            self.numbers.insert(path.clone(), number);
            if let Some(entry) = self.nodes.get_mut(&number) {
                entry.path = Some(path);
            }
        }
    }

    /// Returns the numbers and paths of the node at a path, and of all below it.
    pub fn inside(&self, folder: &StorePath) -> Vec<(u64, StorePath)> {
        let all = self.numbers.iter().filter(|(path, _)| *path == folder || path.is_inside(folder));
        all.map(|(path, &number)| (number, path.clone())).collect()
    }

    /// Returns all nodes.
    pub fn all(&self) -> Vec<Arc<MountNode>> {
        self.nodes.values().map(|entry| Arc::clone(&entry.node)).collect()
    }

    /// Records a lookup of a node by the kernel.
    pub fn remember(&mut self, number: u64) {
        self.nodes.entry(number).and_modify(|entry| entry.lookups += 1);
    }

    /// Records that the kernel has forgotten `count` lookups.
    pub fn forget(&mut self, number: u64, count: u64) {
        self.nodes.entry(number).and_modify(|entry| {
            entry.lookups = entry.lookups.saturating_sub(count);
        });
    }

    /// Drops a node without open handles, if the kernel has forgotten it.
    pub fn drop_forgotten(&mut self, number: u64) {
        let is_forgotten = |entry: &TableEntry| entry.lookups == 0 && number != ROOT;
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
    fn the_files_of_a_folder_move_with_it_and_replace_the_node_at_the_new_path() {
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
    fn a_node_exists_until_the_kernel_has_forgotten_all_its_lookups() {
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
