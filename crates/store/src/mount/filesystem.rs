//! FUSE requests of the kernel, and the replies to them.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use cuesta_runtime::parallel::lock;
use fuser::{
    BsdFileFlags, Errno, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    KernelConfig, LockOwner, OpenAccMode, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request,
    TimeOrNow, WriteFlags,
};

use super::limits::{AHEAD_KIBIBYTES, NAME_BYTES_MAX, REQUEST_BYTES_MAX};
use super::names::ListedName;
use super::{MountTree, OpenHandle};
use crate::errno::errno_of;
use crate::name_text::name_of;
use crate::permissions::WRITER_BITS;

/// The tree as a FUSE file system.
#[derive(Debug)]
pub struct MountedTree(pub Arc<MountTree>);

/// A number of no node: the kernel looks the name up instead.
const UNKNOWN: u64 = u32::MAX as u64;
const PAGE_BYTES: u64 = 4096;

thread_local! {
    /// Buffer for reads, reused.
    static PIECE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_i32(errno_of(error).unwrap_or(libc::EIO))
}

/// Returns the value of a result, or replies with its error and returns.
macro_rules! answered {
    ($value:expr, $reply:ident) => {
        match $value {
            Ok(value) => value,
            Err(error) => return $reply.error(errno(&error)),
        }
    };
}

fn opened(keeps: bool) -> FopenFlags {
    if keeps { FopenFlags::FOPEN_KEEP_CACHE } else { FopenFlags::empty() }
}

