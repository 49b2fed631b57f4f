//! An under level with injected faults, for tests.

use std::io;
use std::path::PathBuf;

use super::{Facts, Under, UnderFile, UnderVersion, UnderWriter};
use crate::path::StorePath;
use crate::steps::Steps;

/// An under level that counts its operations, and fails when its counter says so.
pub struct FaultyUnder<U> {
    inner: U,
    steps: Steps,
}

impl<U: Under> FaultyUnder<U> {
    /// Wraps `inner`, which fails as `steps` define.
    pub fn new(inner: U, steps: Steps) -> Self {
        Self { inner, steps }
    }
}

impl<U: Under> Under for FaultyUnder<U> {
    fn open(&self, path: &StorePath) -> io::Result<Box<dyn UnderFile>> {
        self.steps.step()?;
        let inner = self.inner.open(path)?;
        Ok(Box::new(FaultyFile { inner, steps: self.steps.clone() }))
    }

    fn facts(&self, path: &StorePath) -> io::Result<Facts> {
        self.steps.step()?;
        self.inner.facts(path)
    }

    fn list(&self, folder: &StorePath) -> io::Result<Vec<String>> {
        self.steps.step()?;
        self.inner.list(folder)
    }

    fn create(&self, path: &StorePath, hidden: &str) -> io::Result<Box<dyn UnderWriter>> {
        self.steps.step()?;
        let inner = Some(self.inner.create(path, hidden)?);
        Ok(Box::new(FaultyWriter { inner, steps: self.steps.clone() }))
    }

    fn sync_names(&self, path: &StorePath) -> io::Result<()> {
        self.steps.step()?;
        self.inner.sync_names(path)
    }

    fn make_folder(&self, folder: &StorePath) -> io::Result<()> {
        self.steps.step()?;
        self.inner.make_folder(folder)
    }

    fn make_folder_as(&self, folder: &StorePath, permissions: u32) -> io::Result<()> {
        self.steps.step()?;
        self.inner.make_folder_as(folder, permissions)
    }

    fn permit(&self, path: &StorePath, permissions: u32) -> io::Result<()> {
        self.steps.step()?;
        self.inner.permit(path, permissions)
    }

    fn remove(&self, path: &StorePath) -> io::Result<()> {
        self.steps.step()?;
        self.inner.remove(path)
    }

    fn rename(&self, from: &StorePath, to: &StorePath) -> io::Result<()> {
        self.steps.step()?;
        self.inner.rename(from, to)
    }

    fn rename_new(&self, from: &StorePath, to: &StorePath) -> io::Result<()> {
        self.steps.step()?;
        self.inner.rename_new(from, to)
    }

    fn exchange(&self, first: &StorePath, second: &StorePath) -> io::Result<()> {
        self.steps.step()?;
        self.inner.exchange(first, second)
    }

    fn link_new(&self, file: &StorePath, to: &StorePath) -> io::Result<()> {
        self.steps.step()?;
        self.inner.link_new(file, to)
    }
}

struct FaultyFile {
    inner: Box<dyn UnderFile>,
    steps: Steps,
}

impl UnderFile for FaultyFile {
    fn version(&self) -> io::Result<UnderVersion> {
        self.steps.step()?;
        self.inner.version()
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.steps.step()?;
        self.inner.read_exact_at(buffer, offset)
    }
}

struct FaultyWriter {
    /// `Some` until it is dropped.
    inner: Option<Box<dyn UnderWriter>>,
    steps: Steps,
}

impl FaultyWriter {
    fn step(&self) -> io::Result<&dyn UnderWriter> {
        self.steps.step()?;
        self.inner.as_deref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl UnderWriter for FaultyWriter {
    fn place(&self) -> Option<PathBuf> {
        self.inner.as_ref().and_then(|inner| inner.place())
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.step()?.write_all_at(bytes, offset)
    }

    fn size_bytes(&self) -> io::Result<u64> {
        self.step()?.size_bytes()
    }

    fn truncate(&self, size_bytes: u64) -> io::Result<()> {
        self.step()?.truncate(size_bytes)
    }

    fn permit(&self, permissions: u32, exact: bool) {
        if let Some(inner) = &self.inner {
            inner.permit(permissions, exact);
        }
    }

    fn sync(&self, modified_ns: Option<i64>) -> io::Result<UnderVersion> {
        self.step()?.sync(modified_ns)
    }
}

impl Drop for FaultyWriter {
    fn drop(&mut self) {
        // A process that was killed does not clean up.
        if self.steps.is_dead() {
            std::mem::forget(self.inner.take());
        }
    }
}
