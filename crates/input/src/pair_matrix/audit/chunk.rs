//! Check of all values of a chunk, of all slots.

use cuesta_core::fixed::Micro;
use cuesta_core::{Result, cpu};

use super::super::ABSENT;
use super::super::codec::{CRC_BYTES, checked};
use super::super::header::{COLUMNS, MaskKind};
use super::super::limits::CHUNK_PAIRS;
use super::super::mask;
use super::super::matches::{CLUSTER_SAMPLES, Io};
use super::super::planes::{self, SCORE_WIDTH};
use super::super::rank::Walker;
use super::super::reader::{PairMatrix, Slot};
use super::super::select::join;
use super::super::shard::ShardReader;
use super::super::zone::Zone;
use super::wrong;
use crate::limits::SCORES_MAX;
use crate::row::Row;

/// Properties of the matrix that follow from rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChunkFindings {
    /// Whether some score is NaN.
    pub has_nan: bool,
    /// Whether the counts of some row differ from those of its mask.
    pub counts_differ: bool,
}

impl ChunkFindings {
    /// The properties that hold in either.
    pub fn and(self, other: Self) -> Self {
        Self {
            has_nan: self.has_nan | other.has_nan,
            counts_differ: self.counts_differ | other.counts_differ,
        }
    }
}

/// Buffers of a thread.
pub struct Scratch {
    io: Io,
    slots: Vec<SlotChunk>,
    symbols: Vec<u8>,
}

/// A chunk of a slot.
struct SlotChunk {
    readers: Vec<ShardReader>,
    /// Scores by method; [`ABSENT`] for a pair without a row.
    scores: Vec<Vec<Micro>>,
    /// Columns; empty if all values are the fill value.
    columns: [Vec<u32>; COLUMNS.len()],
    masks: Masks,
    /// The next row, counted in the slot.
    row: u64,
    rows: u32,
}

/// The chunk of masks that is in memory.
#[derive(Default)]
struct Masks {
    chunk: Option<u64>,
    bytes: Vec<u8>,
}

impl Scratch {
    /// Empty buffers.
    ///
    /// # Errors
    /// When memory is short.
    pub fn new(matrix: &PairMatrix) -> Result<Self> {
        let shape = matrix.header().shape();
        let slot_chunk = |_: &Slot| SlotChunk {
            readers: (0..shape.arrays()).map(|_| ShardReader::default()).collect(),
            scores: vec![Vec::new(); shape.scores],
            columns: Default::default(),
            masks: Masks::default(),
            row: 0,
            rows: 0,
        };
        let slots = matrix.slots.iter().map(slot_chunk).collect();
        Ok(Self { io: Io::new()?, slots, symbols: Vec::new() })
    }

    /// Memory of the buffers, in bytes.
    pub fn size_bytes(matrix: &PairMatrix) -> u64 {
        let shape = matrix.header().shape();
        let pair = (shape.scores + COLUMNS.len()) * SCORE_WIDTH;
        // Besides the slots, there are the encoded and the decoded bytes of an array.
        (CHUNK_PAIRS * (pair * matrix.slots.len() + 2 * SCORE_WIDTH)) as u64
    }
}

