//! Opens a pair matrix: its attributes and what is known of its chunks.

use std::path::{Path, PathBuf};

use cuesta_core::fixed::Micro;
use cuesta_core::{Error, Result};
use serde::Deserialize;
use serde_json::Value;

use super::damaged;
use super::header::{FORMAT, MaskKind, MatrixHeader, slot_folder};
use super::limits::CHUNK_PAIRS;
use super::schema::{Arrays, METADATA_FILE};
use super::shard::ShardPath;
use super::texts;
use super::zone::{Range, Zone};
use crate::filter::Filter;
use crate::storage;

/// An open pair matrix; threads may share it.
pub struct PairMatrix {
    path: PathBuf,
    header: MatrixHeader,
    pub(super) slots: Vec<Slot>,
    /// Packed missing samples of the genes, when masks come from them.
    pub(super) gene_missing: Vec<u8>,
}

/// Slot i: the i-th rows of all pairs.
pub(super) struct Slot {
    /// The arrays, numbered as [`super::header::RowShape::array_name`] numbers them.
    pub arrays: Vec<ShardPath>,
    pub zones: Vec<Zone>,
    /// Number of rows before each chunk.
    pub row_starts: Vec<u64>,
}

/// Properties of a chunk that are known without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Number of the chunk.
    pub index: usize,
    /// Triangular rank of its first pair.
    pub first_rank: u64,
    /// Number of pairs, with and without rows.
    pub pairs: usize,
    /// Rows.
    pub rows: u64,
    /// Range of each score over all rows.
    pub ranges: Vec<Range>,
}

impl PairMatrix {
    /// Whether `path` looks like a pair matrix, complete or not: a folder that is a Zarr group.
    pub fn is_at(path: &Path) -> bool {
        path.join(METADATA_FILE).is_file()
    }

    /// Opens the pair matrix in folder `path`. Cost: a few milliseconds and a few small files.
    ///
    /// # Errors
    /// `Input` for a folder that is not a pair matrix, is of another version or damaged; `System`.
    pub fn open(path: &Path) -> Result<Self> {
        if !Self::is_at(path) {
            let text = format!(
                "{} is not a pair matrix (it has no zarr.json); check the path, or load the text \
                 again if loading was interrupted",
                path.display()
            );
            return Err(Error::input("input.pairs", text));
        }
        let file = path.join(METADATA_FILE);
        let bytes = storage::read(&file)
            .map_err(|cause| Error::system("input.pairs", "reading", &file, &cause))?;
        let root: Value = serde_json::from_slice(&bytes)
            .map_err(|cause| damaged(&file, &format!("it is not readable ({cause})")))?;
        let header = read_header(path, &root["attributes"])?;
        let arrays = Arrays::of(&header, path)?;
        arrays.check(&root)?;
        let slots = (0..header.slot_rows.len())
            .map(|slot| Slot::open(path, &header, slot, &arrays))
            .collect::<Result<_>>()?;
        let gene_missing = match header.masks {
            MaskKind::Genes if header.genes > 0 => arrays.get("gene_missing")?,
            _ => Vec::new(),
        };
        Ok(Self { path: path.to_owned(), header, slots, gene_missing })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The attributes: genes, samples, rows, scores and so on.
    pub fn header(&self) -> &MatrixHeader {
        &self.header
    }

    /// Missing samples of the genes, packed by [`super::pack_flags`] one after the other, when the
    /// masks come from them; else empty.
    pub fn gene_missing(&self) -> &[u8] {
        &self.gene_missing
    }

    /// Chunks, empty ones included.
    pub fn chunk_count(&self) -> usize {
        self.slots[0].zones.len()
    }

    /// Properties of a chunk.
    pub fn chunk(&self, index: usize) -> Chunk {
        let first_rank = index as u64 * CHUNK_PAIRS as u64;
        let zones = || self.slots.iter().map(|slot| &slot.zones[index]);
        let over_slots = |method: usize| {
            zones().fold(Range::EMPTY, |sum, zone| sum.including(&zone.ranges[method]))
        };
        Chunk {
            index,
            first_rank,
            pairs: (self.header.pairs() - first_rank).min(CHUNK_PAIRS as u64) as usize,
            rows: zones().map(|zone| u64::from(zone.rows)).sum(),
            ranges: (0..self.header.scores).map(over_slots).collect(),
        }
    }

    /// The chunks that may hold rows which pass the filter, in order; without one, those that
    /// have rows.
    pub fn chunks(&self, filter: Option<&Filter>) -> Vec<Chunk> {
        let may_pass =
            |index: &usize| self.slots.iter().any(|slot| slot.zones[*index].may_pass(filter));
        (0..self.chunk_count()).filter(may_pass).map(|index| self.chunk(index)).collect()
    }

    /// Names of the genes; empty when unknown.
    ///
    /// # Errors
    /// `Input` when they are damaged.
    pub fn gene_names(&self) -> Result<Vec<String>> {
        self.names(self.header.gene_names, "gene_name", self.header.genes)
    }

    /// Names of the samples; empty when unknown.
    ///
    /// # Errors
    /// `Input` when they are damaged.
    pub fn sample_names(&self) -> Result<Vec<String>> {
        self.names(self.header.sample_names, "sample_name", self.header.samples)
    }

    fn names(&self, exist: bool, array: &str, count: u32) -> Result<Vec<String>> {
        if !exist {
            return Ok(Vec::new());
        }
        texts::read(&self.path.join(array).join("c/0"), count as usize)
    }
}

impl Zone {
    /// Whether a row in this chunk may pass the filter; without one, whether there is a row.
    pub(super) fn may_pass(&self, filter: Option<&Filter>) -> bool {
        match filter {
            None => self.rows > 0,
            Some(filter) => self.ranges[filter.score_index].may_pass(filter),
        }
    }
}

impl Range {
    /// The range of what either range holds.
    fn including(&self, other: &Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            min_abs: self.min_abs.min(other.min_abs),
            max_abs: self.max_abs.max(other.max_abs),
        }
    }
}

