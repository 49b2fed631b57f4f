//! Records of the sort benchmarks: 100 bytes, the first ten of which are the key. A dataset is one
//! file or several, one after the other; a folder stands for the files in it.

use std::ops::Range;
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};

use crate::storage;
use crate::unpack::{self, CompressionFormat};

/// Bytes of a record.
pub const RECORD_BYTES: usize = 100;
/// Bytes of its key.
pub const KEY_BYTES: usize = 10;
/// Most records of a dataset: a position takes 48 bits.
pub const RECORDS_MAX: u64 = 1 << 48;

const OPERATION: &str = "input.records";

/// A record.
pub type Record = [u8; RECORD_BYTES];

/// The files of a dataset and where each begins.
#[derive(Clone, Debug)]
pub struct RecordFiles {
    files: Vec<RecordFile>,
    records: u64,
}

#[derive(Clone, Debug)]
struct RecordFile {
    path: PathBuf,
    first: u64,
    records: u64,
}

/// The part of a file within a range of records.
#[derive(Debug)]
pub struct FileRange<'a> {
    /// The file.
    pub path: &'a Path,
    /// Offset of the part in the file.
    pub offset: u64,
    /// The records, counted from the start of the range.
    pub range: Range<usize>,
}

impl RecordFiles {
    /// Inspects the files of `paths`, in that order. A folder stands for the files directly in it,
    /// in the order of their names, without those that begin with `.` or `_`, as in Hadoop.
    ///
    /// # Errors
    /// `Input` naming a file whose size is not a multiple of a record, or a folder without files;
    /// `System`.
    pub fn open(paths: &[PathBuf]) -> Result<Self> {
        let mut dataset = Self { files: Vec::new(), records: 0 };
        for path in paths {
            if storage::metadata(path).is_ok_and(|facts| facts.is_folder) {
                files_in(path)?.into_iter().try_for_each(|file| dataset.add(file))?;
            } else {
                dataset.add(path.clone())?;
            }
        }
        if dataset.records > RECORDS_MAX {
            let text =
                format!("{} records, at most {RECORDS_MAX} can be told apart", dataset.records);
            return Err(Error::input(OPERATION, text));
        }
        Ok(dataset)
    }

    fn add(&mut self, path: PathBuf) -> Result<()> {
        let facts = storage::metadata(&path)
            .map_err(|cause| Error::system(OPERATION, "opening", &path, &cause))?;
        if !facts.is_file {
            let text = format!("{} is not a regular file; copy it into one", path.display());
            return Err(Error::input(OPERATION, text));
        }
        let (size_bytes, each) = (facts.size_bytes, RECORD_BYTES as u64);
        if let Some(program) = packed_by(&path) {
            let text = format!(
                "{} is packed by {program}, records are read as they are; unpack it first",
                path.display()
            );
            return Err(Error::input(OPERATION, text));
        }
        let surplus = size_bytes % each;
        if surplus != 0 {
            let text = format!(
                "{} has {size_bytes} bytes, {surplus} more than a whole number of records of \
                 {RECORD_BYTES} bytes; if it is cut short, obtain it again; lines of text are no \
                 records",
                path.display()
            );
            return Err(Error::input(OPERATION, text));
        }
        let records = size_bytes / each;
        self.files.push(RecordFile { path, first: self.records, records });
        self.records += records;
        Ok(())
    }

    /// Records of all files.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The pieces of the files that hold records `first..first + count`.
    pub fn pieces(&self, first: u64, count: usize) -> impl Iterator<Item = FileRange<'_>> {
        let end = first + count as u64;
        let start = self.files.partition_point(|file| file.first + file.records <= first);
        let held = self.files[start..].iter().take_while(move |file| file.first < end);
        held.filter(|file| file.records > 0).map(move |file| {
            let from = first.max(file.first);
            let to = end.min(file.first + file.records);
            FileRange {
                path: &file.path,
                offset: (from - file.first) * RECORD_BYTES as u64,
                range: (from - first) as usize..(to - first) as usize,
            }
        })
    }
}

