//! Sources of gene pairs: text files, plain or compressed, a KINC `clusters-*/NNN/` tree whose
//! folder names are value ranges, or a pair matrix. Text is divided into splits.

use std::io::Read;
use std::path::{Path, PathBuf};

use cuesta_core::fixed::Micro;
use cuesta_core::{Error, Result};

use crate::filter::Filter;
use crate::kinc::{self, LineShape};
use crate::reader::LineBlocks;
use crate::storage::{self, Input};
use crate::table::{HEAD_BYTES, ends_in_returns, kinds};
use crate::unpack::{self, CompressionFormat};

const OPERATION: &str = "input.kinc";
/// Bytes by which a file of another kind is recognised.
const START_BYTES: usize = 4096;

/// A text file of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFile {
    /// Its path.
    pub path: PathBuf,
    /// Its size on disk.
    pub size_bytes: u64,
    /// Whether it is compressed.
    pub is_packed: bool,
    /// The values its rows may have, from the name of its folder.
    pub zone: Option<FolderRange>,
}

impl TextFile {
    /// A file of `size_bytes`. Its first bytes, or the name of a file on another machine, determine
    /// whether it is compressed; the name of its folder determines the zone.
    pub fn new(path: &Path, size_bytes: u64) -> Self {
        let format = format_by_start(path).unwrap_or_else(|| CompressionFormat::of_name(path));
        let is_packed = format.is_packed();
        Self { path: path.to_owned(), size_bytes, is_packed, zone: zone_of(path) }
    }
}

/// Values of |score| a `NNN` folder may hold, in millionths, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FolderRange {
    /// Smallest |score|.
    pub min: Micro,
    /// Largest |score|.
    pub max: Micro,
}

/// A piece of a text file: the lines that start in `offset..offset + size_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// Index into [`TextSource::files`].
    pub file: usize,
    /// First byte.
    pub offset: u64,
    /// Bytes; `u64::MAX` for a complete compressed file.
    pub size_bytes: u64,
}

/// Gene pairs as text.
#[derive(Clone, Debug)]
pub struct TextSource {
    /// The files that may hold rows that pass the filter, in the order of the paths.
    pub files: Vec<TextFile>,
    /// Shape of all lines; `None` when no file holds a row.
    pub shape: Option<LineShape>,
    /// Number of files excluded because their folder's range cannot pass the filter.
    pub files_skipped: usize,
}

impl TextSource {
    /// Lists the files behind `paths` and reads the first data line of the dataset.
    ///
    /// Folders are walked in the order of their names; hidden files are ignored. With `score_index`
    /// 0, a file in a folder named `000` to `100` below `clusters-*` is excluded when no score of
    /// that range passes the filter, and so is a `nan` folder unless everything passes; `skipped`
    /// folders, whose lines have no score, are always excluded.
    ///
    /// # Errors
    /// `Input` when there is no file, or the first data line has no known layout; `System`.
    pub fn open(paths: &[PathBuf], filter: &Filter) -> Result<Self> {
        let mut files = Vec::new();
        for path in paths {
            list(path, &mut files)?;
        }
        if files.is_empty() {
            let names: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
            let text = format!("{} holds no file; give KINC text", names.join(", "));
            return Err(Error::input(OPERATION, text));
        }
        let shape = first_shape(&files)?;
        let count = files.len();
        files.retain(|file| file.zone.is_none_or(|zone| may_pass(zone, filter)));
        let files_skipped = count - files.len();
        Ok(Self { files, shape, files_skipped })
    }

    /// Bytes on disk of the files that will be read.
    pub fn size_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size_bytes).sum()
    }

    /// Divides the files into splits of at most `split_bytes`; a compressed file is a single split.
    pub fn splits(&self, split_bytes: u64) -> Vec<Split> {
        let mut splits = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            if file.is_packed {
                splits.push(Split { file: index, offset: 0, size_bytes: u64::MAX });
                continue;
            }
            let mut offset = 0;
            while offset < file.size_bytes {
                let size_bytes = split_bytes.min(file.size_bytes - offset);
                splits.push(Split { file: index, offset, size_bytes });
                offset += size_bytes;
            }
        }
        splits
    }
}

/// Compression format of a file of this machine by its first bytes; `None` if it cannot be read.
/// These bytes do not count as read by watches of the input.
fn format_by_start(path: &Path) -> Option<CompressionFormat> {
    if storage::uri(path).is_some() {
        return None;
    }
    let mut start = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    // A pipe, which can be read once only, counts as plain text.
    if !file.metadata().ok()?.is_file() {
        return Some(CompressionFormat::Plain);
    }
    file.take(unpack::START_BYTES).read_to_end(&mut start).ok()?;
    Some(CompressionFormat::of(&start))
}

/// The shape of the first data line of `file`, or `None` when it has none.
///
/// # Errors
/// `Input` when the line has no known layout; `System`.
pub fn shape_of_file(file: &TextFile) -> Result<Option<LineShape>> {
    if !file.is_packed {
        check_start(file)?;
    }
    let entire = Split { file: 0, offset: 0, size_bytes: u64::MAX };
    let mut blocks = LineBlocks::open(file, &entire)?;
    let mut line_number = 0;
    while let Some(block) = blocks.next_block()? {
        if line_number == 0 && file.is_packed {
            check_text(&file.path, &block.bytes[..block.size_bytes])?;
        }
        for line in block.bytes[..block.size_bytes].split(|&byte| byte == b'\n') {
            line_number += 1;
            if !kinc::line::is_blank(line) {
                return kinc::shape_of(line)
                    .map(Some)
                    .map_err(|what| at_line(&file.path, line_number, &what))
                    .map_err(|error| unpack::damage_or(&file.path, error));
            }
        }
    }
    Ok(None)
}