fn read_header(path: &Path, attributes: &Value) -> Result<MatrixHeader> {
    let format = attributes["format"].as_str().unwrap_or("?");
    if !format.starts_with("cuesta.pairs/") {
        let text = format!(
            "{} is a Zarr group but not a pair matrix; give a folder that `cuesta run load` or \
             `cuesta run correlate` wrote",
            path.display()
        );
        return Err(Error::input("input.pairs", text));
    }
    if format != FORMAT {
        let text = format!(
            "{} has the format {format}, this version reads {FORMAT}; use another version of \
             cuesta or load the text again",
            path.display()
        );
        return Err(Error::input("input.pairs", text));
    }
    let header: MatrixHeader = MatrixHeader::deserialize(attributes)
        .map_err(|cause| damaged(path, &format!("its attributes are incomplete ({cause})")))?;
    header.check().map_err(|what| damaged(path, &what))?;
    Ok(header)
}

impl Slot {
    fn open(path: &Path, header: &MatrixHeader, slot: usize, arrays: &Arrays) -> Result<Self> {
        let shape = header.shape();
        let folder = slot_folder(slot);
        let places = (0..shape.arrays()).map(|array| shape.shards(path, slot, array)).collect();
        let zones = read_zones(header, &folder, arrays)?;
        let mut row_starts = Vec::with_capacity(zones.len());
        let mut rows = 0;
        for zone in &zones {
            row_starts.push(rows);
            rows += u64::from(zone.rows);
        }
        if rows != header.slot_rows[slot] {
            return Err(damaged(path, "its chunks do not have the rows that it should have"));
        }
        Ok(Self { arrays: places, zones, row_starts })
    }
}

fn read_zones(header: &MatrixHeader, folder: &str, arrays: &Arrays) -> Result<Vec<Zone>> {
    let chunks = header.pairs().div_ceil(CHUNK_PAIRS as u64) as usize;
    if chunks == 0 {
        return Ok(Vec::new());
    }
    let name = |name: &str| format!("{folder}{name}");
    let rows: Vec<u32> = arrays.get(&name("chunk_rows"))?;
    let columns: Vec<u8> = arrays.get(&name("chunk_columns"))?;
    let [min, max, min_abs, max_abs]: [Vec<Micro>; 4] = [
        arrays.get(&name("chunk_min"))?,
        arrays.get(&name("chunk_max"))?,
        arrays.get(&name("chunk_min_abs"))?,
        arrays.get(&name("chunk_max_abs"))?,
    ];
    let range = |at: usize| Range {
        min: min[at],
        max: max[at],
        min_abs: min_abs[at],
        max_abs: max_abs[at],
    };
    let zone = |chunk: usize| Zone {
        rows: rows[chunk],
        columns: columns[chunk],
        ranges: (0..header.scores).map(|method| range(method * chunks + chunk)).collect(),
    };
    Ok((0..chunks).map(zone).collect())
}
