//! Claims of names: a name is changed by a single thread at a time, so that no other change comes
//! between its check and its change.

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, PoisonError};

use cuesta_runtime::parallel::lock;

use crate::path::StorePath;

/// Names that are being changed.
#[derive(Debug, Default)]
pub struct NameClaims {
    names: Mutex<HashSet<StorePath>>,
    released: Condvar,
}

/// Exclusive use of a name, until this is dropped.
#[derive(Debug)]
pub struct NameClaim<'a> {
    claims: &'a NameClaims,
    path: StorePath,
}

impl NameClaims {
    /// Waits for exclusive use of a name.
    pub fn claim(&self, path: &StorePath) -> NameClaim<'_> {
        let mut names = lock(&self.names);
        while !names.insert(path.clone()) {
            names = self.released.wait(names).unwrap_or_else(PoisonError::into_inner);
        }
        NameClaim { claims: self, path: path.clone() }
    }
}

impl Drop for NameClaim<'_> {
    fn drop(&mut self) {
        lock(&self.claims.names).remove(&self.path);
        self.claims.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_name_is_claimed_by_a_single_thread_at_a_time() {
        let claims = NameClaims::default();
        let (inside, turns) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let path = "a/b".parse().unwrap();
                        let _claim = claims.claim(&path);
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        turns.fetch_add(1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(turns.into_inner(), 2000);
        let _other = (claims.claim(&"a".parse().unwrap()), claims.claim(&"b".parse().unwrap()));
    }
}
