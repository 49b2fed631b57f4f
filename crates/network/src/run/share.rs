//! Shares of a dataset of gene pairs, for tasks that read one share each.

use std::path::PathBuf;

use cuesta_core::{Error, Result};
use cuesta_input::Filter;
use cuesta_input::kinc::LineShape;
use cuesta_input::pair_matrix::{Need, PairMatrix};
use cuesta_input::source::{Split, TextFile, TextSource};
use serde::{Deserialize, Serialize};

use super::pairs::{Pairs, RowSource, chunk_bytes};

/// Bytes of a window: a few lines, as short as possible.
const WINDOW_BYTES: u64 = 4 << 10;

/// Adjacent rows of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Share {
    /// Lines of text.
    Text {
        /// Shape of all lines; `None` if no file has a row.
        shape: Option<LineShape>,
        /// Ranges of the lines, in the order of the dataset.
        pieces: Vec<LineRange>,
    },
    /// Chunks of a pair matrix.
    Chunks {
        /// Path of the matrix.
        path: PathBuf,
        /// Index of the first chunk among those that may have a row that passes, and the end index.
        places: (usize, usize),
    },
}

/// Lines that start in a range of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRange {
    /// Path of the file.
    pub path: PathBuf,
    /// Bytes of the file on disk.
    pub file_bytes: u64,
    /// First byte of the range.
    pub offset: u64,
    /// Bytes of the range; `u64::MAX` for a complete compressed file.
    pub size_bytes: u64,
}

impl Pairs {
    /// Returns the bytes to read: text on disk, or the scores of a pair matrix.
    pub fn size_bytes(&self) -> u64 {
        match &self.source {
            RowSource::Text { text, .. } => text.size_bytes(),
            RowSource::Matrix { chunks, .. } => chunks.iter().map(chunk_bytes).sum(),
        }
    }

    /// Cuts the dataset into shares of about `size_bytes`, in order, none empty. A compressed file
    /// is in one share, a small file shares one with its neighbours.
    pub fn shares(&self, size_bytes: u64) -> Vec<Share> {
        match &self.source {
            RowSource::Text { text, .. } => {
                let pieces = text.splits(size_bytes.max(1)).into_iter().map(|split| {
                    let file = &text.files[split.file];
                    LineRange {
                        path: file.path.clone(),
                        file_bytes: file.size_bytes,
                        offset: split.offset,
                        size_bytes: split.size_bytes,
                    }
                });
                let on_disk = |piece: &LineRange| piece.size_bytes.min(piece.file_bytes);
                let shape = text.shape;
                let share = |pieces| Share::Text { shape, pieces };
                grouped(pieces, size_bytes, on_disk).into_iter().map(share).collect()
            }
            RowSource::Matrix { matrix, chunks } => {
                let numbers = grouped(0..chunks.len(), size_bytes, |&n| chunk_bytes(&chunks[n]));
                let path = matrix.path();
                let share = |numbers: Vec<usize>| {
                    let places = (numbers[0], numbers[0] + numbers.len());
                    Share::Chunks { path: path.to_owned(), places }
                };
                numbers.into_iter().map(share).collect()
            }
        }
    }

    /// Returns at most `count` windows of the dataset, at even distances: the lines that start in
    /// short ranges, or complete chunks. `None` if windows would require reading everything.
    pub fn windows(&self, count: u64) -> Option<Self> {
        let size_bytes = self.size_bytes();
        let source = match &self.source {
            RowSource::Text { text, .. } if text.files.iter().any(|file| file.is_packed) => {
                return None;
            }
            RowSource::Text { text, .. } => {
                let mut starts = (0..count).map(|window| {
                    (u128::from(size_bytes) * u128::from(window) / u128::from(count)) as u64
                });
                let (mut splits, mut base, mut next) = (Vec::new(), 0, starts.next());
                for (file, bytes) in text.files.iter().map(|file| file.size_bytes).enumerate() {
                    while let Some(start) = next.filter(|&start| start < base + bytes) {
                        let size_bytes = WINDOW_BYTES.min(base + bytes - start);
                        splits.push(Split { file, offset: start - base, size_bytes });
                        next = starts.find(|&after| after >= start + size_bytes);
                    }
                    base += bytes;
                }
                RowSource::Text { text: text.clone(), splits }
            }
            RowSource::Matrix { matrix, chunks } => {
                let matrix = Box::new(PairMatrix::open(matrix.path()).ok()?);
                let step = chunks.len().div_ceil(count.max(1) as usize).max(1);
                RowSource::Matrix { matrix, chunks: chunks.iter().step_by(step).cloned().collect() }
            }
        };
        Some(Self { source, filter: self.filter, need: self.need })
    }

