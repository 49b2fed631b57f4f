//! Buffer of rows that wait to be encoded or sorted.

use std::collections::VecDeque;

use cuesta_core::Result;

use super::record::{Key, PackedRow, RecordLayout};
use super::runs::SortedRows;

/// Buffer of packed rows in any order. Rows that arrive in order remain in their batches.
pub struct Window {
    layout: RecordLayout,
    /// Batches, none of them empty.
    batches: VecDeque<Vec<u8>>,
    size_bytes: u64,
    /// Whether all rows arrived in ascending order of their keys.
    in_order: bool,
    /// The smallest key, and that of the last row.
    smallest: Option<Key>,
    last: Option<Key>,
    /// Emptied buffers of batches, for reuse.
    spare: Vec<Vec<u8>>,
}

/// Key of a row, followed by its position in the window.
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

    /// Bytes of memory per byte of rows: the rows, their keys, and a copy of half the rows while
    /// the lower half is removed. Rounded up.
    pub const MEMORY_FACTOR: u64 = 2;

    /// Moves the packed rows of a batch into the window; leaves the batch empty.
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

    /// Whether all rows arrived in ascending order of their keys.
    pub fn is_in_order(&self) -> bool {
        self.in_order
    }

    /// The smallest key.
    pub fn smallest(&self) -> Option<Key> {
        self.smallest
    }

    /// Removes the oldest batches until at most `remaining_bytes` remain, and passes their rows to
    /// `emit`; returns the key of the last emitted row. For rows in order.
    ///
    /// # Errors
    /// The error of `emit`.
    pub fn emit_oldest(
        &mut self,
        remaining_bytes: u64,
        mut emit: impl FnMut(PackedRow<'_>) -> Result<()>,
    ) -> Result<Option<Key>> {
        let mut last = None;
        while self.size_bytes > remaining_bytes {
            let Some(mut batch) = self.batches.pop_front() else { break };
            self.size_bytes -= batch.len() as u64;
            for bytes in batch.chunks_exact(self.layout.record_bytes()) {
                let record = PackedRow::new(bytes, self.layout);
                last = Some(record.key());
                emit(record)?;
            }
            batch.clear();
            self.spare.push(batch);
        }
        let first = self.batches.front().map(|bytes| PackedRow::new(bytes, self.layout).key());
        self.smallest = first;
        self.last = self.last.filter(|_| first.is_some());
        Ok(last)
    }

    /// The row at a position from [`Window::order`].
    pub fn record(&self, place: u32) -> PackedRow<'_> {
        let size = self.layout.record_bytes();
        let start = place as usize * size;
        PackedRow::new(&self.batches[0][start..start + size], self.layout)
    }

    /// The positions of the rows in ascending order of their keys.
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

    /// Retains only the rows at these positions, in this order, which must be ascending.
    pub fn keep(&mut self, places: &[Place]) {
        let size = self.layout.record_bytes();
        let mut retained = Vec::with_capacity(places.len() * size);
        for &(_, _, place) in places {
            retained.extend_from_slice(self.record(place).bytes());
        }
        self.batches.clear();
        self.size_bytes = retained.len() as u64;
        self.in_order = true;
        self.smallest = places.first().map(key_of);
        self.last = places.last().map(key_of);
        if !retained.is_empty() {
            self.batches.push_back(retained);
        }
    }

    /// Passes the packed rows at these positions to `emit`, one by one.
    ///
    /// # Errors
    /// The error of `emit`.
    pub fn emit(&self, places: &[Place], mut emit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        places.iter().try_for_each(|&(_, _, place)| emit(self.record(place).bytes()))
    }

    /// The rows as an input of a merge.
    pub fn sorted(&mut self) -> SortedWindow<'_> {
        let order = self.order();
        SortedWindow { window: self, order, next: 0 }
    }

    /// Joins all batches into one.
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

/// Key of an entry of [`Window::order`].
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