impl Filesystem for MountedTree {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let _ = config.set_max_write(REQUEST_BYTES_MAX);
        if let Err(most) = config.set_max_readahead(AHEAD_KIBIBYTES << 10) {
            let _ = config.set_max_readahead(most);
        }
        let _ = config.add_capabilities(fuser::InitFlags::FUSE_PARALLEL_DIROPS);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let facts = answered!(self.0.look_up(parent.0, name), reply);
        self.enter(&facts, reply);
    }

    fn forget(&self, _: &Request, number: INodeNo, count: u64) {
        self.0.forget(number.0, count);
    }

    fn getattr(&self, _: &Request, number: INodeNo, handle: Option<FileHandle>, reply: ReplyAttr) {
        let node = match handle.map(|handle| self.of(handle)) {
            Some(Ok(handle)) => Arc::clone(&handle.node),
            _ => answered!(self.0.node(number.0), reply),
        };
        let facts = answered!(self.0.facts(&node), reply);
        reply.attr(&Duration::ZERO, &self.attributes(&facts));
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        _user: Option<u32>,
        _group: Option<u32>,
        size_bytes: Option<u64>,
        _accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let node = match handle.map(|handle| self.of(handle)) {
            Some(Ok(handle)) => Arc::clone(&handle.node),
            _ => answered!(self.0.node(number.0), reply),
        };
        if let Some(size_bytes) = size_bytes {
            answered!(self.0.resize(&node, size_bytes), reply);
        }
        if let Some(mode) = mode {
            answered!(self.0.permit(&node, mode), reply);
        }
        let mut state = lock(&node.state);
        match modified {
            Some(TimeOrNow::SpecificTime(time)) => state.modified = Some(time),
            Some(TimeOrNow::Now) => state.modified = Some(SystemTime::now()),
            None => (),
        }
        drop(state);
        let facts = answered!(self.0.facts(&node), reply);
        reply.attr(&Duration::ZERO, &self.attributes(&facts));
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        let target = answered!(self.0.link(number.0), reply);
        reply.data(target.as_encoded_bytes());
    }

    fn mkdir(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let permissions = mode & !umask & WRITER_BITS;
        let facts = answered!(self.0.make_folder(parent.0, name, permissions), reply);
        self.enter(&facts, reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answered!(self.0.unlink(parent.0, name), reply);
        reply.ok();
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answered!(self.0.remove_folder(parent.0, name), reply);
        reply.ok();
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        to_parent: INodeNo,
        to_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        // The kernel has checked itself that the new name is free.
        if !(flags - RenameFlags::RENAME_NOREPLACE).is_empty() {
            return reply.error(Errno::EINVAL);
        }
        answered!(self.0.rename((parent.0, name), (to_parent.0, to_name)), reply);
        reply.ok();
    }

    fn mknod(
        &self,
        _: &Request,
        _parent: INodeNo,
        _name: &OsStr,
        _mode: u32,
        _umask: u32,
        _device: u32,
        reply: ReplyEntry,
    ) {
        reply.error(Errno::EPERM);
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let permissions = mode & !umask & WRITER_BITS;
        let is_new = flags & libc::O_EXCL != 0;
        let made = self.0.create(parent.0, name, (permissions, is_new));
        let (node, facts) = answered!(made, reply);
        let handle = self.handle(&node, true);
        let attributes = self.attributes(&facts);
        let flags = FopenFlags::empty();
        reply.created(&Duration::ZERO, &attributes, Generation(0), handle, flags);
    }

    fn open(&self, _: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let node = answered!(self.0.node(number.0), reply);
        let writes = flags.acc_mode() != OpenAccMode::O_RDONLY;
        let keeps = answered!(self.0.open(&node, writes), reply);
        reply.opened(self.handle(&node, writes), opened(keeps));
    }

    fn read(
        &self,
        _: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let handle = answered!(self.of(handle), reply);
        PIECE.with_borrow_mut(|piece| {
            if piece.len() < size as usize {
                piece.resize(size as usize, 0);
            }
            match self.0.read(&handle.node, &mut piece[..size as usize], offset) {
                Ok(count) => reply.data(&piece[..count]),
                Err(error) => reply.error(errno(&error)),
            }
        });
    }

    fn write(
        &self,
        request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let handle = answered!(self.of(handle), reply);
        answered!(self.0.write(&handle.node, data, offset, request.pid()), reply);
        reply.written(u32::try_from(data.len()).unwrap_or(u32::MAX));
    }

    fn flush(
        &self,
        request: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        let handle = answered!(self.of(handle), reply);
        if handle.writes {
            answered!(self.0.flush(&handle.node, request.pid()), reply);
        }
        reply.ok();
    }

    fn fsync(
        &self,
        _: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _data_alone: bool,
        reply: ReplyEmpty,
    ) {
        let handle = answered!(self.of(handle), reply);
        answered!(self.0.sync(&handle.node), reply);
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        if let Some(handle) = lock(&self.0.handles).remove(&handle.0) {
            self.0.release(&handle.node, handle.writes);
        }
        reply.ok();
    }

    fn opendir(&self, _: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let node = answered!(self.0.node(number.0), reply);
        let mut names = answered!(self.0.list(number.0), reply);
        for name in ["..", "."] {
            let node_number = if name == "." { Some(number.0) } else { None };
            let kind = FileType::Directory;
            names.insert(0, ListedName { number: node_number, kind, name: name.to_owned() });
        }
        let number = self.0.next_handle.fetch_add(1, Ordering::Relaxed);
        let handle = OpenHandle { node, writes: false, names };
        lock(&self.0.handles).insert(number, Arc::new(handle));
        reply.opened(FileHandle(number), FopenFlags::empty());
    }

    fn readdir(
        &self,
        _: &Request,
        _number: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let handle = answered!(self.of(handle), reply);
        for (place, listed) in handle.names.iter().enumerate().skip(offset as usize) {
            let number = INodeNo(listed.number.unwrap_or(UNKNOWN));
            if reply.add(number, place as u64 + 1, listed.kind, name_of(&listed.name)) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(
        &self,
        _: &Request,
        _number: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        lock(&self.0.handles).remove(&handle.0);
        reply.ok();
    }

    fn fsyncdir(
        &self,
        _: &Request,
        _number: INodeNo,
        _handle: FileHandle,
        _data_alone: bool,
        reply: ReplyEmpty,
    ) {
        // Names are on the disk of the under level before they are acknowledged.
        reply.ok();
    }

    fn fallocate(
        &self,
        _: &Request,
        _number: INodeNo,
        _handle: FileHandle,
        offset: u64,
        length: u64,
        _mode: i32,
        reply: ReplyEmpty,
    ) {
        answered!(self.0.check_size(offset.saturating_add(length)), reply);
        // Space that exists now may be gone when the file is written: nothing is reserved.
        reply.error(Errno::EOPNOTSUPP);
    }

    fn statfs(&self, _: &Request, _number: INodeNo, reply: ReplyStatfs) {
        let room = answered!(self.0.room(), reply);
        let (all, free) = (room.all_bytes / PAGE_BYTES, room.free_bytes / PAGE_BYTES);
        let (page, name) = (PAGE_BYTES as u32, NAME_BYTES_MAX as u32);
        reply.statfs(all, free, free, 0, 0, page, name, page);
    }
}
