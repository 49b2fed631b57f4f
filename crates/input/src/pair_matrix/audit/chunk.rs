//! One chunk of all slots, every value of it.

use cuesta_core::fixed::Micro;
use cuesta_core::{Result, cpu};

use super::super::ABSENT;
use super::super::codec::{CRC_BYTES, checked};
use super::super::found::{CLUSTER_SAMPLES, Io};
use super::super::header::{COLUMNS, MaskKind};
use super::super::limits::CHUNK_PAIRS;
use super::super::mask;
use super::super::planes::{self, SCORE_WIDTH};
use super::super::rank::Walker;
use super::super::reader::{PairMatrix, Slot};
use super::super::select::join;
use super::super::shard::ShardReader;
use super::super::zone::Zone;
use super::wrong;
use crate::limits::SCORES_MAX;
use crate::row::Row;

/// What the rows say about the whole matrix.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChunkFindings {
    /// Some score is NaN.
    pub has_nan: bool,
    /// The counts of some row are not those of its mask.
    pub counts_differ: bool,
}

impl ChunkFindings {
    /// What holds of either.
    pub fn and(self, other: Self) -> Self {
        Self {
            has_nan: self.has_nan | other.has_nan,
            counts_differ: self.counts_differ | other.counts_differ,
        }
    }
}

/// Buffers of one thread.
pub struct Scratch {
    io: Io,
    slots: Vec<Whole>,
    symbols: Vec<u8>,
}

/// One chunk of one slot.
struct Whole {
    readers: Vec<ShardReader>,
    /// By method; [`ABSENT`] where a pair has no row.
    scores: Vec<Vec<Micro>>,
    /// Empty where all values are the fill value.
    columns: [Vec<u32>; COLUMNS.len()],
    masks: Masks,
    /// The row that comes next, counted in the slot.
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
        let whole = |_: &Slot| Whole {
            readers: (0..shape.arrays()).map(|_| ShardReader::default()).collect(),
            scores: vec![Vec::new(); shape.scores],
            columns: Default::default(),
            masks: Masks::default(),
            row: 0,
            rows: 0,
        };
        let slots = matrix.slots.iter().map(whole).collect();
        Ok(Self { io: Io::new()?, slots, symbols: Vec::new() })
    }

    /// Memory of the buffers, in bytes.
    pub fn size_bytes(matrix: &PairMatrix) -> u64 {
        let shape = matrix.header().shape();
        let pair = (shape.scores + COLUMNS.len()) * SCORE_WIDTH;
        // Beside the slots there are the encoded and the decoded bytes of one array.
        (CHUNK_PAIRS * (pair * matrix.slots.len() + 2 * SCORE_WIDTH)) as u64
    }
}

