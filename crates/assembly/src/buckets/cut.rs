//! Cutting of reads into super-k-mers, and refusal of records that are not reads of DNA or RNA.

use std::path::Path;

use cuesta_core::{Error, Result};
use cuesta_input::reads::{ReadBatch, Reads};
use cuesta_input::unpack;

use crate::kernel::scan::{self, ReadCutter, SuperKmer};

/// Cuts the reads of a batch into super-k-mers.
///
/// # Errors
/// `Input` naming the file, the record and the base of a letter that is not of a nucleotide.
pub fn cut(
    reads: &Reads,
    batch: &ReadBatch,
    cutter: &mut impl ReadCutter,
    emit: &mut impl FnMut(&SuperKmer<'_>),
) -> Result<()> {
    for (index, read) in batch.reads().enumerate() {
        cutter
            .take(read, emit)
            .map_err(|base| no_base(reads.place(batch, index), base, read[base]))?;
    }
    cutter.flush(emit);
    Ok(())
}

/// Checks that reads have only IUPAC letters of nucleotides.
///
/// # Errors
/// Like [`cut`].
pub fn check(reads: &Reads, batch: &ReadBatch) -> Result<()> {
    for (index, read) in batch.reads().enumerate() {
        if let Some(base) = read.iter().position(|&letter| scan::is_no_base(letter)) {
            return Err(no_base(reads.place(batch, index), base, read[base]));
        }
    }
    Ok(())
}

/// Returns the error for a byte that is not a letter of a nucleotide: base `base` of a record.
fn no_base((path, record): (&Path, u64), base: usize, byte: u8) -> Error {
    let what = match byte {
        b'@' => {
            "begins a record of FASTQ, among those of FASTA; give each format in files of its own"
        }
        _ if scan::is_amino_acid(byte) => {
            "stands for an amino acid, so these are proteins; give reads of DNA or RNA"
        }
        b' ' | b'\t' => {
            "is a blank; take blanks out, those at the ends of lines with `sed \
             's/[[:blank:]]*$//' FILE`"
        }
        b'0'..=b'3' => "is no nucleotide, but may be a colour of SOLiD; give reads of DNA or RNA",
        _ => "is no nucleotide; give reads of DNA or RNA",
    };
    let (shown, base, letter) = (path.display(), base + 1, char::from(byte));
    let text = format!("{shown}, record {record}, base {base}: {letter:?} {what}");
    unpack::damage_or(path, Error::input("input.reads", text))
}
