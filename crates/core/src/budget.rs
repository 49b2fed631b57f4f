//! The memory budget: a hard limit, from which each large buffer is reserved before allocation.
//! A process has a single one, which comes with its request ([`crate::job::Request::budget`]).

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// Memory that may be used, in bytes. Shared by reference among workers.
#[derive(Debug)]
pub struct Budget {
    limit_bytes: u64,
    used_bytes: AtomicU64,
}

impl Budget {
    /// A budget of `limit_bytes`.
    pub fn new(limit_bytes: u64) -> Self {
        Self { limit_bytes, used_bytes: AtomicU64::new(0) }
    }

    /// The limit, in bytes.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Bytes that are not reserved.
    pub fn free_bytes(&self) -> u64 {
        self.limit_bytes.saturating_sub(self.used_bytes.load(Ordering::Relaxed))
    }

    /// Reserves `size_bytes` for `purpose`; dropping the lease releases them.
    ///
    /// # Errors
    /// `Input` naming the purpose, the need and the limit when it does not fit.
    pub fn take(&self, size_bytes: u64, purpose: &str) -> Result<Lease<'_>> {
        self.try_take(size_bytes).ok_or_else(|| refusal(size_bytes, self.limit_bytes, purpose))
    }

    /// Reserves `size_bytes` if they are free.
    pub fn try_take(&self, size_bytes: u64) -> Option<Lease<'_>> {
        let fits = |used: u64| used.checked_add(size_bytes).filter(|&sum| sum <= self.limit_bytes);
        self.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        Some(Lease { budget: self, size_bytes })
    }
}

/// Memory reserved from a [`Budget`].
#[derive(Debug)]
pub struct Lease<'a> {
    budget: &'a Budget,
    size_bytes: u64,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.budget.used_bytes.fetch_sub(self.size_bytes, Ordering::Relaxed);
    }
}

/// The error that `purpose` needs `size_bytes`, which do not fit in `limit_bytes`.
pub fn refusal(size_bytes: u64, limit_bytes: u64, purpose: &str) -> Error {
    let (size, limit) = (human(size_bytes), human(limit_bytes));
    let text = format!("{purpose} needs {size} more, the limit is {limit}; raise --memory");
    Error::input("memory", text)
}

/// A size with a binary unit, one decimal: `1.5 GiB`.
pub fn human(size_bytes: u64) -> String {
    let mut value = size_bytes as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{size_bytes} B") } else { format!("{value:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_lease_releases_its_memory() {
        let budget = Budget::new(100);
        let lease = budget.take(80, "test").unwrap();
        assert!(budget.take(21, "more").unwrap_err().message().contains("raise --memory"));
        drop(lease);
        assert_eq!((budget.free_bytes(), budget.limit_bytes()), (100, 100));
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!(human(512), "512 B");
        assert_eq!(human(1_610_612_736), "1.5 GiB");
    }
}
