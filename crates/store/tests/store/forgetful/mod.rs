//! A FUSE file system in memory that loses unsynchronised changes when its power fails.
//!
//! A file's bytes are durable after `fsync` of the file, a name after `fsync` of its folder. At a
//! power failure, each unsynchronised sector is old or new, and each change of names has happened
//! or not, independently of the changes before and after it: the weakest disk that POSIX permits.
#![allow(clippy::unwrap_used)]

mod disk;

use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use cuesta_core::random::Stream;
use disk::{Disk, ROOT};
use fuser::{
    BackgroundSession, BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem,
    FopenFlags, Generation, INodeNo, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr,
    ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyStatfs, ReplyWrite,
    Request, Session, TimeOrNow, WriteFlags,
};

const NO_CACHE: Duration = Duration::ZERO;
const PAGE_BYTES: u32 = 4096;

/// The disk, shared by its mounts.
#[derive(Clone, Default)]
pub struct ForgetfulDisk(Arc<Mutex<Disk>>);

impl ForgetfulDisk {
    /// Mounts the disk on a folder; `None` where this system or user cannot mount.
    pub fn mount(&self, place: &Path) -> Option<BackgroundSession> {
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("forgetful".to_owned())];
        Session::new(self.clone(), place, &config).and_then(Session::spawn).ok()
    }

    /// Fails all requests from the `count`-th change of the disk on, which then no longer changes.
    pub fn fail_after(&self, count: u64) {
        self.0.lock().unwrap().changes_left = Some(count);
    }

    /// Resets the disk to its state after a power failure.
    pub fn power_off(&self, draw: &mut dyn FnMut() -> u64) {
        self.0.lock().unwrap().power_off(draw);
    }

    /// Returns the number of changes of bytes and names since the disk was created.
    pub fn changes(&self) -> u64 {
        self.0.lock().unwrap().changes
    }

    fn with<T>(&self, work: impl FnOnce(&mut Disk) -> Result<T, Errno>) -> Result<T, Errno> {
        let mut disk = self.0.lock().unwrap();
        if disk.changes_left == Some(0) { Err(Errno::EIO) } else { work(&mut disk) }
    }

    fn attributes(&self, number: u64) -> Result<FileAttr, Errno> {
        self.with(|disk| {
            let node = disk.node(number)?;
            Ok(FileAttr {
                ino: INodeNo(number),
                size: node.bytes.len() as u64,
                blocks: (node.bytes.len() as u64).div_ceil(512),
                atime: node.modified,
                mtime: node.modified,
                ctime: node.changed,
                crtime: SystemTime::UNIX_EPOCH,
                kind: if node.is_folder { FileType::Directory } else { FileType::RegularFile },
                perm: node.mode,
                nlink: 1,
                uid: 0,
                gid: 0,
                rdev: 0,
                blksize: PAGE_BYTES,
                flags: 0,
            })
        })
    }

    fn enter(&self, number: Result<u64, Errno>, reply: ReplyEntry) {
        match number.and_then(|number| self.attributes(number)) {
            Ok(attributes) => reply.entry(&NO_CACHE, &attributes, Generation(0)),
            Err(errno) => reply.error(errno),
        }
    }
}

/// Sequence of random numbers of a seed.
pub fn draws(seed: u64) -> impl FnMut() -> u64 {
    let stream = Stream::new(seed, 0);
    let mut place = 0;
    move || {
        place += 1;
        stream.bits(place)
    }
}

fn finish(done: Result<(), Errno>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(errno),
    }
}

impl Filesystem for ForgetfulDisk {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.enter(self.with(|disk| disk.look_up(parent.0, name)), reply);
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(number.0) {
            Ok(attributes) => reply.attr(&NO_CACHE, &attributes),
            Err(errno) => reply.error(errno),
        }
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
        _handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let modified = modified.map(|time| match time {
            TimeOrNow::SpecificTime(time) => time,
            TimeOrNow::Now => SystemTime::now(),
        });
        let set = self.with(|disk| disk.set(number.0, mode, size_bytes, modified));
        match set.and_then(|()| self.attributes(number.0)) {
            Ok(attributes) => reply.attr(&NO_CACHE, &attributes),
            Err(errno) => reply.error(errno),
        }
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
        let made = self.with(|disk| disk.make(parent.0, name, (mode & !umask) as u16, true));
        self.enter(made, reply);
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let made = self.with(|disk| disk.make(parent.0, name, (mode & !umask) as u16, false));
        match made.and_then(|number| self.attributes(number)) {
            Ok(attributes) => {
                let flags = FopenFlags::empty();
                reply.created(&NO_CACHE, &attributes, Generation(0), FileHandle(0), flags);
            }
            Err(errno) => reply.error(errno),
        }
    }

    fn link(&self, _: &Request, number: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.enter(self.with(|disk| disk.link(number.0, parent.0, name)), reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        finish(self.with(|disk| disk.unlink(parent.0, name, false)), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        finish(self.with(|disk| disk.unlink(parent.0, name, true)), reply);
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
        let (from, to) = ((parent.0, name), (to_parent.0, to_name));
        finish(self.with(|disk| disk.rename(from, to, flags)), reply);
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = self.with(|disk| {
            let bytes = &disk.node(number.0)?.bytes;
            let start = bytes.len().min(offset as usize);
            Ok(bytes[start..bytes.len().min(start + size as usize)].to_vec())
        });
        match read {
            Ok(bytes) => reply.data(&bytes),
            Err(errno) => reply.error(errno),
        }
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.with(|disk| disk.write(number.0, offset as usize, data)) {
            Ok(()) => reply.written(data.len() as u32),
            Err(errno) => reply.error(errno),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        finish(self.with(|_| Ok(())), reply);
    }

    fn fsync(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        finish(self.with(|disk| disk.sync_bytes(number.0)), reply);
    }

    fn fsyncdir(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        finish(self.with(|disk| disk.sync_names(number.0)), reply);
    }

    fn readdir(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let listed = self.with(|disk| disk.list(number.0));
        let names = match listed {
            Ok(names) => names,
            Err(errno) => return reply.error(errno),
        };
        let dots = [".", ".."].map(|dot| (dot.into(), ROOT, true));
        for (place, (name, child, is_folder)) in dots.into_iter().chain(names).enumerate() {
            let kind = if is_folder { FileType::Directory } else { FileType::RegularFile };
            if place as u64 >= offset && reply.add(INodeNo(child), place as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        reply.statfs(1 << 20, 1 << 19, 1 << 19, 0, 0, PAGE_BYTES, 255, PAGE_BYTES);
    }
}
