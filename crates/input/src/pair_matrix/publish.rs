//! Completes the folder of a pair matrix: side arrays, metadata, then its name.

use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};
use cuesta_runtime::removal::{ScratchFolder, clear_tree, rename_exclusive};

use super::assemble::SlotDone;
use super::header::{MatrixHeader, slot_folder};
use super::limits::CHUNK_PAIRS;
use super::schema::Arrays;
use super::zone::{Range, Zone};

/// Names and masks that belong to the whole file; empty for none.
#[derive(Clone, Copy, Debug, Default)]
pub struct MatrixNames<'a> {
    /// Names of all genes.
    pub genes: &'a [String],
    /// Names of all samples.
    pub samples: &'a [String],
    /// Packed missing samples of all genes.
    pub gene_missing: &'a [u8],
}

/// A folder beside the target that becomes the target when it is whole; removed when dropped.
pub struct Partial {
    folder: ScratchFolder,
    target: PathBuf,
}

impl Partial {
    /// Makes the folder.
    ///
    /// # Errors
    /// `Input` when the target exists; `System`.
    pub fn create(target: &Path) -> Result<Self> {
        let Some(name) = target.file_name() else {
            let text = format!("{} has no name; choose another path", target.display());
            return Err(Error::input("output.pairs", text));
        };
        if target.symlink_metadata().is_ok() {
            let text = format!("{} exists; remove it or choose another path", target.display());
            return Err(Error::input("output.pairs", text));
        }
        let stem = format!(".{}.partial", name.to_string_lossy());
        let folder = ScratchFolder::make(target.parent().unwrap_or(target), &stem)
            .map_err(|cause| Error::system("output.pairs", "creating", target, &cause))?;
        Ok(Self { folder, target: target.to_owned() })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Gives the folder the name of the target; whoever runs the workload brings it to the disk.
    ///
    /// # Errors
    /// `System`.
    pub fn publish(self) -> Result<()> {
        rename_exclusive(self.folder.path(), &self.target)
            .map_err(|cause| Error::system("output.pairs", "naming", &self.target, &cause))
    }
}

/// Removes everything in a folder.
///
/// # Errors
/// `System`.
pub fn clear(folder: &Path) -> Result<()> {
    clear_tree(folder).map_err(|cause| Error::system("output.pairs", "clearing", folder, &cause))
}

/// Stores everything of a pair matrix that is not in the arrays yet.
///
/// # Errors
/// `Input` naming what could not be stored.
pub fn store(
    folder: &Path,
    header: &MatrixHeader,
    slots: &[SlotDone],
    names: &MatrixNames<'_>,
) -> Result<()> {
    let arrays = Arrays::of(header, folder)?;
    for (number, slot) in slots.iter().enumerate() {
        store_zones(header, &slot_folder(number), slot, &arrays)?;
    }
    if !names.gene_missing.is_empty() {
        arrays.put("gene_missing", names.gene_missing.to_vec())?;
    }
    if header.gene_names {
        arrays.put("gene_name", names.genes.to_vec())?;
    }
    if header.sample_names {
        arrays.put("sample_name", names.samples.to_vec())?;
    }
    arrays.store_metadata(header)
}

fn store_zones(
    header: &MatrixHeader,
    folder: &str,
    slot: &SlotDone,
    arrays: &Arrays,
) -> Result<()> {
    let chunks = header.pairs().div_ceil(CHUNK_PAIRS as u64) as usize;
    let mut zones = vec![Zone::empty(header.scores); chunks];
    for (chunk, zone) in &slot.zones {
        zones[*chunk as usize] = zone.clone();
    }
    let put_range = |name: &str, value: fn(&Range) -> i32| {
        let all = (0..header.scores)
            .flat_map(|method| zones.iter().map(move |zone| value(&zone.ranges[method])));
        arrays.put(&format!("{folder}{name}"), all.collect::<Vec<i32>>())
    };
    put_range("chunk_min", |range| range.min)?;
    put_range("chunk_max", |range| range.max)?;
    put_range("chunk_min_abs", |range| range.min_abs)?;
    put_range("chunk_max_abs", |range| range.max_abs)?;
    let rows: Vec<u32> = zones.iter().map(|zone| zone.rows).collect();
    arrays.put(&format!("{folder}chunk_rows"), rows)?;
    let columns: Vec<u8> = zones.iter().map(|zone| zone.columns).collect();
    arrays.put(&format!("{folder}chunk_columns"), columns)
}