impl PairMatrix {
    /// Checks chunk `index` and calls `visit` for each of its rows, in the order of rank and
    /// cluster.
    ///
    /// # Errors
    /// `Input` naming the fault; `System`; the error of `visit`.
    pub(super) fn audit_chunk(
        &self,
        index: usize,
        scratch: &mut Scratch,
        visit: &mut impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<ChunkFindings> {
        let mut findings = ChunkFindings::default();
        for number in 0..self.slots.len() {
            findings.has_nan |= self.read_slot_chunk(index, number, scratch)?;
        }
        let mut walker = Walker::default();
        let first = index as u64 * CHUNK_PAIRS as u64;
        for place in 0..self.pairs_in(index) {
            let (mut cluster, mut rows) = (0, 0);
            for number in 0..self.slots.len() {
                let slot_chunk = &mut scratch.slots[number];
                if slot_chunk.rows == 0 || slot_chunk.scores[0][place] == ABSENT {
                    continue;
                }
                let genes = walker.genes_of(first + place as u64);
                let mut columns = self.columns_at(slot_chunk, place);
                if rows != number || columns[0] <= cluster {
                    return Err(self.damage(index, "clusters are not in order"));
                }
                (cluster, rows) = (columns[0], rows + 1);
                findings.counts_differ |= self.read_mask(
                    number,
                    genes,
                    (slot_chunk, &mut scratch.symbols),
                    &mut columns,
                )?;
                slot_chunk.row += 1;
                let mut scores = [0; SCORES_MAX];
                for (score, all) in scores.iter_mut().zip(&slot_chunk.scores) {
                    *score = all[place];
                }
                let scores = &scores[..slot_chunk.scores.len()];
                visit(&row_of(genes, &columns, scores, &scratch.symbols))?;
            }
        }
        Ok(findings)
    }

    /// Reads and checks a slot of a chunk; returns whether a score is NaN.
    fn read_slot_chunk(&self, index: usize, number: usize, scratch: &mut Scratch) -> Result<bool> {
        let (from, zone) = (&self.slots[number], &self.slots[number].zones[index]);
        let Scratch { io, slots, .. } = scratch;
        let slot_chunk = &mut slots[number];
        (slot_chunk.rows, slot_chunk.row) = (zone.rows, from.row_starts[index]);
        if zone.rows == 0 {
            let empty = *zone == Zone::empty(self.header().scores);
            return if empty { Ok(false) } else { Err(self.damage(index, "it has no rows")) };
        }
        let mut zone_read = Zone::empty(self.header().scores);
        let mut has_nan = false;
        for method in 0..self.header().scores {
            let reader = &mut slot_chunk.readers[method];
            let size = CHUNK_PAIRS * SCORE_WIDTH;
            let raw = io.read(reader, &from.arrays[method], index as u64, size)?;
            join(raw, &mut slot_chunk.scores[method]);
            let (rows, nan) = zone_read.ranges[method].add_all(&slot_chunk.scores[method]);
            zone_read.rows = rows;
            has_nan |= nan;
            let [first, this] = [0, method].map(|method| &slot_chunk.scores[method]);
            let mut places = first.iter().zip(this);
            if !places.all(|(a, b)| (*a == ABSENT) == (*b == ABSENT)) {
                return Err(self.damage(index, "methods have scores of different pairs"));
            }
        }
        let beyond = &slot_chunk.scores[0][self.pairs_in(index)..];
        if beyond.iter().any(|&score| score != ABSENT) {
            return Err(self.damage(index, "it has scores beyond the last pair"));
        }
        for column in 0..COLUMNS.len() {
            if zone.columns & (1 << column) != 0 {
                self.read_column((index, number), column, slot_chunk, io)?;
                zone_read.columns |= 1 << column;
            } else {
                slot_chunk.columns[column].clear();
            }
        }
        match zone_read == *zone {
            true => Ok(has_nan),
            false => Err(self.damage(index, "its rows or ranges are not what side arrays say")),
        }
    }

    /// Reads a stored column: some row must differ from the fill value, but no pair
    /// without a row has.
    fn read_column(
        &self,
        (index, number): (usize, usize),
        column: usize,
        slot_chunk: &mut SlotChunk,
        io: &mut Io,
    ) -> Result<()> {
        let shape = self.header().shape();
        let array = shape.scores + column;
        let from = &self.slots[number].arrays[array];
        let size = CHUNK_PAIRS * shape.width();
        let raw = io.read(&mut slot_chunk.readers[array], from, index as u64, size)?;
        let values = &mut slot_chunk.columns[column];
        values.resize(CHUNK_PAIRS, 0);
        let (fill, scores) = (shape.fill()[column], &slot_chunk.scores[0]);
        let (stray, other) = cpu::fastest(
            #[inline(always)]
            || {
                planes::join_values(raw, values);
                values.iter().zip(scores).fold(
                    (false, false),
                    |(stray, other), (&value, &score)| {
                        let differs = value != fill;
                        (stray | (differs & (score == ABSENT)), other | differs)
                    },
                )
            },
        );
        match other && !stray {
            true => Ok(()),
            false => Err(self.damage(index, "a column has values where it should have none")),
        }
    }

    fn columns_at(&self, slot_chunk: &SlotChunk, place: usize) -> [u32; COLUMNS.len()] {
        let mut values = self.header().shape().fill();
        for (value, column) in values.iter_mut().zip(&slot_chunk.columns) {
            if let Some(&stored) = column.get(place) {
                *value = stored;
            }
        }
        values
    }

    /// Replaces the symbols by those of the next row of a slot; returns whether the counts in its
    /// columns differ.
    fn read_mask(
        &self,
        number: usize,
        (gene1, gene2): (u32, u32),
        (slot_chunk, symbols): (&mut SlotChunk, &mut Vec<u8>),
        columns: &mut [u32; COLUMNS.len()],
    ) -> Result<bool> {
        let samples = self.header().samples as usize;
        symbols.clear();
        match self.header().masks {
            MaskKind::None => Ok(false),
            MaskKind::Genes => {
                let bytes = mask::plane_bytes(samples);
                let bits = |gene: u32| &self.gene_missing[(gene as usize - 1) * bytes..][..bytes];
                mask::unpack_missing(bits(gene1), bits(gene2), samples, symbols);
                Ok(false)
            }
            MaskKind::Stored => {
                let planes = self.planes_of(number, slot_chunk)?;
                mask::unpack(planes, samples, symbols);
                Ok(mask::tally(planes) != columns[CLUSTER_SAMPLES..])
            }
        }
    }

    /// The packed mask of the next row of a slot.
    fn planes_of<'a>(&self, number: usize, slot_chunk: &'a mut SlotChunk) -> Result<&'a [u8]> {
        let shape = self.header().shape();
        let (chunk, inside) =
            (slot_chunk.row / shape.mask_chunk_rows(), slot_chunk.row % shape.mask_chunk_rows());
        let bytes = shape.mask_bytes();
        if slot_chunk.masks.chunk != Some(chunk) {
            slot_chunk.masks.chunk = None;
            let array = shape.arrays() - 1;
            let size = shape.mask_chunk_rows() as usize * bytes + CRC_BYTES;
            let reader = &mut slot_chunk.readers[array];
            let from = &self.slots[number].arrays[array];
            reader.read_fixed(from, chunk, size, &mut slot_chunk.masks.bytes)?;
            if checked(&slot_chunk.masks.bytes).is_none() {
                return Err(wrong(reader.path(), "a chunk has a wrong checksum"));
            }
            slot_chunk.masks.chunk = Some(chunk);
        }
        let planes = &slot_chunk.masks.bytes[inside as usize * bytes..][..bytes];
        match mask::is_possible(planes, shape.samples as usize) {
            true => Ok(planes),
            false => Err(wrong(self.path(), "a mask has bits that mean nothing")),
        }
    }

    fn damage(&self, index: usize, what: &str) -> cuesta_core::Error {
        wrong(self.path(), &format!("in chunk {index} {what}"))
    }
}

fn row_of<'a>(
    (gene1, gene2): (u32, u32),
    columns: &[u32; COLUMNS.len()],
    scores: &'a [Micro],
    mask: &'a [u8],
) -> Row<'a> {
    let &[cluster, num_clusters, cluster_samples, missing, outliers, pair_outliers, threshold] =
        columns;
    Row {
        gene1,
        gene2,
        cluster,
        num_clusters,
        cluster_samples,
        missing,
        outliers,
        pair_outliers,
        threshold,
        scores,
        mask,
    }
}
