//! A pair matrix written by independent tasks. Each writes a piece: the chunks of some ranks, in
//! its own folder. Then tasks join the shards of the matrix from the pieces, a shard each; the
//! files equal those of [`super::Writer`], byte for byte.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cuesta_core::budget::{Budget, Lease, human};
use cuesta_core::fixed::Micro;
use cuesta_core::{Error, Result};
use cuesta_runtime::atomic_file::temporary_path;
use cuesta_runtime::removal::remove_tree;
use serde::{Deserialize, Serialize};

use super::assemble::{Assembler, SlotDone};
use super::codec::{CRC_BYTES, checked};
use super::damaged;
use super::header::{COLUMNS, RowShape};
use super::limits::{CHUNK_PAIRS, SHARD_CHUNKS};
use super::publish::Partial;
use super::rank::Walker;
use super::record::{BatchSummary, Key, PackedRow, RecordLayout, RowBatch};
use super::shard::{ShardReader, ShardWriter};
use super::writer::{WriteSummary, WriterOptions, check, store};
use crate::limits::GENES_MAX;

const PIECES: &str = "pieces";

/// The chunks of some ranks, written by a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MatrixPiece {
    folder: PathBuf,
    slots: Vec<SlotDone>,
    facts: BatchSummary,
}

impl MatrixPiece {
    fn rows_of(&self, slot: usize) -> u64 {
        self.slots.get(slot).map_or(0, |slot| slot.rows)
    }
}

/// A shard of an array: the numbers of its slot, its array and the shard.
pub type ShardNumber = (usize, usize, u64);

/// Writer of pieces and shards, for tasks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PieceMaker {
    shape: RowShape,
    genes: u32,
    /// Folder in which the matrix is created; all tasks share it.
    folder: PathBuf,
}

impl PieceMaker {
    /// An empty batch for rows.
    pub fn batch(&self) -> RowBatch {
        RowBatch::new(self.shape, if self.genes == 0 { GENES_MAX } else { self.genes })
    }

    /// Bytes of a packed row.
    pub fn row_bytes(&self) -> usize {
        RecordLayout::of(&self.shape).record_bytes()
    }

    /// The chunk that a packed row belongs to; all rows of a chunk belong to the same piece.
    pub fn chunk_of(&self, row: &[u8]) -> u64 {
        PackedRow::new(row, RecordLayout::of(&self.shape)).key().0 / CHUNK_PAIRS as u64
    }

    /// Writes a piece of packed rows in any order; uses only those facts of `facts` that the rows
    /// do not show. The memory of the rows is not taken from `budget`.
    ///
    /// # Errors
    /// `Input` for a duplicate row, and naming the memory needed when there is too little;
    /// `System`.
    pub fn write(
        &self,
        rows: &[&[u8]],
        facts: BatchSummary,
        budget: &Budget,
    ) -> Result<MatrixPiece> {
        let layout = RecordLayout::of(&self.shape);
        let records = || rows.iter().flat_map(|some| some.chunks_exact(layout.record_bytes()));
        let count = records().count();
        let needed = count * size_of::<(Key, &[u8])>();
        let _lease = budget.take(needed as u64, "the order of the rows of a part")?;
        let mut sorted: Vec<_> =
            records().map(|row| (PackedRow::new(row, layout).key(), row)).collect();
        sorted.sort_unstable_by_key(|&(key, _)| key);
        let (folder, mut assembler) = self.assembler(budget.free_bytes())?;
        let last = sorted.last().map(|((rank, _), _)| *rank);
        for (_, row) in sorted {
            assembler.push(PackedRow::new(row, layout))?;
        }
        let slots = assembler.finish()?;
        let gene_max = last.map_or(0, |rank| Walker::default().genes_of(rank).0);
        let facts = BatchSummary { rows: count as u64, gene_max, ..facts };
        Ok(MatrixPiece { folder, slots, facts })
    }

