//! The rows of a slot of a chunk that pass the filter, and reading their values.

use cuesta_core::Result;
use cuesta_core::fixed::Micro;

use super::codec::{CRC_BYTES, Decoder, checked};
use super::header::{COLUMNS, RowShape};
use super::limits::CHUNK_PAIRS;
use super::planes::{self, SCORE_WIDTH};
use super::reader::{PairMatrix, Slot};
use super::shard::{ShardPath, ShardReader};
use super::{ABSENT, damaged};
use crate::filter::Filter;

/// Numbers of the columns that a filter checks.
pub const CLUSTER_SAMPLES: usize = 2;
const MISSING: usize = 3;

/// Reads and decodes inner chunks.
pub struct Io {
    decoder: Decoder,
    encoded: Vec<u8>,
    planes: Vec<u8>,
}

/// The rows of a slot that pass the filter, and their values.
#[derive(Default)]
pub struct SlotRows {
    /// A reader for each array of the slot.
    pub readers: Vec<ShardReader>,
    /// Positions in the chunk, ascending.
    pub hits: Vec<u32>,
    /// Numbers of the rows among all rows of the chunk; only when masks are requested.
    pub positions: Vec<u32>,
    /// For each method, the scores of the hits.
    pub scores: Vec<Vec<Micro>>,
    /// For each column, the values of the hits.
    pub columns: [Vec<u32>; COLUMNS.len()],
    /// The chunk of masks that is in memory.
    mask_chunk: Option<u64>,
    masks: Vec<u8>,
}

impl Io {
    /// Empty buffers.
    ///
    /// # Errors
    /// When memory is short.
    pub fn new() -> Result<Self> {
        Ok(Self { decoder: Decoder::new()?, encoded: Vec::new(), planes: Vec::new() })
    }

    /// The decoded bytes of an inner chunk, which are `size` bytes.
    ///
    /// # Errors
    /// `Input` when the chunk is missing or damaged; `System`.
    pub fn read(
        &mut self,
        reader: &mut ShardReader,
        place: &ShardPath,
        chunk: u64,
        size: usize,
    ) -> Result<&[u8]> {
        reader.read(place, chunk, &mut self.encoded)?;
        self.planes.resize(size, 0);
        match self.decoder.decode(&self.encoded, &mut self.planes) {
            Some(()) => Ok(&self.planes),
            None => Err(damaged(reader.path(), "a chunk has a wrong checksum")),
        }
    }
}

impl SlotRows {
    /// An empty result for rows of this shape.
    pub fn new(shape: &RowShape) -> Self {
        Self {
            readers: (0..shape.arrays()).map(|_| ShardReader::default()).collect(),
            scores: vec![Vec::new(); shape.scores],
            ..Self::default()
        }
    }

    /// Closes the files.
    pub fn close(&mut self) {
        self.readers.iter_mut().for_each(|reader| *reader = ShardReader::default());
    }

    /// Selects all pairs that have a row.
    pub fn hits_of_all(&mut self, scores: &[Micro]) {
        let present = |(place, &score): (u32, &Micro)| (score != ABSENT).then_some(place);
        self.hits.extend((0..).zip(scores).filter_map(present));
    }

    /// Removes the rows whose counts of samples do not pass.
    ///
    /// # Errors
    /// `Input` when the chunk is damaged; `System`.
    pub fn keep_samples(
        &mut self,
        matrix: &PairMatrix,
        chunk: (&Slot, usize),
        filter: &Filter,
        io: &mut Io,
    ) -> Result<()> {
        if filter.ignores_samples() || self.hits.is_empty() {
            return Ok(());
        }
        self.read_column(matrix, chunk, CLUSTER_SAMPLES, io)?;
        self.read_column(matrix, chunk, MISSING, io)?;
        let mut numbers = 0..;
        let (samples, missing) = (&self.columns[CLUSTER_SAMPLES], &self.columns[MISSING]);
        self.hits.retain(|_| {
            let number: usize = numbers.next().unwrap_or_default();
            filter.keeps_samples(samples[number], missing[number])
        });
        Ok(())
    }

    /// Sets the numbers of the hits among the rows of the chunk; none when the number of rows
    /// differs from that of its zone.
    pub fn count_positions(&mut self, scores: &[Micro], from: &Slot, index: usize) {
        self.positions.clear();
        let count = |part: &[Micro]| part.iter().map(|&s| u32::from(s != ABSENT)).sum::<u32>();
        let (mut rows, mut done) = (0, 0);
        for &hit in &self.hits {
            rows += count(&scores[done..hit as usize]);
            done = hit as usize;
            self.positions.push(rows);
        }
        if rows + count(&scores[done..]) != from.zones[index].rows {
            self.positions.clear();
        }
    }

    /// Reads the scores of the hits.
    ///
    /// # Errors
    /// `Input` when the chunk is damaged; `System`.
    pub fn read_score(
        &mut self,
        from: &Slot,
        index: usize,
        method: usize,
        io: &mut Io,
    ) -> Result<()> {
        let reader = &mut self.readers[method];
        let size = CHUNK_PAIRS * SCORE_WIDTH;
        let planes = io.read(reader, &from.arrays[method], index as u64, size)?;
        let value = |&hit: &u32| planes::get(planes, CHUNK_PAIRS, hit as usize) as Micro;
        self.scores[method].clear();
        self.scores[method].extend(self.hits.iter().map(value));
        *reader = ShardReader::default();
        Ok(())
    }

    /// Reads the values of the hits; `index` is the number of the chunk.
    ///
    /// # Errors
    /// `Input` when the chunk is damaged; `System`.
    pub fn read_column(
        &mut self,
        matrix: &PairMatrix,
        (from, index): (&Slot, usize),
        column: usize,
        io: &mut Io,
    ) -> Result<()> {
        let shape = matrix.header().shape();
        let values = &mut self.columns[column];
        values.clear();
        if from.zones[index].columns & (1 << column) == 0 {
            values.resize(self.hits.len(), shape.fill()[column]);
            return Ok(());
        }
        let array = shape.scores + column;
        let reader = &mut self.readers[array];
        let size = CHUNK_PAIRS * shape.width();
        let planes = io.read(reader, &from.arrays[array], index as u64, size)?;
        values.extend(self.hits.iter().map(|&hit| planes::get(planes, CHUNK_PAIRS, hit as usize)));
        // Closed at once, so that few files are open with any number of threads.
        *reader = ShardReader::default();
        Ok(())
    }

    /// The packed mask of hit number `number`.
    ///
    /// # Errors
    /// `Input` when the chunk is damaged; `System`.
    pub fn read_mask(
        &mut self,
        matrix: &PairMatrix,
        (from, index): (&Slot, usize),
        number: usize,
    ) -> Result<&[u8]> {
        let shape = matrix.header().shape();
        let row = from.row_starts[index] + u64::from(self.positions[number]);
        let (chunk, inside) = (row / shape.mask_chunk_rows(), row % shape.mask_chunk_rows());
        let bytes = shape.mask_bytes();
        if self.mask_chunk != Some(chunk) {
            self.mask_chunk = None;
            let array = shape.arrays() - 1;
            let size = shape.mask_chunk_rows() as usize * bytes + CRC_BYTES;
            let reader = &mut self.readers[array];
            reader.read_fixed(&from.arrays[array], chunk, size, &mut self.masks)?;
            if checked(&self.masks).is_none() {
                return Err(damaged(reader.path(), "a chunk has a wrong checksum"));
            }
            self.mask_chunk = Some(chunk);
        }
        Ok(&self.masks[inside as usize * bytes..][..bytes])
    }
}
