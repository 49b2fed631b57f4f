//! Division of sorted rows into the chunks of the arrays, which a thread pool compresses.

use std::path::{Path, PathBuf};

use cuesta_core::fixed::Micro;
use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::ABSENT;
use super::codec::{CRC_BYTES, Packing};
use super::header::{COLUMNS, RowShape};
use super::limits::{CHUNK_PAIRS, MASK_JOB_BYTES, SLOTS_MAX};
use super::planes::{self, SCORE_WIDTH};
use super::pool::{Pool, RawChunks};
use super::rank::Walker;
use super::record::{Key, PackedRow};
use super::zone::Zone;

/// Working memory of a compressing thread.
const THREAD_BYTES: u64 = 2 << 20;

/// Completed part of a slot: its rows and its chunks that have rows, in ascending order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SlotDone {
    /// Rows.
    pub rows: u64,
    /// Number and zone of each chunk.
    pub zones: Vec<(u64, Zone)>,
}

/// The arrays under construction.
pub struct Assembler {
    shape: RowShape,
    has_masks: bool,
    folder: PathBuf,
    pool: Pool,
    slots: Vec<Slot>,
    slots_max: usize,
    /// The previous row, and its slot.
    last: Option<(Key, usize)>,
    /// The chunk that the buffers of all slots belong to.
    chunk: u64,
}

struct Slot {
    done: SlotDone,
    buffer: Option<ChunkBuffer>,
    /// Chunks of masks, each with room for its checksum.
    masks: Vec<u8>,
    /// Chunks of masks that were submitted.
    mask_chunks: u64,
}

impl Assembler {
    /// Memory that `slots` slots and `threads` threads need, in bytes.
    pub fn memory_bytes(shape: &RowShape, threads: usize, slots: u64) -> u64 {
        let chunk = ChunkBuffer::memory_bytes(shape).max(2 * MASK_JOB_BYTES);
        let threads = threads as u64;
        (threads + 1) * chunk + threads * THREAD_BYTES + slots * Self::slot_bytes(shape)
    }

    /// Memory of one slot, in bytes.
    pub fn slot_bytes(shape: &RowShape) -> u64 {
        ChunkBuffer::memory_bytes(shape) + MASK_JOB_BYTES
    }

    /// Starts the arrays in `folder`, on `threads` threads, with at most `slots_max` slots.
    pub fn new(shape: RowShape, folder: &Path, threads: usize, slots_max: u64) -> Self {
        Self {
            shape,
            has_masks: shape.mask_bytes() > 0,
            folder: folder.to_owned(),
            pool: Pool::new(threads, threads + 1),
            slots: Vec::new(),
            slots_max: slots_max.min(SLOTS_MAX as u64) as usize,
            last: None,
            chunk: 0,
        }
    }

    /// Adds the next row; rows come in ascending order of their keys.
    ///
    /// # Errors
    /// `Input` for a duplicate row or a pair with too many rows; `System`.
    pub fn push(&mut self, record: PackedRow<'_>) -> Result<()> {
        let key = record.key();
        let slot = match self.last {
            Some((last, _)) if last == key => return Err(duplicate_row(key)),
            Some((last, slot)) if last.0 == key.0 => slot + 1,
            _ => 0,
        };
        debug_assert!(self.last.is_none_or(|(last, _)| last < key), "rows must be sorted");
        self.last = Some((key, slot));
        self.enter(key.0 / CHUNK_PAIRS as u64, slot, key)?;
        let target = &mut self.slots[slot];
        let buffer = target.buffer.get_or_insert_with(|| ChunkBuffer::new(&self.shape));
        buffer.put((key.0 % CHUNK_PAIRS as u64) as usize, record, &self.shape);
        target.done.rows += 1;
        if self.has_masks { self.push_mask(slot, record.mask()) } else { Ok(()) }
    }

    /// Adds consecutive pairs from rank `first` on, one row each unless the score is [`ABSENT`];
    /// `counts` has the common samples of each pair. Returns the rows, and whether one is NaN.
    ///
    /// # Errors
    /// `System`.
    pub fn push_band(
        &mut self,
        first: u64,
        scores: &[Micro],
        counts: Option<&[u32]>,
    ) -> Result<(u64, bool)> {
        let (mut done, mut rows, mut nan) = (0, 0, false);
        while done < scores.len() {
            let rank = first + done as u64;
            let place = (rank % CHUNK_PAIRS as u64) as usize;
            let end = scores.len().min(done + CHUNK_PAIRS - place);
            self.enter(rank / CHUNK_PAIRS as u64, 0, (rank, 1))?;
            let buffer = self.slots[0].buffer.get_or_insert_with(|| ChunkBuffer::new(&self.shape));
            let counts = counts.map(|counts| &counts[done..end]);
            let (more, is_nan) =
                buffer.put_band(place, &scores[done..end], counts, self.shape.samples);
            self.slots[0].done.rows += u64::from(more);
            rows += u64::from(more);
            nan |= is_nan;
            done = end;
        }
        Ok((rows, nan))
    }