    /// Opens a share of a dataset.
    ///
    /// # Errors
    /// `Input`, also for a pair matrix that has changed; `System`.
    pub fn of_share(share: Share, filter: &Filter, need: Need) -> Result<Self> {
        let source = match share {
            Share::Text { shape, pieces } => {
                let split = |(file, piece): (usize, &LineRange)| Split {
                    file,
                    offset: piece.offset,
                    size_bytes: piece.size_bytes,
                };
                let splits = pieces.iter().enumerate().map(split).collect();
                let file = |piece: &LineRange| TextFile::new(&piece.path, piece.file_bytes);
                let files = pieces.iter().map(file).collect();
                RowSource::Text { text: TextSource { files, shape, files_skipped: 0 }, splits }
            }
            Share::Chunks { path, places: (first, end) } => {
                let matrix = Box::new(PairMatrix::open(&path)?);
                let chunks = matrix.chunks(Some(filter)).get(first..end).map(<[_]>::to_vec);
                let changed = || format!("{} has changed since the run began", path.display());
                let chunks = chunks.ok_or_else(|| Error::input("input.pairs", changed()))?;
                RowSource::Matrix { matrix, chunks }
            }
        };
        Ok(Self { source, filter: *filter, need })
    }
}

/// Groups adjacent items into groups that fill `size_bytes`.
fn grouped<T>(
    items: impl Iterator<Item = T>,
    size_bytes: u64,
    bytes_of: impl Fn(&T) -> u64,
) -> Vec<Vec<T>> {
    let (mut groups, mut group_space) = (Vec::new(), 0u64);
    for item in items {
        let bytes = bytes_of(&item);
        if group_space == 0 {
            groups.push(Vec::new());
            group_space = size_bytes;
        }
        group_space = group_space.saturating_sub(bytes);
        if let Some(last) = groups.last_mut() {
            last.push(item);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(files: &[(&str, u64)]) -> Pairs {
        let file = |&(name, size_bytes): &(&str, u64)| TextFile::new(name.as_ref(), size_bytes);
        let files = files.iter().map(file).collect();
        let text = TextSource { files, shape: None, files_skipped: 0 };
        let source = RowSource::Text { text, splits: Vec::new() };
        Pairs { source, filter: Filter::EVERYTHING, need: Need::Edge }
    }

    fn places(share: &Share) -> Vec<(String, u64, u64)> {
        let Share::Text { pieces, .. } = share else { return Vec::new() };
        let place = |piece: &LineRange| {
            (piece.path.display().to_string(), piece.offset, piece.size_bytes.min(999))
        };
        pieces.iter().map(place).collect()
    }

    #[test]
    fn shares_cover_the_input_in_order_without_a_gap() {
        let pairs = pairs(&[("a", 25), ("b.gz", 30), ("c", 3), ("d", 0), ("e", 4), ("f", 12)]);
        let shares = pairs.shares(10);
        let share_places: Vec<Vec<_>> = shares.iter().map(places).collect();
        let piece = |name: &str, offset, size| (name.to_owned(), offset, size);
        assert_eq!(
            share_places,
            [
                vec![piece("a", 0, 10)],
                vec![piece("a", 10, 10)],
                vec![piece("a", 20, 5), piece("b.gz", 0, 999)],
                vec![piece("c", 0, 3), piece("e", 0, 4), piece("f", 0, 10)],
                vec![piece("f", 10, 2)],
            ]
        );
        assert_eq!(pairs.shares(1 << 40).len(), 1);
    }

    #[test]
    fn windows_are_at_even_distances_and_never_overlap() {
        let splits = |files: &[(&str, u64)], count| {
            let windows = pairs(files).windows(count)?;
            let RowSource::Text { splits, .. } = windows.source else { return None };
            let place = |split: &Split| (split.file, split.offset, split.size_bytes);
            Some(splits.iter().map(place).collect::<Vec<_>>())
        };
        let files = [("a", 50_000), ("b", 1000), ("c", 49_000)];
        let even = [(0, 0, 4096), (0, 25_000, 4096), (1, 0, 1000), (2, 24_000, 4096)];
        assert_eq!(splits(&files, 4), Some(even.to_vec()));
        assert_eq!(splits(&[("a", 5000)], 4), Some(vec![(0, 0, 4096)]));
        assert_eq!(splits(&[("a", 0)], 4), Some(vec![]));
        assert_eq!(splits(&[("a", 9), ("b.gz", 9)], 4), None);
    }
}
