//! Rows in memory that wait to be sorted.

use cuesta_core::Result;

use super::record::{Key, Layout, Record};
use super::runs::Sorted;

/// Packed rows in any order.
pub struct Window {
    layout: Layout,
    bytes: Vec<u8>,
}

/// Place of a row in the window behind its key.
pub type Place = (u64, u32, u32);

impl Window {
    /// An empty window.
    pub fn new(layout: Layout) -> Self {
        Self { layout, bytes: Vec::new() }
    }

    /// Bytes of the rows.
    pub fn size_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Bytes of memory for each byte of rows: the rows, their keys, and half the rows once more
    /// while the lower half leaves. Rounded up.
    pub const MEMORY_FACTOR: u64 = 2;

    /// Adds packed rows.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The row at a place.
    pub fn record(&self, place: u32) -> Record<'_> {
        let size = self.layout.record_bytes();
        let start = place as usize * size;
        Record::new(&self.bytes[start..start + size], self.layout)
    }

    /// The places of the rows in ascending order of their keys.
    pub fn order(&self) -> Vec<Place> {
        let records = self.bytes.chunks_exact(self.layout.record_bytes());
        let key = |(place, bytes)| {
            let (rank, cluster) = Record::new(bytes, self.layout).key();
            (rank, cluster, place as u32)
        };
        let mut order: Vec<Place> = records.enumerate().map(key).collect();
        order.sort_unstable();
        order
    }

    /// Keeps only the rows at these places, in this order.
    pub fn keep(&mut self, places: &[Place]) {
        let size = self.layout.record_bytes();
        let mut kept = Vec::with_capacity(places.len() * size);
        for &(_, _, place) in places {
            let start = place as usize * size;
            kept.extend_from_slice(&self.bytes[start..start + size]);
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(&kept);
    }

    /// Gives the packed rows at these places one by one.
    ///
    /// # Errors
    /// What `give` returns.
    pub fn give(&self, places: &[Place], mut give: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let size = self.layout.record_bytes();
        for &(_, _, place) in places {
            let start = place as usize * size;
            give(&self.bytes[start..start + size])?;
        }
        Ok(())
    }

    /// The rows as a source for a merge.
    pub fn sorted(&self) -> SortedWindow<'_> {
        SortedWindow { window: self, order: self.order(), next: 0 }
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

impl Sorted for SortedWindow<'_> {
    fn current(&self) -> Option<Record<'_>> {
        self.order.get(self.next).map(|place| self.window.record(place.2))
    }

    fn advance(&mut self) -> Result<()> {
        self.next += 1;
        Ok(())
    }
}