    /// Completes the files and returns what each slot holds; there is at least one slot.
    ///
    /// # Errors
    /// `System`.
    pub fn finish(mut self) -> Result<Vec<SlotDone>> {
        if self.slots.is_empty() {
            self.add_slot((0, 1))?;
        }
        self.submit_chunk()?;
        for slot in 0..self.slots.len() {
            if !self.slots[slot].masks.is_empty() {
                self.submit_masks(slot)?;
            }
        }
        self.pool.finish()?;
        Ok(self.slots.into_iter().map(|slot| slot.done).collect())
    }

    /// Switches the buffers to `chunk` if needed, and adds slot number `slot` if missing.
    fn enter(&mut self, chunk: u64, slot: usize, key: Key) -> Result<()> {
        if chunk != self.chunk {
            self.submit_chunk()?;
            self.chunk = chunk;
        }
        if slot == self.slots.len() { self.add_slot(key) } else { Ok(()) }
    }

    fn add_slot(&mut self, key: Key) -> Result<()> {
        let slot = self.slots.len();
        if slot >= self.slots_max {
            let (gene1, gene2) = Walker::default().genes_of(key.0);
            let text = format!("the pair {gene1} {gene2} has more than {slot} clusters");
            let remedy = if slot >= SLOTS_MAX { "the limit" } else { "raise --memory" };
            return Err(Error::input("output.pairs", format!("{text}; {remedy}")));
        }
        for array in 0..self.shape.arrays() {
            self.pool.add_array(self.shape.shards(&self.folder, slot, array));
        }
        let done = SlotDone { rows: 0, zones: Vec::new() };
        self.slots.push(Slot { done, buffer: None, masks: Vec::new(), mask_chunks: 0 });
        Ok(())
    }

    fn submit_chunk(&mut self) -> Result<()> {
        let (arrays, scores) = (self.shape.arrays(), self.shape.scores);
        // Beside masks the size of scores does not matter, the speed of a scan does.
        let dense = match self.shape.mask_bytes() {
            0 => Packing::Zstd,
            _ => Packing::ZstdIfHalf,
        };
        for (number, slot) in self.slots.iter_mut().enumerate() {
            let Some(buffer) = slot.buffer.take().filter(|buffer| buffer.zone.rows > 0) else {
                continue;
            };
            let columns = buffer.columns.into_iter();
            let raws = buffer.scores.into_iter().chain(columns).enumerate();
            let job = raws
                .filter(|(_, raw)| !raw.is_empty())
                .map(|(array, raw)| RawChunks {
                    array: number * arrays + array,
                    first: self.chunk,
                    chunk_bytes: raw.len(),
                    raw,
                    packing: Some(if array < scores { dense } else { Packing::Zstd }),
                })
                .collect();
            slot.done.zones.push((self.chunk, buffer.zone));
            self.pool.submit(job)?;
        }
        Ok(())
    }

    fn push_mask(&mut self, slot: usize, mask: &[u8]) -> Result<()> {
        let target = &mut self.slots[slot];
        if target.masks.capacity() == 0 {
            target.masks.reserve_exact(self.shape.mask_job_bytes());
        }
        target.masks.extend_from_slice(mask);
        if target.done.rows.is_multiple_of(self.shape.mask_chunk_rows()) {
            target.masks.extend_from_slice(&[0; CRC_BYTES]);
        }
        if target.done.rows.is_multiple_of(self.shape.mask_job_rows()) {
            self.submit_masks(slot)?;
        }
        Ok(())
    }

    fn submit_masks(&mut self, slot: usize) -> Result<()> {
        let chunk_bytes = self.shape.mask_chunk_rows() as usize * self.shape.mask_bytes();
        let target = &mut self.slots[slot];
        let mut raw = std::mem::take(&mut target.masks);
        raw.resize(raw.len().next_multiple_of(chunk_bytes + CRC_BYTES), 0);
        let first = target.mask_chunks;
        target.mask_chunks += (raw.len() / (chunk_bytes + CRC_BYTES)) as u64;
        let array = (slot + 1) * self.shape.arrays() - 1;
        self.pool.submit(vec![RawChunks { array, first, raw, chunk_bytes, packing: None }])
    }
}

fn duplicate_row(key: Key) -> Error {
    let (gene1, gene2) = Walker::default().genes_of(key.0);
    let text = format!(
        "cluster {} of the pair {gene1} {gene2} is given twice; remove one of the two rows",
        key.1
    );
    Error::input("output.pairs", text)
}

/// A chunk of a slot, as byte planes.
struct ChunkBuffer {
    scores: Vec<Vec<u8>>,
    /// Empty while all values are the fill value.
    columns: [Vec<u8>; COLUMNS.len()],
    fill: [u32; COLUMNS.len()],
    zone: Zone,
}

impl ChunkBuffer {
    fn new(shape: &RowShape) -> Self {
        let absent = planes::filled(CHUNK_PAIRS, SCORE_WIDTH, ABSENT as u32);
        Self {
            scores: vec![absent; shape.scores],
            columns: Default::default(),
            fill: shape.fill(),
            zone: Zone::empty(shape.scores),
        }
    }

