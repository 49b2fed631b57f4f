//! Check of the files of a pair matrix: their names, the content of the small ones, the shards.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};

use super::super::codec::CRC_BYTES;
use super::super::header::{MaskKind, slot_folder};
use super::super::mask;
use super::super::reader::{PairMatrix, Slot};
use super::super::schema::Arrays;
use super::super::shard::{self, NOTHING, ShardPath};
use super::super::zone::Zone;
use super::wrong;

/// The side arrays of a slot that have a value for each chunk, and for each method and chunk.
const BY_CHUNK: [&str; 2] = ["chunk_columns", "chunk_rows"];
const BY_METHOD: [&str; 4] = ["chunk_max", "chunk_max_abs", "chunk_min", "chunk_min_abs"];

/// Checks that the folder has exactly the files that its header requires, that their metadata is
/// the only valid one, and that shards hold their chunks without gaps and nothing else.
///
/// # Errors
/// `Input` naming the file; `System`.
pub fn check(matrix: &PairMatrix) -> Result<()> {
    let root = matrix.path();
    let mut expected = BTreeSet::new();
    let arrays = Arrays::of(matrix.header(), root)?;
    for (name, bytes) in arrays.metadata(matrix.header())? {
        let path = root.join(name);
        if read(&path)? != bytes {
            return Err(wrong(&path, "it is not as the rows ask for"));
        }
        expected.insert(path);
    }
    expected.extend(side_files(matrix));
    for (number, slot) in matrix.slots.iter().enumerate() {
        for array in 0..slot.arrays.len() {
            expected.extend(check_array(matrix, (number, slot), array)?);
        }
    }
    let mut existing = BTreeSet::new();
    list(root, &mut existing)?;
    match expected.symmetric_difference(&existing).next() {
        None => check_gene_missing(matrix),
        Some(path) if existing.contains(path) => Err(wrong(path, "it does not belong there")),
        Some(path) => Err(wrong(path, "it is missing")),
    }
}

/// Arrays of one chunk; their values are checked where they are used.
fn side_files(matrix: &PairMatrix) -> Vec<PathBuf> {
    let (root, header) = (matrix.path(), matrix.header());
    let mut files = Vec::new();
    if header.pairs() > 0 {
        for slot in 0..header.slot_rows.len() {
            let folder = root.join(slot_folder(slot));
            files.extend(BY_CHUNK.map(|name| folder.join(name).join("c/0")));
            files.extend(BY_METHOD.map(|name| folder.join(name).join("c/0/0")));
        }
    }
    if header.masks == MaskKind::Genes && header.genes > 0 {
        files.push(root.join("gene_missing/c/0/0"));
    }
    let names = [("gene_name/c/0", header.gene_names), ("sample_name/c/0", header.sample_names)];
    files.extend(names.iter().filter(|(_, exists)| *exists).map(|(name, _)| root.join(name)));
    files
}

/// Checks the shards of an array by rank, or of the masks; returns their files.
fn check_array(
    matrix: &PairMatrix,
    (number, slot): (usize, &Slot),
    array: usize,
) -> Result<Vec<PathBuf>> {
    let shape = matrix.header().shape();
    let place = &slot.arrays[array];
    let stored = |zone: &Zone| match array.checked_sub(shape.scores) {
        None => zone.rows > 0,
        Some(column) => zone.rows > 0 && zone.columns & (1 << column) != 0,
    };
    if array + 1 < shape.arrays() {
        let is_stored: Vec<bool> = slot.zones.iter().map(stored).collect();
        return check_shards(place, &is_stored, None);
    }
    if matrix.header().masks != MaskKind::Stored {
        return Ok(Vec::new());
    }
    let rows = matrix.header().slot_rows[number];
    let chunks = rows.div_ceil(shape.mask_chunk_rows()) as usize;
    let raw = shape.mask_chunk_rows() as usize * shape.mask_bytes();
    let files = check_shards(place, &vec![true; chunks], Some((raw + CRC_BYTES) as u64))?;
    let last_rows = rows % shape.mask_chunk_rows();
    if last_rows > 0 {
        let mut bytes = Vec::new();
        let mut reader = shard::ShardReader::default();
        reader.read(place, chunks as u64 - 1, &mut bytes)?;
        let behind = last_rows as usize * shape.mask_bytes();
        if bytes[behind..raw].iter().any(|&byte| byte != 0) {
            return Err(wrong(reader.path(), "it has bits behind the last mask"));
        }
    }
    Ok(files)
}

/// Checks that the shards of an array hold exactly the chunks that `is_stored` marks, without gaps,
/// each of `size` bytes if that is known; returns the files.
fn check_shards(place: &ShardPath, is_stored: &[bool], size: Option<u64>) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for (number, is_stored) in is_stored.chunks(place.chunks as usize).enumerate() {
        if !is_stored.contains(&true) {
            continue;
        }
        let (path, index, data_bytes) = shard::read_index(place, number as u64)?;
        let mut end = 0;
        let in_place = index.iter().enumerate().all(|(chunk, &(offset, bytes))| {
            if !is_stored.get(chunk).is_some_and(|is_stored| *is_stored) {
                return (offset, bytes) == NOTHING;
            }
            let follows = offset == end && size.is_none_or(|size| bytes == size);
            end = offset.saturating_add(bytes);
            follows
        });
        if !in_place || end != data_bytes {
            return Err(wrong(&path, "its chunks are not where they should be"));
        }
        files.push(path);
    }
    Ok(files)
}

/// Checks that the bits after the last sample are 0.
fn check_gene_missing(matrix: &PairMatrix) -> Result<()> {
    let samples = matrix.header().samples as usize;
    let bytes = mask::plane_bytes(samples).max(1);
    let clean = |plane: &[u8]| mask::padding_of(plane, samples) == 0;
    match matrix.gene_missing.chunks(bytes).all(clean) {
        true => Ok(()),
        false => Err(wrong(&matrix.path().join("gene_missing"), "it has bits of no sample")),
    }
}

fn list(folder: &Path, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    let system = |cause| Error::system("verify", "reading", folder, &cause);
    for entry in fs::read_dir(folder).map_err(system)? {
        let path = entry.map_err(system)?.path();
        // A link is not a folder: it is listed, and reported as unexpected.
        if path.symlink_metadata().map_err(system)?.is_dir() {
            list(&path, files)?;
        } else {
            files.insert(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::NotFound => wrong(path, "it is missing"),
        _ => Error::system("verify", "reading", path, &cause),
    })
}
