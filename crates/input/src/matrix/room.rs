//! Memory limit of reading a matrix.

use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::budget::human;
use cuesta_core::{Error, Result};

use super::OPERATION;

/// Share of the file that has been read, more than 0 and at most 1.
pub type Progress = Box<dyn Fn() -> f64 + Send + Sync>;

/// Memory limit, from which memory is reserved before it is allocated.
pub struct Room<'a> {
    name: &'a str,
    limit_bytes: u64,
    used_bytes: AtomicU64,
    /// Bytes of the matrix itself, which grow with the file.
    matrix_bytes: AtomicU64,
    progress: Progress,
}

impl<'a> Room<'a> {
    /// A limit of `limit_bytes` for reading the file `name`, with the progress of reading.
    pub fn new(name: &'a str, limit_bytes: u64, progress: Progress) -> Self {
        let (used_bytes, matrix_bytes) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { name, limit_bytes, used_bytes, matrix_bytes, progress }
    }

    /// The name of the file for messages.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Reserves `size_bytes`.
    ///
    /// # Errors
    /// `Input` with the needed size, if they do not fit.
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

    /// Reserves `size_bytes` for the matrix itself.
    ///
    /// # Errors
    /// As [`Room::take`].
    pub fn take_for_matrix(&self, size_bytes: u64) -> Result<()> {
        self.matrix_bytes.fetch_add(size_bytes, Ordering::Relaxed);
        self.take(size_bytes)
    }

    /// Releases reserved bytes.
    pub fn release(&self, size_bytes: u64) {
        self.used_bytes.fetch_sub(size_bytes, Ordering::Relaxed);
    }
}
