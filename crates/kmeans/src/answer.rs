//! Answer files: centres, the cluster of each point, and a summary of each iteration.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};
use cuesta_input::npy;

/// File with a line for each cluster.
pub const CENTRES_FILE: &str = "centres.tsv";
/// File with the cluster of each point.
pub const ASSIGNMENTS_FILE: &str = "assignments.npy";
/// File with a line for each iteration.
pub const ITERATIONS_FILE: &str = "iterations.tsv";
/// Columns of [`ITERATIONS_FILE`].
pub const ITERATIONS_HEADER: &str = "iteration\tshift\tempty\tsmallest\tlargest";

/// Summary of an iteration.
pub struct Iteration {
    /// Largest distance that a centre moved.
    pub shift: f64,
    /// Points of each cluster.
    pub sizes: Vec<i64>,
}

/// Writes a text file; returns its size in bytes.
///
/// # Errors
/// `System`.
pub fn write(folder: &Path, name: &str, text: &str) -> Result<u64> {
    let path = folder.join(name);
    std::fs::write(&path, text)
        .map_err(|cause| Error::system("answer", "writing", &path, &cause))?;
    Ok(text.len() as u64)
}

/// Returns the text of [`ITERATIONS_FILE`].
pub fn iterations(all: &[Iteration]) -> String {
    let mut text = format!("{ITERATIONS_HEADER}\n");
    for (index, iteration) in all.iter().enumerate() {
        let empty = iteration.sizes.iter().filter(|&&size| size == 0).count();
        let smallest = iteration.sizes.iter().min().unwrap_or(&0);
        let largest = iteration.sizes.iter().max().unwrap_or(&0);
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "{}\t{:?}\t{empty}\t{smallest}\t{largest}", index + 1, iteration.shift);
    }
    text
}

/// Returns the first line of [`CENTRES_FILE`].
fn centres_header(dimensions: usize) -> String {
    let mut text = "cluster\tsize\tinertia".to_owned();
    for dimension in 1..=dimensions {
        let _ = write!(text, "\tx{dimension}");
    }
    text
}

/// Returns the text of [`CENTRES_FILE`] for centres in row order; `of` returns size and inertia of
/// a cluster.
pub fn centres(rows: &[f64], dimensions: usize, of: impl Fn(usize) -> (i64, f64)) -> String {
    let mut text = centres_header(dimensions);
    text.push('\n');
    for (cluster, centre) in rows.chunks_exact(dimensions).enumerate() {
        let (size, inertia) = of(cluster);
        let _ = write!(text, "{cluster}\t{size}\t{inertia:?}");
        for value in centre {
            let _ = write!(text, "\t{value:?}");
        }
        text.push('\n');
    }
    text
}

/// [`ASSIGNMENTS_FILE`], written or read at any point.
pub struct Assignments {
    path: PathBuf,
    file: File,
}

impl Assignments {
    /// Creates the file for `points` points at its final size: GlusterFS has reported an outdated
    /// size for a file that several threads extended.
    ///
    /// # Errors
    /// `System`.
    pub fn create(folder: &Path, points: u64) -> Result<Self> {
        let path = folder.join(ASSIGNMENTS_FILE);
        let made = OpenOptions::new().write(true).create(true).truncate(true).open(&path);
        let failed = |cause| Error::system("answer", "creating", &path, &cause);
        let file = made.map_err(failed)?;
        let header = npy::header("<u4", &format!("({points},)"));
        file.set_len(place(points)).map_err(failed)?;
        file.write_all_at(&header, 0).map_err(failed)?;
        Ok(Self { path, file })
    }

    /// Opens the file made by [`Assignments::create`] for writing.
    ///
    /// # Errors
    /// `System`.
    pub fn extend(folder: &Path) -> Result<Self> {
        let path = folder.join(ASSIGNMENTS_FILE);
        let failed = |cause| Error::system("answer", "opening", &path, &cause);
        let file = OpenOptions::new().write(true).open(&path).map_err(failed)?;
        Ok(Self { path, file })
    }

    /// Opens the file for reading; it must have `points` points.
    ///
    /// # Errors
    /// `Input` if it has another shape; `System`.
    pub fn open(folder: &Path, points: u64) -> Result<Self> {
        let path = folder.join(ASSIGNMENTS_FILE);
        let failed = |cause| Error::system("verify", "reading", &path, &cause);
        let file = File::open(&path).map_err(failed)?;
        let expected = npy::header("<u4", &format!("({points},)"));
        let mut header = vec![0; expected.len()];
        file.read_exact_at(&mut header, 0).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        if header != expected || size != expected.len() as u64 + 4 * points {
            let text = format!("{} is not an array of {points} u32 numbers", path.display());
            return Err(Error::input("verify", text));
        }
        Ok(Self { path, file })
    }

    /// Writes the clusters of consecutive points from number `first` on.
    ///
    /// # Errors
    /// `System`.
    pub fn put(&self, first: u64, clusters: &[u32], bytes: &mut Vec<u8>) -> Result<()> {
        bytes.clear();
        bytes.extend(clusters.iter().flat_map(|cluster| cluster.to_le_bytes()));
        self.file
            .write_all_at(bytes, place(first))
            .map_err(|cause| Error::system("answer", "writing", &self.path, &cause))
    }

    /// Reads the clusters of consecutive points from number `first` on.
    ///
    /// # Errors
    /// `System`.
    pub fn get(&self, first: u64, clusters: &mut [u32], bytes: &mut Vec<u8>) -> Result<()> {
        bytes.resize(4 * clusters.len(), 0);
        self.file
            .read_exact_at(bytes, place(first))
            .map_err(|cause| Error::system("verify", "reading", &self.path, &cause))?;
        for (cluster, bytes) in clusters.iter_mut().zip(bytes.as_chunks().0) {
            *cluster = u32::from_le_bytes(*bytes);
        }
        Ok(())
    }
}

fn place(point: u64) -> u64 {
    npy::HEADER_BYTES as u64 + 4 * point
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_have_their_final_size_before_any_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let made = Assignments::create(folder.path(), 1000).unwrap();
        made.put(600, &[7, 8], &mut Vec::new()).unwrap();
        let size_bytes = std::fs::metadata(&made.path).unwrap().len();
        assert_eq!(size_bytes, npy::HEADER_BYTES as u64 + 4 * 1000);
        let opened = Assignments::open(folder.path(), 1000).unwrap();
        let mut clusters = [0; 4];
        opened.get(599, &mut clusters, &mut Vec::new()).unwrap();
        assert_eq!(clusters, [0, 7, 8, 0]);
        assert!(Assignments::open(folder.path(), 999).is_err());
    }
}
