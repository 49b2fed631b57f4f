//! Rows in memory that wait to be encoded or sorted.

use std::collections::VecDeque;

use cuesta_core::Result;

use super::record::{Key, PackedRow, RecordLayout};
use super::runs::SortedRows;

/// Packed rows in any order. While they come in order they stay in the batches they came in.
pub struct Window {
    layout: RecordLayout,
    /// Never empty batches.
    batches: VecDeque<Vec<u8>>,
    size_bytes: u64,
    /// All rows came in ascending order of their keys.
    in_order: bool,
    /// The smallest key, and that of the last row.
    smallest: Option<Key>,
    last: Option<Key>,
    /// Memory of batches that left.
    spare: Vec<Vec<u8>>,
}

/// Place of a row in the window behind its key.
pub type Place = (u64, u32, u32);

impl Window {
    /// An empty window.
    pub fn new(layout: RecordLayout) -> Self {
        Self {
            layout,
            batches: VecDeque::new(),
            size_bytes: 0,
            in_order: true,
            smallest: None,
            last: None,
            spare: Vec::new(),
        }
    }

    /// Bytes of the rows.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Bytes of memory for each byte of rows: the rows, their keys, and half the rows once more
    /// while the lower half leaves. Rounded up.
    pub const MEMORY_FACTOR: u64 = 2;

    /// Takes the packed rows of a batch and leaves it empty.
    pub fn take(&mut self, batch: &mut Vec<u8>) {
        if batch.is_empty() {
            return;
        }
        for bytes in batch.chunks_exact(self.layout.record_bytes()) {
            let key = PackedRow::new(bytes, self.layout).key();
            self.in_order &= self.last < Some(key);
            self.last = Some(key);
            self.smallest = Some(self.smallest.map_or(key, |smallest| smallest.min(key)));
        }
        self.size_bytes += batch.len() as u64;
        let spare = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(batch.len()));
        self.batches.push_back(std::mem::replace(batch, spare));
    }

    /// Whether all rows came in ascending order of their keys.
    pub fn is_in_order(&self) -> bool {
        self.in_order
    }

    /// The smallest key.
    pub fn smallest(&self) -> Option<Key> {
        self.smallest
    }

    /// Gives the rows of the oldest batches one by one until at most `left_bytes` are left; returns
    /// the key of the last row given. For rows in order.
    ///
    /// # Errors
    /// What `give` returns.
    pub fn give_oldest(
        &mut self,
        left_bytes: u64,
        mut give: impl FnMut(PackedRow<'_>) -> Result<()>,
    ) -> Result<Option<Key>> {
        let mut last = None;
        while self.size_bytes > left_bytes {
            let Some(mut batch) = self.batches.pop_front() else { break };
            self.size_bytes -= batch.len() as u64;
            for bytes in batch.chunks_exact(self.layout.record_bytes()) {
                let record = PackedRow::new(bytes, self.layout);
                last = Some(record.key());
                give(record)?;
            }
            batch.clear();
            self.spare.push(batch);
        }
        let first = self.batches.front().map(|bytes| PackedRow::new(bytes, self.layout).key());
        self.smallest = first;
        self.last = self.last.filter(|_| first.is_some());
        Ok(last)
    }

    /// The row at a place that [`Window::order`] gave.
    pub fn record(&self, place: u32) -> PackedRow<'_> {
        let size = self.layout.record_bytes();
        let start = place as usize * size;
        PackedRow::new(&self.batches[0][start..start + size], self.layout)
    }

    /// The places of the rows in ascending order of their keys.
    pub fn order(&mut self) -> Vec<Place> {
        self.join();
        let rows = self.batches.front().map_or(&[][..], Vec::as_slice);
        let key = |(place, bytes)| {
            let (rank, cluster) = PackedRow::new(bytes, self.layout).key();
            (rank, cluster, place as u32)
        };
        let records = rows.chunks_exact(self.layout.record_bytes());
        let mut order: Vec<Place> = records.enumerate().map(key).collect();
        order.sort_unstable();
        order
    }

    /// Keeps only the rows at these places, in this order, which must be ascending.
    pub fn keep(&mut self, places: &[Place]) {
        let size = self.layout.record_bytes();
        let mut kept = Vec::with_capacity(places.len() * size);
        for &(_, _, place) in places {
            kept.extend_from_slice(self.record(place).bytes());
        }
        self.batches.clear();
        self.size_bytes = kept.len() as u64;
        self.in_order = true;
        self.smallest = places.first().map(key_of);
        self.last = places.last().map(key_of);
        if !kept.is_empty() {
            self.batches.push_back(kept);
        }
    }

    /// Gives the packed rows at these places one by one.
    ///
    /// # Errors
    /// What `give` returns.
    pub fn give(&self, places: &[Place], mut give: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        places.iter().try_for_each(|&(_, _, place)| give(self.record(place).bytes()))
    }

    /// The rows as a source for a merge.
    pub fn sorted(&mut self) -> SortedWindow<'_> {
        let order = self.order();
        SortedWindow { window: self, order, next: 0 }
    }

    /// Joins all batches to one.
    fn join(&mut self) {
        self.spare.clear();
        if self.batches.len() < 2 {
            return;
        }
        let mut all = Vec::with_capacity(self.size_bytes as usize);
        for batch in self.batches.drain(..) {
            all.extend_from_slice(&batch);
        }
        self.batches.push_back(all);
    }
}

/// Key at a place in sorted order.
pub fn key_of(place: &Place) -> Key {
    (place.0, place.1)
}

/// The rows of a window in order.
pub struct SortedWindow<'a> {
    window: &'a Window,
    order: Vec<Place>,
    next: usize,
}

impl SortedRows for SortedWindow<'_> {
    fn current(&self) -> Option<PackedRow<'_>> {
        self.order.get(self.next).map(|place| self.window.record(place.2))
    }

    fn advance(&mut self) -> Result<()> {
        self.next += 1;
        Ok(())
    }
}