    fn memory_bytes(shape: &RowShape) -> u64 {
        let pair = shape.scores * SCORE_WIDTH + COLUMNS.len() * shape.width();
        (CHUNK_PAIRS * pair) as u64
    }

    fn put(&mut self, place: usize, record: PackedRow<'_>, shape: &RowShape) {
        self.zone.rows += 1;
        for (method, target) in self.scores.iter_mut().enumerate() {
            let score = record.score(method);
            planes::put(target, CHUNK_PAIRS, place, score as u32);
            self.zone.ranges[method].add(score);
        }
        let width = shape.width();
        for number in 0..COLUMNS.len() {
            let (value, fill) = (record.column(number), self.fill[number]);
            if value != fill || self.zone.columns & (1 << number) != 0 {
                self.put_column(number, place, value, (fill, width));
            }
        }
    }

    fn put_column(&mut self, number: usize, place: usize, value: u32, fill: (u32, usize)) {
        let (fill, width) = fill;
        let target = &mut self.columns[number];
        if target.is_empty() {
            *target = planes::filled(CHUNK_PAIRS, width, fill);
            self.zone.columns |= 1 << number;
        }
        planes::put(target, CHUNK_PAIRS, place, value);
    }

    fn put_band(
        &mut self,
        place: usize,
        scores: &[Micro],
        counts: Option<&[u32]>,
        samples: u32,
    ) -> (u32, bool) {
        let (rows, nan) = self.zone.ranges[0].add_all(scores);
        if rows == 0 {
            return (0, false);
        }
        self.zone.rows += rows;
        planes::put_scores(&mut self.scores[0], CHUNK_PAIRS, place, scores);
        if let Some(counts) = counts {
            self.put_counts(place, scores, counts, samples);
        }
        (rows, nan)
    }

    /// Sets the samples and the missing samples of many pairs, unless all have all samples.
    fn put_counts(&mut self, place: usize, scores: &[Micro], counts: &[u32], samples: u32) {
        let common = |(&score, &count)| if score == ABSENT { samples } else { count };
        let pairs = || scores.iter().zip(counts);
        if pairs().map(common).fold(true, |all, count| all & (count == samples)) {
            return;
        }
        let width = if samples <= u32::from(u16::MAX) { 2 } else { 4 };
        for (number, fill) in [(2, samples), (3, 0)] {
            let target = &mut self.columns[number];
            if target.is_empty() {
                *target = planes::filled(CHUNK_PAIRS, width, fill);
                self.zone.columns |= 1 << number;
            }
            for (byte, plane) in target.chunks_exact_mut(CHUNK_PAIRS).enumerate() {
                let values = pairs().map(common);
                for (value, out) in values.zip(&mut plane[place..place + scores.len()]) {
                    let value = if number == 2 { value } else { samples.saturating_sub(value) };
                    *out = (value >> (8 * byte)) as u8;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair_matrix::header::MaskKind;
    use crate::pair_matrix::record::{RecordLayout, RowBatch};
    use crate::row::Row;

    const SHAPE: RowShape = RowShape { scores: 1, samples: 9, masks: MaskKind::None };

    fn push_all(rows: &[(u32, u32, u32)]) -> Result<Vec<SlotDone>> {
        let folder = tempfile::tempdir().unwrap();
        let mut assembler = Assembler::new(SHAPE, folder.path(), 1, 3);
        for &(gene1, gene2, cluster) in rows {
            let mut batch = RowBatch::new(SHAPE, 1000);
            let row = Row {
                gene1,
                gene2,
                cluster,
                num_clusters: 1,
                cluster_samples: 9,
                missing: 0,
                outliers: 0,
                pair_outliers: 0,
                threshold: 0,
                scores: &[500_000 * (3 - cluster as i32 * 2)],
                mask: b"",
            };
            batch.push(&row).unwrap();
            assembler.push(PackedRow::new(batch.bytes(), RecordLayout::of(&SHAPE)))?;
        }
        assembler.finish()
    }

    #[test]
    fn further_clusters_of_a_pair_go_to_further_slots() {
        let slots = push_all(&[(2, 1, 1), (3, 1, 1), (3, 1, 2), (900, 1, 2)]).unwrap();
        assert_eq!(slots.iter().map(|slot| slot.rows).collect::<Vec<_>>(), [3, 1]);
        let zones = &slots[0].zones;
        assert_eq!(zones.iter().map(|zone| zone.0).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(zones[0].1.rows, 2);
        assert_eq!((zones[0].1.columns, zones[1].1.columns), (0, 1));
        assert_eq!(zones[1].1.ranges[0].max, -500_000);
    }

    #[test]
    fn a_duplicate_row_and_too_many_clusters_are_refused() {
        let error = push_all(&[(3, 1, 1), (3, 1, 1)]).unwrap_err();
        assert!(error.message().contains("pair 3 1 is given twice"), "{}", error.message());
        let error = push_all(&[(3, 1, 1), (3, 1, 2), (3, 1, 3), (3, 1, 4)]).unwrap_err();
        assert!(error.message().contains("more than 3 clusters"), "{}", error.message());
    }
}
