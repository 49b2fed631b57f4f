//! Rows of a block in the layout of the kernel: panels of `W` rows, term by term.

use std::ops::Range;

use super::MatrixRows;
use crate::kernel::triangle::StoredNumber;

/// Panels of the rows and terms of a block; rows past the last are zero.
#[derive(Default)]
pub(super) struct Panels<const W: usize> {
    /// Pieces of `W` numbers; the first is at a cache line.
    values: Vec<f64>,
    start: usize,
    depth: usize,
}

/// Numbers of a cache line.
const LINE: usize = 8;

impl<const W: usize> Panels<W> {
    /// Replaces the contents.
    pub fn fill(&mut self, source: &impl MatrixRows, rows: Range<usize>, depth: Range<usize>) {
        let terms = depth.len();
        let size = rows.len().next_multiple_of(W) * terms;
        self.depth = terms;
        self.values.resize(size + LINE, 0.0);
        let past_line = self.values.as_ptr().addr() / size_of::<f64>() % LINE;
        self.start = (LINE - past_line) % LINE;
        let values = &mut self.values[self.start..][..size];
        let padded = rows.len() / W * W * terms;
        values[padded..].fill(0.0);
        source.by_rows(rows.clone(), depth.clone(), |row, first, of_terms| {
            let row = row - rows.start;
            let panel = &mut values[row / W * W * terms..][..W * terms];
            let slots = panel.chunks_exact_mut(W).skip(first - depth.start);
            for (slot, value) in slots.zip(of_terms) {
                slot[row % W] = value.load();
            }
        });
        source.by_terms(rows.clone(), depth.clone(), |term, first, mut of_rows| {
            let (term, mut row) = (term - depth.start, first - rows.start);
            while !of_rows.is_empty() {
                let lane = row % W;
                let length = of_rows.len().min(W - lane);
                let place = (row / W * terms + term) * W + lane;
                for (slot, value) in values[place..place + length].iter_mut().zip(of_rows) {
                    *slot = value.load();
                }
                (of_rows, row) = (&of_rows[length..], row + length);
            }
        });
    }

    /// Returns the terms of a panel.
    pub fn panel(&self, number: usize) -> &[[f64; W]] {
        let values = &self.values[self.start..];
        values[number * W * self.depth..][..W * self.depth].as_chunks().0
    }
}
