//! An under level that reports each operation to an observer before it is performed, for tracing
//! and throttling.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::layout::Layout;
use super::{Facts, Under, UnderFile, UnderVersion, UnderWriter};
use crate::path::StorePath;

/// Request to an under level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnderRequest {
    /// The name of the operation, such as `read`.
    pub operation: &'static str,
    /// The file or folder.
    pub path: StorePath,
    /// Offset of the bytes read or written, else 0.
    pub offset: u64,
    /// Number of bytes read or written, else 0.
    pub count: u64,
}

/// Observer of operations.
pub trait Watch: Send + Sync {
    /// Called before an operation is performed.
    fn before(&self, request: UnderRequest);
}

/// An under level with an observer.
pub struct WatchedUnder<U, W> {
    inner: U,
    watch: Arc<W>,
}

impl<U: Under, W: Watch> WatchedUnder<U, W> {
    /// Wraps `inner` with the observer `watch`.
    pub fn new(inner: U, watch: Arc<W>) -> Self {
        Self { inner, watch }
    }

    fn notify(&self, operation: &'static str, path: &StorePath) {
        notify(&*self.watch, operation, path, (0, 0));
    }
}

fn notify(watch: &impl Watch, operation: &'static str, path: &StorePath, place: (u64, u64)) {
    let (offset, count) = place;
    watch.before(UnderRequest { operation, path: path.clone(), offset, count });
}

impl<U: Under, W: Watch + 'static> Under for WatchedUnder<U, W> {
    fn open(&self, path: &StorePath) -> io::Result<Box<dyn UnderFile>> {
        self.notify("open", path);
        let inner = self.inner.open(path)?;
        Ok(Box::new(WatchedFile { inner, path: path.clone(), watch: Arc::clone(&self.watch) }))
    }

    fn facts(&self, path: &StorePath) -> io::Result<Facts> {
        self.notify("facts", path);
        self.inner.facts(path)
    }

    fn layout(&self, path: &StorePath) -> io::Result<Layout> {
        self.inner.layout(path)
    }

    fn list(&self, folder: &StorePath) -> io::Result<Vec<String>> {
        self.notify("list", folder);
        self.inner.list(folder)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.inner.free_bytes()
    }

    fn create(&self, path: &StorePath, hidden: &str) -> io::Result<Box<dyn UnderWriter>> {
        self.notify("create", path);
        let inner = self.inner.create(path, hidden)?;
        Ok(Box::new(WatchedWriter { inner, path: path.clone(), watch: Arc::clone(&self.watch) }))
    }

    fn sync_names(&self, path: &StorePath) -> io::Result<()> {
        self.notify("sync_names", path);
        self.inner.sync_names(path)
    }

    fn make_folder(&self, folder: &StorePath) -> io::Result<()> {
        self.notify("make_folder", folder);
        self.inner.make_folder(folder)
    }

    fn make_folder_as(&self, folder: &StorePath, permissions: u32) -> io::Result<()> {
        self.notify("make_folder", folder);
        self.inner.make_folder_as(folder, permissions)
    }

    fn permit(&self, path: &StorePath, permissions: u32) -> io::Result<()> {
        self.notify("permit", path);
        self.inner.permit(path, permissions)
    }

    fn remove(&self, path: &StorePath) -> io::Result<()> {
        self.notify("remove", path);
        self.inner.remove(path)
    }

    fn rename(&self, from: &StorePath, to: &StorePath) -> io::Result<()> {
        self.notify("rename", from);
        self.inner.rename(from, to)
    }

    fn rename_new(&self, from: &StorePath, to: &StorePath) -> io::Result<()> {
        self.notify("rename_new", to);
        self.inner.rename_new(from, to)
    }

    fn exchange(&self, first: &StorePath, second: &StorePath) -> io::Result<()> {
        self.notify("exchange", second);
        self.inner.exchange(first, second)
    }

    fn link_new(&self, file: &StorePath, to: &StorePath) -> io::Result<()> {
        self.notify("link_new", to);
        self.inner.link_new(file, to)
    }
}

struct WatchedFile<W> {
    inner: Box<dyn UnderFile>,
    path: StorePath,
    watch: Arc<W>,
}

impl<W: Watch> UnderFile for WatchedFile<W> {
    fn layout(&self) -> Layout {
        self.inner.layout()
    }

    fn version(&self) -> io::Result<UnderVersion> {
        notify(&*self.watch, "version", &self.path, (0, 0));
        self.inner.version()
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        notify(&*self.watch, "read", &self.path, (offset, buffer.len() as u64));
        self.inner.read_exact_at(buffer, offset)
    }
}

struct WatchedWriter<W> {
    inner: Box<dyn UnderWriter>,
    path: StorePath,
    watch: Arc<W>,
}

impl<W: Watch> UnderWriter for WatchedWriter<W> {
    fn place(&self) -> Option<PathBuf> {
        self.inner.place()
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        notify(&*self.watch, "write", &self.path, (offset, bytes.len() as u64));
        self.inner.write_all_at(bytes, offset)
    }

    fn size_bytes(&self) -> io::Result<u64> {
        self.inner.size_bytes()
    }

    fn truncate(&self, size_bytes: u64) -> io::Result<()> {
        notify(&*self.watch, "truncate", &self.path, (size_bytes, 0));
        self.inner.truncate(size_bytes)
    }

    fn permit(&self, permissions: u32, exact: bool) {
        self.inner.permit(permissions, exact);
    }

    fn sync(&self, modified_ns: Option<i64>) -> io::Result<UnderVersion> {
        notify(&*self.watch, "sync", &self.path, (0, 0));
        self.inner.sync(modified_ns)
    }
}
