//! Check that files of reads hold different reads: a copy that is packed, wrapped or named in
//! another way would count each of its reads twice, and is not its own mate file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};

use super::{FEW_BYTES, OPERATION, Pairing, ReadBatch, Reads};
use crate::storage;

/// Refuses files of which two hold equal reads in the same order. Files with the same first read
/// are compared up to the first read that differs; those of unknown bases alone pass.
///
/// # Errors
/// `Input` naming both; `System`.
pub fn require(paths: &[PathBuf]) -> Result<()> {
    if paths.len() < 2 {
        return Ok(());
    }
    let mut by_first_read: HashMap<Vec<u8>, Vec<&PathBuf>> = HashMap::new();
    for path in paths {
        let metadata = storage::metadata(path)
            .map_err(|cause| Error::system(OPERATION, "opening", path, &cause))?;
        if !metadata.is_file || metadata.size_bytes == 0 {
            continue;
        }
        // The pass over the reads reports a file that cannot be read.
        let Ok(Some(first)) = Sequences::open(path).and_then(|mut reads| reads.next()) else {
            continue;
        };
        let alike = by_first_read.entry(first).or_default();
        for other in &*alike {
            if have_equal_reads(path, other).unwrap_or(false) {
                let (first, second) = (other.display(), path.display());
                let text = format!(
                    "{first} and {second} hold the same reads, given twice; give each file of \
                     reads once"
                );
                return Err(Error::input(OPERATION, text));
            }
        }
        alike.push(path);
    }
    Ok(())
}

/// The sequences of a file in upper case, one after the other.
struct Sequences {
    reads: Reads,
    batch: ReadBatch,
    next: usize,
}

impl Sequences {
    fn open(path: &Path) -> Result<Self> {
        let reads = Reads::open_in(&[path.to_owned()], Pairing::NONE, FEW_BYTES)?;
        Ok(Self { reads, batch: ReadBatch::default(), next: 0 })
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        if self.next == self.batch.len() {
            self.next = 0;
            if !self.reads.next(&mut self.batch)? {
                return Ok(None);
            }
        }
        self.next += 1;
        Ok(Some(self.batch.read(self.next - 1).to_ascii_uppercase()))
    }
}

fn have_equal_reads(left: &Path, right: &Path) -> Result<bool> {
    let (mut left, mut right) = (Sequences::open(left)?, Sequences::open(right)?);
    let mut has_bases = false;
    loop {
        let (read, other) = (left.next()?, right.next()?);
        if read != other {
            return Ok(false);
        }
        match read {
            Some(read) => has_bases |= read.iter().any(|base| b"ACGTU".contains(base)),
            None => return Ok(has_bases),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A copy of a file in another packing or with other ends of lines was accepted as its mates:
    /// only bytes were compared. Now the reads are.
    #[test]
    fn a_copy_is_noticed_in_any_packing_and_layout() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let record =
            |index: usize| format!("@r{index}\nACGTAC{}\n+\nIIIIIII\n", &"ACGT"[index % 4..][..1]);
        let text: String = (0..9000).map(record).collect();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        let fasta: String = (0..9000)
            .map(|index| format!(">s{index}\nacgt\nac{}\n", &"acgt"[index % 4..][..1]))
            .collect();
        for (name, content) in [
            ("packed", packed.finish().unwrap()),
            ("windows", text.replace('\n', "\r\n").into_bytes()),
            ("fasta", fasta.into_bytes()),
            ("plain", text.clone().into_bytes()),
        ] {
            std::fs::write(path(name), content).unwrap();
        }
        for name in ["packed", "windows", "fasta"] {
            for pair in [["plain", name], [name, "plain"]] {
                let error = require(&pair.map(path)).unwrap_err();
                assert!(error.message().contains("hold the same reads"), "{error}");
            }
        }
        std::fs::write(path("more"), text.clone() + &record(9000)).unwrap();
        std::fs::write(path("last"), text.replace("@r8999\nACGTACT", "@r8999\nACGTACA")).unwrap();
        std::fs::write(path("cut"), &text[..text.len() - 3]).unwrap();
        assert!(require(&["plain", "more", "last", "cut"].map(path)).is_ok());
    }

    #[test]
    fn files_of_unknown_bases_alone_are_no_copies() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["1", "2"].map(|name| folder.path().join(name));
        for (bases, is_accepted) in [("NNNNNNN", true), ("NNNANNN", false)] {
            for path in &paths {
                std::fs::write(path, format!("@r\n{bases}\n+\nIIIIIII\n").repeat(9)).unwrap();
            }
            assert_eq!(require(&paths).is_ok(), is_accepted, "{bases}");
        }
    }
}