/// The program that packed a file, by its first bytes. Random keys of records begin so in a file of
/// a hundred million: the two bytes of gzip alone are not enough.
fn packed_by(path: &Path) -> Option<&'static str> {
    let input = storage::Input::open(path).ok()?;
    let mut start = vec![0; input.size_bytes().ok()?.min(unpack::START_BYTES) as usize];
    input.read_exact_at(&mut start, 0).ok()?;
    let packing = CompressionFormat::of(&start);
    let is_deflated = matches!(start[..], [_, _, 8, ..0x20, ..]);
    (packing.is_packed() && (!packing.is_gzip() || is_deflated)).then(|| packing.name())
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |cause| Error::system(OPERATION, "listing", folder, &cause);
    let hidden = |path: &Path| {
        let first = path.file_name().and_then(|name| name.as_encoded_bytes().first());
        matches!(first, Some(b'.' | b'_'))
    };
    let mut files = storage::list(folder).map_err(failed)?;
    files.retain(|path| !hidden(path) && storage::metadata(path).is_ok_and(|facts| facts.is_file));
    if files.is_empty() {
        let text = format!("{} has no files of records in it", folder.display());
        return Err(Error::input(OPERATION, text));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn make(folder: &Path, name: &str, size_bytes: usize) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, vec![7; size_bytes]).unwrap();
        path
    }

    #[test]
    fn a_range_is_cut_where_files_end() {
        let folder = tempfile::tempdir().unwrap();
        let paths = [("b", 300), ("empty", 0), ("a", 200)]
            .map(|(name, size)| make(folder.path(), name, size));
        let files = RecordFiles::open(&paths).unwrap();
        assert_eq!(files.records(), 5);
        let pieces: Vec<_> =
            files.pieces(1, 3).map(|piece| (piece.path, piece.offset, piece.range)).collect();
        assert_eq!(pieces, [(&*paths[0], 100, 0..2), (&*paths[2], 0, 2..3)]);
        assert_eq!(files.pieces(5, 0).count(), 0);
    }

    #[test]
    fn a_packed_file_is_refused_though_its_size_is_that_of_records() {
        let folder = tempfile::tempdir().unwrap();
        let path = make(folder.path(), "a", 100);
        for (start, program) in [(&b"\x1f\x8b\x08\x00"[..], "gzip"), (b"\x28\xb5\x2f\xfd", "zstd")]
        {
            fs::write(&path, [start, &[0; 96]].concat()).unwrap();
            let error = RecordFiles::open(std::slice::from_ref(&path)).unwrap_err();
            assert!(error.message().contains(&format!("packed by {program}")), "{error}");
        }
        fs::write(&path, [&b"\x1f\x8b\x07\x00"[..], &[0; 96]].concat()).unwrap();
        assert_eq!(RecordFiles::open(&[path]).unwrap().records(), 1);
    }

    #[test]
    fn a_folder_stands_for_its_files_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["part-m-00001", "part-m-00000", "_SUCCESS", ".part-m-00000.crc"] {
            make(folder.path(), name, 100);
        }
        let files = RecordFiles::open(&[folder.path().to_owned()]).unwrap();
        let names: Vec<_> = files.pieces(0, 2).filter_map(|piece| piece.path.file_name()).collect();
        assert_eq!(names, ["part-m-00000", "part-m-00001"]);
    }

    #[test]
    fn a_path_that_is_not_a_dataset_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |path: PathBuf| RecordFiles::open(&[path]).unwrap_err().message();
        assert!(refused(folder.path().to_owned()).contains("no files of records"));
        assert!(refused(folder.path().join("absent")).contains("check the path"));
        assert!(refused(PathBuf::from("/dev/null")).contains("not a regular file"));
        let text = refused(make(folder.path(), "cut.dat", 250));
        assert!(text.contains("cut.dat has 250 bytes, 50 more"), "{text}");
    }
}
