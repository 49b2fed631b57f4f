//! An under level that fails, for tests.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Facts, Under, UnderFile, UnderVersion};
use crate::path::StorePath;

/// Counts operations, and fails one of them.
#[derive(Clone, Debug, Default)]
pub struct FaultCounter {
    done: Arc<AtomicU64>,
    /// Operations from 1 on; 0 is none.
    failing: Arc<AtomicU64>,
}

impl FaultCounter {
    /// From now on, the `number`-th operation fails.
    pub fn fail(&self, number: u64) {
        self.failing.store(number, Ordering::SeqCst);
        self.done.store(0, Ordering::SeqCst);
    }

    /// Operations since [`fail`](Self::fail).
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::SeqCst)
    }

    fn step(&self) -> io::Result<()> {
        let number = self.done.fetch_add(1, Ordering::SeqCst) + 1;
        if number == self.failing.load(Ordering::SeqCst) {
            return Err(io::Error::other("a fault that a test made"));
        }
        Ok(())
    }
}

/// An under level whose operations are counted, and fail as its counter says.
pub struct FaultyUnder<U> {
    inner: U,
    counter: FaultCounter,
}

impl<U: Under> FaultyUnder<U> {
    /// `inner`, failing as `counter` says.
    pub fn new(inner: U, counter: FaultCounter) -> Self {
        Self { inner, counter }
    }
}

impl<U: Under> Under for FaultyUnder<U> {
    fn open(&self, path: &StorePath) -> io::Result<Box<dyn UnderFile>> {
        self.counter.step()?;
        let inner = self.inner.open(path)?;
        Ok(Box::new(FaultyFile { inner, counter: self.counter.clone() }))
    }

    fn facts(&self, path: &StorePath) -> io::Result<Facts> {
        self.counter.step()?;
        self.inner.facts(path)
    }

    fn list(&self, folder: &StorePath) -> io::Result<Vec<String>> {
        self.counter.step()?;
        self.inner.list(folder)
    }
}

struct FaultyFile {
    inner: Box<dyn UnderFile>,
    counter: FaultCounter,
}

impl UnderFile for FaultyFile {
    fn version(&self) -> io::Result<UnderVersion> {
        self.counter.step()?;
        self.inner.version()
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.counter.step()?;
        self.inner.read_exact_at(buffer, offset)
    }
}