/// Refuses a file as [`check_text`] does, by its first bytes.
fn check_start(file: &TextFile) -> Result<()> {
    let failed = |cause| Error::system(OPERATION, "reading", &file.path, &cause);
    let mut start = [0; START_BYTES];
    let input = Input::open(&file.path).map_err(failed)?;
    let count = input.read_at(&mut start, 0).map_err(failed)?;
    check_text(&file.path, &start[..count])
}

/// Refuses files of another kind by their first bytes, and lines that end in returns alone.
fn check_text(path: &Path, bytes: &[u8]) -> Result<()> {
    let start = &bytes[..bytes.len().min(HEAD_BYTES)];
    let what = match kinds::check_text(start) {
        Err(what) => what,
        Ok(()) if ends_in_returns(start) => {
            "ends its lines in carriage returns alone; convert it with tr '\\r' '\\n'".to_owned()
        }
        Ok(()) => return Ok(()),
    };
    let error = Error::input(OPERATION, format!("{} {what}", path.display()));
    Err(unpack::damage_or(path, error))
}

/// An error about a line: `input.kinc: line N of FILE what`.
pub fn at_line(path: &Path, line_number: u64, what: &str) -> Error {
    Error::input(OPERATION, format!("line {line_number} of {} {what}", path.display()))
}

fn first_shape(files: &[TextFile]) -> Result<Option<LineShape>> {
    for file in files {
        if let Some(shape) = shape_of_file(file)? {
            return Ok(Some(shape));
        }
    }
    Ok(None)
}

fn may_pass(zone: FolderRange, filter: &Filter) -> bool {
    filter.keeps_everything()
        || filter.score_index != 0
        || (zone.max >= filter.min_abs && zone.min <= filter.max_abs)
}

fn list(path: &Path, files: &mut Vec<TextFile>) -> Result<()> {
    let system = |cause| Error::system(OPERATION, "opening", path, &cause);
    let facts = storage::metadata(path).map_err(system)?;
    if facts.is_file {
        files.push(TextFile::new(path, facts.size_bytes));
        return Ok(());
    }
    if !facts.is_folder {
        let text = format!("{} is neither a file nor a folder; give KINC text", path.display());
        return Err(Error::input(OPERATION, text));
    }
    for child in storage::list(path).map_err(system)? {
        let name = child.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let unscored = in_tree(path) && name == "skipped";
        if !name.starts_with('.') && !unscored {
            list(&child, files)?;
        }
    }
    Ok(())
}

/// Whether `folder` is a `clusters-*` folder.
fn in_tree(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("clusters-"))
}

/// The value range of a file at `clusters-*/NNN/file`; that of a `nan` folder is beyond all scores.
///
/// KINC names the folder `int(|score| * 100)` before it rounds the score to six decimals, so the
/// range is one millionth wider at its lower end and closed at its upper end.
fn zone_of(path: &Path) -> Option<FolderRange> {
    let folder = path.parent()?;
    if !in_tree(folder.parent()?) {
        return None;
    }
    let name = folder.file_name()?.to_str()?;
    if name == "nan" {
        return Some(FolderRange { min: Micro::MAX, max: Micro::MAX });
    }
    if name.len() != 3 || !name.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let hundredths: Micro = name.parse().ok().filter(|&value| value <= 100)?;
    Some(FolderRange { min: hundredths * 10_000 - 1, max: (hundredths + 1) * 10_000 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::FilterParams;
    use std::fs;

    const LINE: &str = "7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11910711\n";

    #[test]
    fn a_tree_is_read_in_order_and_skipped_by_its_folder_names() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("clusters-sc/087/a.txt", LINE),
            ("clusters-sc/050/a.txt", LINE),
            ("clusters-sc/nan/a.txt", &LINE.replace("0.871000", "nan")),
            ("clusters-sc/skipped/a.txt", "1\t2\n"),
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let params = FilterParams { min_abs_score: 0.8, ..FilterParams::default() };
        let paths = [folder.path().to_owned()];
        let source = TextSource::open(&paths, &params.check().unwrap()).unwrap();
        assert_eq!((source.files.len(), source.files_skipped), (1, 2));
        assert!(source.files[0].path.ends_with("clusters-sc/087/a.txt"));
        let all = TextSource::open(&paths, &FilterParams::default().check().unwrap()).unwrap();
        assert_eq!(all.files.len(), 2);
        assert_eq!(TextSource::open(&paths, &Filter::EVERYTHING).unwrap().files.len(), 3);
    }

    #[test]
    fn splits_cover_a_file_once() {
        let source = TextSource {
            files: vec![TextFile::new(Path::new("a.txt"), 25), TextFile::new(Path::new("b.gz"), 9)],
            shape: None,
            files_skipped: 0,
        };
        let splits = source.splits(10);
        let plain: Vec<_> = splits.iter().map(|s| (s.file, s.offset, s.size_bytes)).collect();
        assert_eq!(plain, [(0, 0, 10), (0, 10, 10), (0, 20, 5), (1, 0, u64::MAX)]);
    }

    #[test]
    fn a_folder_range_holds_its_rounded_scores() {
        let zone = zone_of(Path::new("/d/clusters-sc/083/x.txt")).unwrap();
        assert_eq!((zone.min, zone.max), (829_999, 840_000));
        assert_eq!(zone_of(Path::new("/d/other/083/x.txt")), None);
        assert_eq!(zone_of(Path::new("/d/clusters-sc/101/x.txt")), None);
    }
}
