//! Names of a mount: looked up, made, removed, renamed.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use cuesta_runtime::parallel::lock;
use fuser::FileType;

use super::MountTree;
use super::content::time_of;
use super::limits::NAME_BYTES_MAX;
use super::nodes::{FileContent, MountNode, NodeKind, NodeState};
use crate::path::StorePath;
use crate::wire::{DirectoryEntry, Question, Reply};

/// Attributes of a file or folder.
#[derive(Clone, Copy, Debug)]
pub struct NodeFacts {
    pub number: u64,
    pub kind: FileType,
    pub size_bytes: u64,
    pub modified: SystemTime,
    pub permissions: u16,
}

/// A name in a folder.
#[derive(Clone, Debug)]
pub struct ListedName {
    pub number: Option<u64>,
    pub kind: FileType,
    /// The name, in the text form of [`crate::name_text`].
    pub name: String,
}

fn system(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

impl MountTree {
    /// Returns the node of a number.
    ///
    /// # Errors
    /// `ESTALE` for a number that the kernel should not know.
    pub fn node(&self, number: u64) -> io::Result<Arc<MountNode>> {
        lock(&self.nodes).get(number).ok_or_else(|| system(libc::ESTALE))
    }

    /// Returns the path of a node; `None` if it was removed.
    pub fn path(&self, number: u64) -> Option<StorePath> {
        lock(&self.nodes).path(number)
    }

    pub(super) fn below(&self, folder: u64, name: &OsStr) -> io::Result<StorePath> {
        if name.len() > NAME_BYTES_MAX {
            return Err(system(libc::ENAMETOOLONG));
        }
        let folder = self.path(folder).ok_or_else(|| system(libc::ENOENT))?;
        folder.join_system(name).map_err(|_| system(libc::EINVAL))
    }

    fn entry(&self, path: &StorePath) -> io::Result<DirectoryEntry> {
        match self.link.ask(&Question::Stat { path: path.clone() })? {
            Reply::Entries { mut entries } if entries.len() == 1 => Ok(entries.remove(0)),
            _ => Err(system(libc::EIO)),
        }
    }

    /// Looks up a name, and counts the lookup.
    ///
    /// # Errors
    /// `ENOENT`; errors of the store.
    pub fn look_up(&self, folder: u64, name: &OsStr) -> io::Result<NodeFacts> {
        let path = self.below(folder, name)?;
        let cached = lock(&self.nodes).at(&path);
        if let Some(node) = cached {
            let mut state = lock(&node.state);
            if state.has_local_bytes() {
                return Ok(self.remembered(&node, &state));
            }
            let entry = match self.entry(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    lock(&self.nodes).detach(node.number);
                    return Err(error);
                }
                entry => entry?,
            };
            let version = (entry.size_bytes, entry.modified_ns);
            let is_replaced = state.store_version.is_some_and(|before| before != version)
                && self.is_replaced(&path, &mut state)?;
            if !is_replaced && node.kind == kind_of(&entry) {
                if state.store_version != Some(version) && node.kind == NodeKind::File {
                    state.modified = None;
                }
                state.update_from(&entry);
                return Ok(self.remembered(&node, &state));
            }
            // Another client replaced it: open handles retain the old file.
            drop(state);
            return Ok(self.add_node(&path, &entry));
        }
        let entry = self.entry(&path)?;
        Ok(self.add_node(&path, &entry))
    }

    /// Returns whether another client replaced an open file, rather than only flushed it.
    fn is_replaced(&self, path: &StorePath, state: &mut NodeState) -> io::Result<bool> {
        let FileContent::Stored(open) = &state.content else { return Ok(false) };
        let now = self.client.open(path)?;
        if !now.is_same_file(open) {
            return Ok(true);
        }
        if state.cached == Some(open.version()) {
            state.cached = Some(now.version());
        }
        state.content = FileContent::Stored(now);
        Ok(false)
    }

    /// Adds a node for a file or folder of the store.
    fn add_node(&self, path: &StorePath, entry: &DirectoryEntry) -> NodeFacts {
        let node = lock(&self.nodes).add(path, kind_of(entry));
        let mut state = lock(&node.state);
        state.update_from(entry);
        self.remembered(&node, &state)
    }

    fn remembered(&self, node: &MountNode, state: &NodeState) -> NodeFacts {
        lock(&self.nodes).remember(node.number);
        facts_of(node, state)
    }

    /// Records that the kernel has forgotten `count` lookups of a node.
    pub fn forget(&self, number: u64, count: u64) {
        let Ok(node) = self.node(number) else { return };
        let state = lock(&node.state);
        let mut nodes = lock(&self.nodes);
        nodes.forget(number, count);
        if state.handles == 0 {
            nodes.drop_forgotten(number);
        }
    }

    /// Returns the attributes of a node, from the store unless it is open.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn facts(&self, node: &MountNode) -> io::Result<NodeFacts> {
        let mut state = lock(&node.state);
        if state.size_bytes().is_none()
            && let Some(path) = self.path(node.number)
        {
            let entry = self.entry(&path)?;
            state.update_from(&entry);
        }
        Ok(facts_of(node, &state))
    }

    /// Returns the target of a symbolic link, relative to its folder.
    ///
    /// # Errors
    /// `EINVAL` for a node other than a link; `ENOENT` for a link that was removed.
    pub fn link(&self, number: u64) -> io::Result<OsString> {
        let node = self.node(number)?;
        let NodeKind::Link(target) = &node.kind else { return Err(system(libc::EINVAL)) };
        let path = self.path(number).ok_or_else(|| system(libc::ENOENT))?;
        let up = path.relative().components().count() - 1;
        let mut link = OsString::from("../".repeat(up));
        link.push(target.relative());
        Ok(link)
    }

    /// Creates an empty file, open for writing; the store gets it when it is closed.
    ///
    /// # Errors
    /// `EEXIST` with `is_new`; errors of the store.
    pub fn create(
        &self,
        folder: u64,
        name: &OsStr,
        (permissions, is_new): (u32, bool),
    ) -> io::Result<(Arc<MountNode>, NodeFacts)> {
        let path = self.below(folder, name)?;
        let cached = lock(&self.nodes).at(&path);
        let exists = match cached {
            Some(node) if lock(&node.state).has_local_bytes() => true,
            _ => match self.entry(&path) {
                Ok(_) => true,
                Err(error) if error.kind() == ErrorKind::NotFound => false,
                Err(error) => return Err(error),
            },
        };
        if exists && is_new {
            return Err(system(libc::EEXIST));
        }
        let facts = if exists { Some(self.look_up(folder, name)?) } else { None };
        let node = match facts {
            Some(facts) => self.node(facts.number)?,
            None => lock(&self.nodes).add(&path, NodeKind::File),
        };
        if exists {
            self.open(&node, true)?;
            return Ok((Arc::clone(&node), self.facts(&node)?));
        }
        let mut state = lock(&node.state);
        state.content = FileContent::Small(Vec::new());
        (state.handles, state.writers) = (1, 1);
        (state.is_new, state.is_changed) = (true, true);
        (state.permissions, state.modified) = (Some(permissions), Some(SystemTime::now()));
        let facts = self.remembered(&node, &state);
        drop(state);
        Ok((node, facts))
    }

    /// Makes a folder.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn make_folder(
        &self,
        folder: u64,
        name: &OsStr,
        permissions: u32,
    ) -> io::Result<NodeFacts> {
        let path = self.below(folder, name)?;
        self.link.ask(&Question::MakeFolder { path, permissions: Some(permissions) })?;
        self.look_up(folder, name)
    }

    /// Lists a folder: entries of the store, and files that are not in the store yet.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn list(&self, folder: u64) -> io::Result<Vec<ListedName>> {
        let path = self.path(folder).ok_or_else(|| system(libc::ENOENT))?;
        let reply = self.link.ask(&Question::List { path: path.clone() })?;
        let Reply::Entries { entries } = reply else { return Err(system(libc::EIO)) };
        let number = |name: &str| {
            let path = path.join(name).ok()?;
            lock(&self.nodes).at(&path).map(|node| node.number)
        };
        let listed = |entry: DirectoryEntry| ListedName {
            number: number(&entry.name),
            kind: kind_of(&entry).of_file(),
            name: entry.name,
        };
        let mut names: Vec<_> = entries.into_iter().map(listed).collect();
        for (number, path) in self.new_inside(&path) {
            let name = path.name().to_owned();
            if path.parent() == self.path(folder) && !names.iter().any(|listed| listed.name == name)
            {
                let kind = FileType::RegularFile;
                names.push(ListedName { number: Some(number), kind, name });
            }
        }
        Ok(names)
    }

    /// Returns the files in a folder that are not in the store yet.
    pub(super) fn new_inside(&self, folder: &StorePath) -> Vec<(u64, StorePath)> {
        let mut inside = lock(&self.nodes).inside(folder);
        inside.retain(|(number, _)| self.node(*number).is_ok_and(|node| lock(&node.state).is_new));
        inside
    }

    /// Removes a file; open handles can still read it.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn unlink(&self, folder: u64, name: &OsStr) -> io::Result<()> {
        let _moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        let path = self.below(folder, name)?;
        let Some(node) = lock(&self.nodes).at(&path) else {
            return self.link.ask(&Question::Remove { path }).map(|_| ());
        };
        let mut state = self.hold(&node)?;
        match self.link.ask(&Question::Remove { path }) {
            Err(error) if !(state.is_new && error.kind() == ErrorKind::NotFound) => {
                return Err(error);
            }
            _ => self.unname(&node, &mut state),
        }
        lock(&self.nodes).detach(node.number);
        Ok(())
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// `ENOTEMPTY`; errors of the store.
    pub fn remove_folder(&self, folder: u64, name: &OsStr) -> io::Result<()> {
        let _moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        let path = self.below(folder, name)?;
        if !self.new_inside(&path).is_empty() {
            return Err(system(libc::ENOTEMPTY));
        }
        let question = Question::Remove { path: path.clone() };
        match self.link.ask(&question) {
            Err(error) if error.raw_os_error() == Some(libc::ENOTEMPTY) => {
                if !self.clear_folder(&path)? {
                    return Err(error);
                }
                self.link.ask(&question)?;
            }
            removed => _ = removed?,
        }
        let mut nodes = lock(&self.nodes);
        if let Some(node) = nodes.at(&path) {
            nodes.detach(node.number);
        }
        Ok(())
    }
}

fn kind_of(entry: &DirectoryEntry) -> NodeKind {
    match &entry.link {
        Some(target) => NodeKind::Link(target.clone()),
        None if entry.is_folder => NodeKind::Folder,
        None => NodeKind::File,
    }
}

fn facts_of(node: &MountNode, state: &NodeState) -> NodeFacts {
    let version = state.store_version.unwrap_or_default();
    let (size_bytes, default) = match node.kind {
        NodeKind::File => (state.size_bytes().unwrap_or(version.0), 0o600),
        NodeKind::Folder => (4096, 0o700),
        NodeKind::Link(_) => (0, 0o777),
    };
    NodeFacts {
        number: node.number,
        kind: node.kind.of_file(),
        size_bytes,
        modified: state.modified.unwrap_or_else(|| time_of(version.1)),
        permissions: state.permissions.unwrap_or(default) as u16,
    }
}