    /// Starts a piece of consecutive pairs.
    ///
    /// # Errors
    /// `Input` naming the memory needed when there is too little; `System`.
    pub fn bands<'a>(&self, budget: &'a Budget) -> Result<PieceOfBands<'a>> {
        let needed = Assembler::memory_bytes(&self.shape, 1, 1);
        let lease = budget.take(needed, "writing a piece of a pair matrix")?;
        let (folder, assembler) = self.assembler(needed)?;
        Ok(PieceOfBands { folder, assembler, facts: BatchSummary::default(), _lease: lease })
    }

    /// An assembler that writes into its own folder.
    fn assembler(&self, memory_bytes: u64) -> Result<(PathBuf, Assembler)> {
        let least = Assembler::memory_bytes(&self.shape, 1, 1);
        let Some(further) = memory_bytes.checked_sub(least) else {
            let (need, have) = (human(least), human(memory_bytes));
            let text = format!("a piece of a pair matrix needs {need}, there is {have}");
            return Err(Error::input("memory", format!("{text}; raise --memory")));
        };
        let slots_max = 1 + further / Assembler::slot_bytes(&self.shape);
        let folder = self.checked_folder("piece")?;
        let assembler = Assembler::new(self.shape, &folder, 1, slots_max);
        Ok((folder, assembler))
    }

    /// Joins shards from the pieces, which are in the order of their chunks; returns the folder
    /// that holds them.
    ///
    /// # Errors
    /// `Input` for a damaged piece; `System`.
    pub fn join(&self, pieces: &[MatrixPiece], shards: &[ShardNumber]) -> Result<PathBuf> {
        let folder = self.checked_folder("joined")?;
        for &(slot, array, shard) in shards {
            let mut writer = ShardWriter::new(self.shape.shards(&folder, slot, array));
            if array + 1 == self.shape.arrays() {
                self.join_masks(pieces, (slot, shard), &mut writer)?;
            } else {
                self.join_chunks(pieces, (slot, array, shard), &mut writer)?;
            }
            writer.close()?;
        }
        Ok(folder)
    }

    fn join_chunks(
        &self,
        pieces: &[MatrixPiece],
        (slot, array, shard): ShardNumber,
        writer: &mut ShardWriter,
    ) -> Result<()> {
        let mut encoded = Vec::new();
        for piece in pieces {
            let place = self.shape.shards(&piece.folder, slot, array);
            let mut reader = ShardReader::default();
            for chunk in chunks_of(piece, slot, array, &self.shape) {
                if chunk / SHARD_CHUNKS == shard {
                    reader.read(&place, chunk, &mut encoded)?;
                    writer.append(chunk, &[encoded.len()], &encoded)?;
                }
            }
        }
        Ok(())
    }

    /// Joins masks. Rows are renumbered: a chunk of masks may hold rows of several pieces.
    fn join_masks(
        &self,
        pieces: &[MatrixPiece],
        (slot, shard): (usize, u64),
        writer: &mut ShardWriter,
    ) -> Result<()> {
        let (chunk_rows, shard_rows) = (self.shape.mask_chunk_rows(), self.shape.mask_shard_rows());
        let chunk_bytes = chunk_rows as usize * self.shape.mask_bytes();
        let mut chunk = shard * shard_rows / chunk_rows;
        let mut raw = Vec::with_capacity(chunk_bytes + CRC_BYTES);
        let mut put = |raw: &mut Vec<u8>| {
            raw.resize(chunk_bytes, 0);
            raw.extend_from_slice(&crc32c::crc32c(raw).to_le_bytes());
            writer.append(chunk, &[raw.len()], raw)?;
            chunk += 1;
            raw.clear();
            Ok::<_, Error>(())
        };
        let (mut first, wanted) = (0, shard * shard_rows..(shard + 1) * shard_rows);
        for piece in pieces {
            let end = first + piece.rows_of(slot);
            let mut masks = PieceMasks::of(&self.shape, piece, slot);
            for row in wanted.start.max(first)..wanted.end.min(end) {
                raw.extend_from_slice(masks.row(row - first)?);
                if raw.len() == chunk_bytes {
                    put(&mut raw)?;
                }
            }
            first = end;
        }
        if raw.is_empty() { Ok(()) } else { put(&mut raw) }
    }

    /// A folder that no other attempt uses.
    fn checked_folder(&self, name: &str) -> Result<PathBuf> {
        let folder = temporary_path(&self.folder.join(PIECES).join(name));
        fs::create_dir_all(&folder)
            .map_err(|cause| Error::system("output.pairs", "creating", &folder, &cause))?;
        Ok(folder)
    }
}

/// A piece of consecutive pairs that is being written.
pub struct PieceOfBands<'a> {
    folder: PathBuf,
    assembler: Assembler,
    facts: BatchSummary,
    _lease: Lease<'a>,
}

impl PieceOfBands<'_> {
    /// Adds consecutive pairs; see [`super::Writer::push_band`].
    ///
    /// # Errors
    /// `System`.
    pub fn push(&mut self, first: u64, scores: &[Micro], counts: Option<&[u32]>) -> Result<()> {
        let (rows, has_nan) = self.assembler.push_band(first, scores, counts)?;
        self.facts.add(&BatchSummary { rows, has_nan, ..BatchSummary::default() });
        Ok(())
    }

    /// Completes the piece.
    ///
    /// # Errors
    /// `System`.
    pub fn finish(self) -> Result<MatrixPiece> {
        let slots = self.assembler.finish()?;
        Ok(MatrixPiece { folder: self.folder, slots, facts: self.facts })
    }
}

/// Numbers of the chunks that a piece has of an array other than the masks, ascending.
fn chunks_of(
    piece: &MatrixPiece,
    slot: usize,
    array: usize,
    shape: &RowShape,
) -> impl Iterator<Item = u64> {
    let column = array.checked_sub(shape.scores);
    let zones = piece.slots.get(slot).map_or(&[][..], |slot| &slot.zones);
    let is_stored = move |columns: u8| column.is_none_or(|column| columns & (1 << column) != 0);
    zones.iter().filter(move |(_, zone)| is_stored(zone.columns)).map(|(chunk, _)| *chunk)
}

