//! Renames of files and folders of a mount.

use std::ffi::OsStr;
use std::io;
use std::sync::{Arc, PoisonError};

use cuesta_runtime::parallel::lock;

use super::MountTree;
use super::nodes::{FileContent, MountNode, NodeKind, NodeState};
use crate::path::StorePath;
use crate::wire::Question;

impl MountTree {
    /// Renames a file or folder; replaces a file of the new name.
    ///
    /// # Errors
    /// `EXDEV` for a folder with memory-only files; errors of the store.
    pub fn rename(&self, from: (u64, &OsStr), to: (u64, &OsStr)) -> io::Result<()> {
        let (from, to) = (self.below(from.0, from.1)?, self.below(to.0, to.1)?);
        let (node, replaced) = {
            let nodes = lock(&self.nodes);
            (nodes.at(&from), nodes.at(&to))
        };
        match node {
            Some(node) if node.kind != NodeKind::Folder => {
                self.rename_file(&node, replaced, (&from, &to))
            }
            _ => self.rename_folder(&from, &to),
        }
    }

    fn rename_file(
        &self,
        node: &MountNode,
        replaced: Option<Arc<MountNode>>,
        (from, to): (&StorePath, &StorePath),
    ) -> io::Result<()> {
        let _moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        let mut state = lock(&node.state);
        self.commit(node, &mut state)?;
        let replaced = replaced.filter(|replaced| replaced.kind != NodeKind::Folder);
        let mut replaced_state =
            replaced.as_ref().map(|replaced| self.hold(replaced)).transpose()?;
        self.link.ask(&Question::Rename { path: from.clone(), to: to.clone(), is_new: false })?;
        if let (Some(replaced), Some(replaced_state)) = (&replaced, &mut replaced_state) {
            self.unname(replaced, replaced_state);
        }
        drop(replaced_state);
        state.reopen();
        lock(&self.nodes).rename(from, to);
        Ok(())
    }

    fn rename_folder(&self, from: &StorePath, to: &StorePath) -> io::Result<()> {
        // The lock keeps new files from being created below the old name.
        let _moves = self.moves.write().unwrap_or_else(PoisonError::into_inner);
        if !self.new_inside(to).is_empty() {
            return Err(io::Error::from_raw_os_error(libc::ENOTEMPTY));
        }
        let inside = lock(&self.nodes).inside(from);
        for (number, _) in &inside {
            let node = self.node(*number)?;
            let mut state = lock(&node.state);
            self.commit(&node, &mut state)?;
            state.reopen();
        }
        self.clear_folder(from)?;
        self.link.ask(&Question::Rename { path: from.clone(), to: to.clone(), is_new: false })?;
        lock(&self.nodes).rename(from, to);
        Ok(())
    }
}

impl NodeState {
    /// Has it opened again, under its new name, at the next read.
    pub(super) fn reopen(&mut self) {
        if matches!(self.content, FileContent::Stored(_)) {
            self.content = FileContent::Closed;
        }
        (self.store_version, self.cached) = (None, None);
    }
}