impl PairMatrix {
    /// Checks chunk `index` and calls `visit` for each of its rows, in the order of rank and
    /// cluster.
    ///
    /// # Errors
    /// `Input` naming what is wrong; `System`; what `visit` returns.
    pub(super) fn audit_chunk(
        &self,
        index: usize,
        scratch: &mut Scratch,
        visit: &mut impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<ChunkFindings> {
        let mut facts = ChunkFindings::default();
        for number in 0..self.slots.len() {
            facts.has_nan |= self.read_whole(index, number, scratch)?;
        }
        let mut walker = Walker::default();
        let first = index as u64 * CHUNK_PAIRS as u64;
        for place in 0..self.pairs_in(index) {
            let (mut cluster, mut rows) = (0, 0);
            for number in 0..self.slots.len() {
                let whole = &mut scratch.slots[number];
                if whole.rows == 0 || whole.scores[0][place] == ABSENT {
                    continue;
                }
                let genes = walker.genes_of(first + place as u64);
                let mut columns = self.columns_at(whole, place);
                if rows != number || columns[0] <= cluster {
                    return Err(self.damage(index, "clusters are not in order"));
                }
                (cluster, rows) = (columns[0], rows + 1);
                facts.counts_differ |=
                    self.read_mask(number, genes, (whole, &mut scratch.symbols), &mut columns)?;
                whole.row += 1;
                let mut scores = [0; SCORES_MAX];
                for (score, all) in scores.iter_mut().zip(&whole.scores) {
                    *score = all[place];
                }
                let scores = &scores[..whole.scores.len()];
                visit(&row_of(genes, &columns, scores, &scratch.symbols))?;
            }
        }
        Ok(facts)
    }

    /// Reads and checks one slot of a chunk; whether a score is NaN.
    fn read_whole(&self, index: usize, number: usize, scratch: &mut Scratch) -> Result<bool> {
        let (from, zone) = (&self.slots[number], &self.slots[number].zones[index]);
        let Scratch { io, slots, .. } = scratch;
        let whole = &mut slots[number];
        (whole.rows, whole.row) = (zone.rows, from.row_starts[index]);
        if zone.rows == 0 {
            let empty = *zone == Zone::empty(self.header().scores);
            return if empty { Ok(false) } else { Err(self.damage(index, "it has no rows")) };
        }
        let mut found = Zone::empty(self.header().scores);
        let mut has_nan = false;
        for method in 0..self.header().scores {
            let reader = &mut whole.readers[method];
            let size = CHUNK_PAIRS * SCORE_WIDTH;
            let raw = io.read(reader, &from.arrays[method], index as u64, size)?;
            join(raw, &mut whole.scores[method]);
            let (rows, nan) = found.ranges[method].add_all(&whole.scores[method]);
            found.rows = rows;
            has_nan |= nan;
            let [first, this] = [0, method].map(|method| &whole.scores[method]);
            let mut places = first.iter().zip(this);
            if !places.all(|(a, b)| (*a == ABSENT) == (*b == ABSENT)) {
                return Err(self.damage(index, "methods have scores of different pairs"));
            }
        }
        let beyond = &whole.scores[0][self.pairs_in(index)..];
        if beyond.iter().any(|&score| score != ABSENT) {
            return Err(self.damage(index, "it has scores beyond the last pair"));
        }
        for column in 0..COLUMNS.len() {
            if zone.columns & (1 << column) != 0 {
                self.read_column((index, number), column, whole, io)?;
                found.columns |= 1 << column;
            } else {
                whole.columns[column].clear();
            }
        }
        match found == *zone {
            true => Ok(has_nan),
            false => Err(self.damage(index, "its rows or ranges are not what side arrays say")),
        }
    }

    /// Reads a column that is stored: some row has another value than the fill value, and no pair
    /// without a row has.
    fn read_column(
        &self,
        (index, number): (usize, usize),
        column: usize,
        whole: &mut Whole,
        io: &mut Io,
    ) -> Result<()> {
        let shape = self.header().shape();
        let array = shape.scores + column;
        let from = &self.slots[number].arrays[array];
        let size = CHUNK_PAIRS * shape.width();
        let raw = io.read(&mut whole.readers[array], from, index as u64, size)?;
        let values = &mut whole.columns[column];
        values.resize(CHUNK_PAIRS, 0);
        let (fill, scores) = (shape.fill()[column], &whole.scores[0]);
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

    fn columns_at(&self, whole: &Whole, place: usize) -> [u32; COLUMNS.len()] {
        let mut values = self.header().shape().fill();
        for (value, column) in values.iter_mut().zip(&whole.columns) {
            if let Some(&stored) = column.get(place) {
                *value = stored;
            }
        }
        values
    }

    /// Replaces the symbols by those of the next row of a slot; whether the counts in its columns
    /// are others.
    fn read_mask(
        &self,
        number: usize,
        (gene1, gene2): (u32, u32),
        (whole, symbols): (&mut Whole, &mut Vec<u8>),
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
                let planes = self.planes_of(number, whole)?;
                mask::unpack(planes, samples, symbols);
                Ok(mask::tally(planes) != columns[CLUSTER_SAMPLES..])
            }
        }
    }

    /// The packed mask of the next row of a slot.
    fn planes_of<'a>(&self, number: usize, whole: &'a mut Whole) -> Result<&'a [u8]> {
        let shape = self.header().shape();
        let (chunk, inside) =
            (whole.row / shape.mask_chunk_rows(), whole.row % shape.mask_chunk_rows());
        let bytes = shape.mask_bytes();
        if whole.masks.chunk != Some(chunk) {
            whole.masks.chunk = None;
            let array = shape.arrays() - 1;
            let size = shape.mask_chunk_rows() as usize * bytes + CRC_BYTES;
            let reader = &mut whole.readers[array];
            let from = &self.slots[number].arrays[array];
            reader.read_fixed(from, chunk, size, &mut whole.masks.bytes)?;
            if checked(&whole.masks.bytes).is_none() {
                return Err(wrong(reader.path(), "a chunk has a wrong checksum"));
            }
            whole.masks.chunk = Some(chunk);
        }
        let planes = &whole.masks.bytes[inside as usize * bytes..][..bytes];
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