/// The masks of a slot of a piece, row by row.
struct PieceMasks<'a> {
    shape: &'a RowShape,
    place: super::shard::ShardPath,
    reader: ShardReader,
    chunk: Option<u64>,
    bytes: Vec<u8>,
}

impl<'a> PieceMasks<'a> {
    fn of(shape: &'a RowShape, piece: &MatrixPiece, slot: usize) -> Self {
        let place = shape.shards(&piece.folder, slot, shape.arrays() - 1);
        Self { shape, place, reader: ShardReader::default(), chunk: None, bytes: Vec::new() }
    }

    fn row(&mut self, row: u64) -> Result<&[u8]> {
        let (rows, bytes) = (self.shape.mask_chunk_rows(), self.shape.mask_bytes());
        let (chunk, inside) = (row / rows, (row % rows) as usize);
        if self.chunk != Some(chunk) {
            let size = rows as usize * bytes + CRC_BYTES;
            self.reader.read_fixed(&self.place, chunk, size, &mut self.bytes)?;
            if checked(&self.bytes).is_none() {
                return Err(damaged(self.reader.path(), "a chunk has a wrong checksum"));
            }
            self.chunk = Some(chunk);
        }
        Ok(&self.bytes[inside * bytes..][..bytes])
    }
}

/// A pair matrix that tasks write in pieces.
pub struct PiecedMatrix {
    partial: Partial,
    options: WriterOptions,
    shape: RowShape,
}

impl PiecedMatrix {
    /// Starts the pair matrix `path`, which must not exist, and does not until
    /// [`PiecedMatrix::finish`].
    ///
    /// # Errors
    /// `Input` for options out of range or an existing `path`; `System`.
    pub fn create(path: &Path, options: WriterOptions) -> Result<Self> {
        let shape = check(&options).map_err(|text| Error::input("output.pairs", text))?;
        Ok(Self { partial: Partial::create(path)?, options, shape })
    }

    /// The writer of pieces, for tasks.
    pub fn maker(&self) -> PieceMaker {
        let (shape, genes) = (self.shape, self.options.genes);
        PieceMaker { shape, genes, folder: self.partial.folder().to_owned() }
    }

    /// The shards to be joined from pieces.
    pub fn shards(&self, pieces: &[MatrixPiece]) -> Vec<ShardNumber> {
        let mut all = BTreeSet::new();
        for slot in 0..pieces.iter().map(|piece| piece.slots.len()).max().unwrap_or(0) {
            for array in 0..self.shape.scores + COLUMNS.len() {
                let chunks =
                    pieces.iter().flat_map(|piece| chunks_of(piece, slot, array, &self.shape));
                all.extend(chunks.map(|chunk| (slot, array, chunk / SHARD_CHUNKS)));
            }
            if self.shape.mask_bytes() > 0 {
                let rows: u64 = pieces.iter().map(|piece| piece.rows_of(slot)).sum();
                let shards = rows.div_ceil(self.shape.mask_shard_rows());
                all.extend((0..shards).map(|shard| (slot, self.shape.arrays() - 1, shard)));
            }
        }
        all.into_iter().collect()
    }

    /// Renames the matrix to its path: `joined` are folders and the shards in them.
    ///
    /// # Errors
    /// `Input` when genes have no names; `System`. The path then does not exist.
    pub fn finish<'a>(
        self,
        pieces: &[MatrixPiece],
        joined: impl Iterator<Item = (&'a Path, &'a [ShardNumber])>,
    ) -> Result<WriteSummary> {
        let folder = self.partial.folder();
        for (from, shards) in joined {
            for &(slot, array, shard) in shards {
                let path = |folder| self.shape.shards(folder, slot, array).of(shard);
                moved(&path(from), &path(folder))?;
            }
        }
        let pieces_folder = folder.join(PIECES);
        if pieces_folder.exists() {
            remove_tree(&pieces_folder).map_err(|cause| {
                Error::system("output.pairs", "removing", &pieces_folder, &cause)
            })?;
        }
        let mut facts = BatchSummary::default();
        pieces.iter().for_each(|piece| facts.add(&piece.facts));
        // There is at least one slot.
        let count = pieces.iter().map(|piece| piece.slots.len()).max().unwrap_or(0).max(1);
        let slots: Vec<SlotDone> = (0..count).map(|slot| joined_slot(pieces, slot)).collect();
        let written = store(folder, self.shape, &self.options, (&slots, &facts), 0)?;
        self.partial.publish()?;
        Ok(written)
    }
}

fn joined_slot(pieces: &[MatrixPiece], slot: usize) -> SlotDone {
    let of = || pieces.iter().filter_map(|piece| piece.slots.get(slot));
    SlotDone {
        rows: of().map(|done| done.rows).sum(),
        zones: of().flat_map(|done| done.zones.iter().cloned()).collect(),
    }
}

fn moved(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder)
        .map_err(|cause| Error::system("output.pairs", "creating", folder, &cause))?;
    fs::rename(from, to).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::NotFound => {
            let text = format!("{} is not there", from.display());
            Error::input("output.pairs", format!("{text}; choose an output that all nodes share"))
        }
        _ => Error::system("output.pairs", "renaming", from, &cause),
    })
}
