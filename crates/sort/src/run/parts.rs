//! Pieces of one slice, each for one task.

use std::sync::Mutex;

use cuesta_runtime::parallel::lock;

/// Pieces of a slice; task `index` takes piece `index`, once.
pub struct SlicePieces<'a, T>(Vec<Mutex<Option<&'a mut [T]>>>);

impl<'a, T> SlicePieces<'a, T> {
    /// Cuts `slice` into pieces of these sizes, which add up to its length at most.
    pub fn new(mut slice: &'a mut [T], sizes: impl Iterator<Item = usize>) -> Self {
        let cut = |size| {
            let (piece, rest) = std::mem::take(&mut slice).split_at_mut(size);
            slice = rest;
            Mutex::new(Some(piece))
        };
        Self(sizes.map(cut).collect())
    }

    /// The piece of a task; empty if it was taken before.
    pub fn take(&self, task: usize) -> &'a mut [T] {
        lock(&self.0[task]).take().unwrap_or_default()
    }
}
