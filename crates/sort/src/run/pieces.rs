//! Pieces of a slice, each taken by a single task.

use std::sync::Mutex;

use cuesta_runtime::parallel::lock;

/// Pieces of a slice; task `index` takes piece `index` once.
pub struct SlicePieces<'a, T>(Vec<Mutex<Option<&'a mut [T]>>>);

impl<'a, T> SlicePieces<'a, T> {
    /// Cuts `slice` into pieces of these sizes, whose sum is at most its length.
    pub fn new(mut slice: &'a mut [T], sizes: impl Iterator<Item = usize>) -> Self {
        let cut = |size| {
            let (piece, rest) = std::mem::take(&mut slice).split_at_mut(size);
            slice = rest;
            Mutex::new(Some(piece))
        };
        Self(sizes.map(cut).collect())
    }

    /// Takes the piece of a task; empty if it was taken before.
    pub fn take(&self, task: usize) -> &'a mut [T] {
        lock(&self.0[task]).take().unwrap_or_default()
    }
}
