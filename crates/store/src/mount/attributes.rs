//! Attributes of files and folders, as reported to the kernel, and its open handles.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use cuesta_runtime::parallel::lock;
use fuser::{FileAttr, FileHandle, FileType, Generation, INodeNo, ReplyEntry};

use super::OpenHandle;
use super::filesystem::MountedTree;
use super::limits::{FACTS_TIME, FOLDER_TIME, REQUEST_BYTES_MAX};
use super::names::NodeFacts;
use super::nodes::MountNode;

const SECTOR_BYTES: u64 = 512;

impl MountedTree {
    pub(super) fn attributes(&self, facts: &NodeFacts) -> FileAttr {
        let Self(tree) = self;
        FileAttr {
            ino: INodeNo(facts.number),
            size: facts.size_bytes,
            blocks: facts.size_bytes.div_ceil(SECTOR_BYTES),
            atime: facts.modified,
            mtime: facts.modified,
            ctime: facts.modified,
            crtime: SystemTime::UNIX_EPOCH,
            kind: facts.kind,
            perm: facts.permissions,
            nlink: if facts.kind == FileType::Directory { 2 } else { 1 },
            uid: tree.user,
            gid: tree.group,
            rdev: 0,
            blksize: REQUEST_BYTES_MAX,
            flags: 0,
        }
    }

    pub(super) fn enter(&self, facts: &NodeFacts, reply: ReplyEntry) {
        // Other clients may change a file at any time; a folder rarely moves.
        let is_folder = facts.kind == FileType::Directory;
        let time = if is_folder { FOLDER_TIME } else { Duration::ZERO };
        reply.entry_with_ttls(&FACTS_TIME, &time, &self.attributes(facts), Generation(0));
    }

    pub(super) fn handle(&self, node: &Arc<MountNode>, writes: bool) -> FileHandle {
        let number = self.0.next_handle.fetch_add(1, Ordering::Relaxed);
        let handle = OpenHandle { node: Arc::clone(node), writes, names: vec![] };
        lock(&self.0.handles).insert(number, Arc::new(handle));
        FileHandle(number)
    }

    pub(super) fn of(&self, handle: FileHandle) -> io::Result<Arc<OpenHandle>> {
        let handle = lock(&self.0.handles).get(&handle.0).cloned();
        handle.ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))
    }
}
