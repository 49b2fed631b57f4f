//! The memory that reading a matrix may take.

use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::budget::human;
use cuesta_core::{Error, Result};

use super::OPERATION;

/// The share of the file that has been read, more than 0 and at most 1.
pub type Progress = Box<dyn Fn() -> f64 + Send + Sync>;

/// Memory that is taken before it is allocated.
pub struct Room<'a> {
    name: &'a str,
    limit_bytes: u64,
    used_bytes: AtomicU64,
    /// Bytes of the matrix itself, which grow with the file.
    matrix_bytes: AtomicU64,
    progress: Progress,
}

impl<'a> Room<'a> {
    /// Room of `limit_bytes` for the file `name`, of which a share has been read.
    pub fn new(name: &'a str, limit_bytes: u64, progress: Progress) -> Self {
        let (used_bytes, matrix_bytes) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { name, limit_bytes, used_bytes, matrix_bytes, progress }
    }

    /// The name of the file for messages.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Takes so many bytes.
    ///
    /// # Errors
    /// `Input` with the size that is needed, where they do not fit.
    pub fn take(&self, size_bytes: u64) -> Result<()> {
        let used = self.used_bytes.fetch_add(size_bytes, Ordering::Relaxed);
        let needed = used.saturating_add(size_bytes);
        if needed <= self.limit_bytes {
            return Ok(());
        }
        self.used_bytes.fetch_sub(size_bytes, Ordering::Relaxed);
        let matrix = self.matrix_bytes.load(Ordering::Relaxed) as f64;
        let rest = matrix / (self.progress)().clamp(1e-9, 1.0) - matrix;
        let (estimate, limit) = (human(needed + rest as u64), human(self.limit_bytes));
        let text = format!(
            "{} needs about {estimate} while it is read, the limit is {limit}; raise --memory",
            self.name,
        );
        Err(Error::input(OPERATION, text))
    }

    /// Takes so many bytes for the matrix itself.
    ///
    /// # Errors
    /// As [`Room::take`].
    pub fn take_for_matrix(&self, size_bytes: u64) -> Result<()> {
        self.matrix_bytes.fetch_add(size_bytes, Ordering::Relaxed);
        self.take(size_bytes)
    }

    /// Returns bytes that were taken.
    pub fn release(&self, size_bytes: u64) {
        self.used_bytes.fetch_sub(size_bytes, Ordering::Relaxed);
    }
}
