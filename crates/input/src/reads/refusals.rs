//! Error messages for files of reads that are refused.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cuesta_core::{Error, Result};
use needletail::errors::{ParseError, ParseErrorKind};
use needletail::parser::Format;

use super::mates::Pair;
use super::{OPERATION, text, trim};
use crate::unpack;

/// Remedy for interleaved reads of which some have no mate.
const REPAIR: &str = "pair the reads with BBTools (repair.sh in=FILE out=pairs.fq \
                      outs=singles.fq) and give pairs.fq --interleaved -s singles.fq";

/// A record of a file, by the number of records before it.
pub(super) struct RecordPlace<'p> {
    pub(super) path: &'p Path,
    pub(super) before: u64,
}

/// A text that records its failure and reports it as the end of the text: the parser panics when it
/// continues after a failure.
pub(super) struct Guarded {
    pub(super) text: Box<dyn Read + Send>,
    pub(super) fault: StorageFault,
}

/// The failure of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct StorageFault(std::sync::Arc<Mutex<Option<io::Error>>>);

impl StorageFault {
    /// Returns the failure of the text of a file, if any.
    ///
    /// # Errors
    /// `Input` for compressed bytes that are truncated or damaged; `System`.
    pub(super) fn check(&self, path: &Path) -> Result<()> {
        let fault = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        fault.as_ref().map_or(Ok(()), |cause| Err(unpack::failure(OPERATION, path, cause)))
    }
}

impl Read for Guarded {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.text.read(into) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                let mut fault = self.fault.0.lock().unwrap_or_else(PoisonError::into_inner);
                fault.get_or_insert(error);
                Ok(0)
            }
            result => result,
        }
    }
}

/// Numbers of bases and qualities of a record, extracted from the parser's message.
fn lengths(message: &str) -> Option<(u64, u64)> {
    let mut numbers = message.split_whitespace().filter_map(|word| word.parse().ok());
    numbers.next().zip(numbers.next())
}

fn unequal(message: &str) -> String {
    match lengths(message) {
        Some((bases, qualities)) => format!("{bases} bases but {qualities} qualities"),
        None => "more or fewer qualities than bases".to_owned(),
    }
}

/// Whether qualities are missing, and the text ends within a line: the record is then the last.
fn is_cut(path: &Path, message: &str) -> bool {
    let (mut last, mut block) = (b'\n', vec![0; text::START_BYTES]);
    let Ok(mut text) = unpack::open(path) else { return false };
    while let Ok(count @ 1..) = text.read(&mut block) {
        last = block[count - 1];
    }
    last != b'\n' && lengths(message).is_some_and(|(bases, qualities)| qualities < bases)
}

/// Whether the bases of a record of FASTQ have a blank after them.
fn has_blank_after_bases(place: &RecordPlace<'_>) -> bool {
    let Ok(text) = unpack::open(place.path).and_then(text::records) else { return false };
    let mut lines = BufReader::with_capacity(text::START_BYTES, text.text).split(b'\n');
    let bases = usize::try_from(place.before).ok().and_then(|count| lines.nth(4 * count + 1));
    let Some(Ok(bases)) = bases else { return false };
    let after = &bases[bases.trim_ascii_end().len()..];
    after.iter().any(|byte| b" \t".contains(byte))
}

/// Refusal of a file whose reads are in colour space.
pub(super) fn colours(path: &Path) -> Error {
    let text = format!(
        "{} has reads in SOLiD's colour space (a base, then colours from 0 to 3), which is not \
         read; give reads of bases",
        path.display()
    );
    Error::input(OPERATION, text)
}

/// Whether a record among those of FASTQ is one of FASTA. The parser's message has its first byte.
fn is_mixed(error: &ParseError) -> bool {
    error.format == Some(Format::Fastq) && error.msg.ends_with("found '>")
}

/// Message about a record within which a file ends. The records before it are not used either: an
/// assembly of a part of the reads would look like one of all.
fn cut(place: &RecordPlace<'_>) -> String {
    let remedy = match place.before {
        0 => String::new(),
        before => format!(", or give the {before} whole records before it"),
    };
    format!("the file is cut short within this record; obtain it again{remedy}")
}

/// Refusal of a file at a record.
pub(super) fn refusal(place: &RecordPlace<'_>, error: &ParseError) -> Error {
    let path = place.path.display();
    if let Some(form) = form_of(place.path) {
        return Error::input(OPERATION, format!("{path} {form}"));
    }
    let what = match error.kind {
        ParseErrorKind::Io => format!("cannot be read: {}; obtain it again", error.msg),
        ParseErrorKind::UnknownFormat => {
            "is neither FASTQ nor FASTA; give reads in one of them".to_owned()
        }
        ParseErrorKind::InvalidStart if is_mixed(error) => {
            "a record of FASTA among those of FASTQ; give each format in files of its own"
                .to_owned()
        }
        ParseErrorKind::InvalidStart => {
            "a record begins with neither @ nor >; blank lines and other text are not read there, \
             take them out"
                .to_owned()
        }
        ParseErrorKind::InvalidSeparator => {
            "the line before the qualities is no +; where the lines of bases are wrapped, join \
             them with `seqtk seq -l 0 FILE`"
                .to_owned()
        }
        ParseErrorKind::UnequalLengths if is_cut(place.path, &error.msg) => cut(place),
        ParseErrorKind::UnequalLengths => {
            let remedy = match has_blank_after_bases(place) {
                true => {
                    "a blank follows the bases: take out blanks at the ends of lines with `sed \
                         's/[[:blank:]]*$//' FILE`"
                }
                false => "obtain it again",
            };
            format!("{}; {remedy}", unequal(&error.msg))
        }
        ParseErrorKind::UnexpectedEnd => cut(place),
        ParseErrorKind::EmptyFile => "holds no read; give FASTQ or FASTA".to_owned(),
    };
    // The parser has no line for some errors.
    let line = match error.position.line {
        0 => String::new(),
        line => format!(", line {line}"),
    };
    Error::input(OPERATION, format!("{path}, record {}{line}: {what}", place.before + 1))
}

/// Refusal of a record with a byte among its qualities that is none.
pub(super) fn no_quality(place: &RecordPlace<'_>, qualities: &[u8]) -> Error {
    let byte = qualities.iter().copied().find(|byte| !trim::is_quality(*byte));
    let text = format!(
        "{}, record {}: the byte {:#04x} in its last line is no quality, those are signs from ! to \
         ~; take out blanks at the ends of lines, or obtain it again",
        place.path.display(),
        place.before + 1,
        byte.unwrap_or_default(),
    );
    Error::input(OPERATION, text)
}

/// The format of a file that does not hold reads, with a remedy.
fn form_of(path: &Path) -> Option<String> {
    let mut start = Vec::new();
    let text = unpack::open(path).ok()?;
    text.take(text::START_BYTES as u64).read_to_end(&mut start).ok()?;
    text::other_form(&start)
}

/// The error of a read without a mate in files called `names`, after `pairs` pairs.
pub(super) fn odd(names: &str, reads_per_file: usize, pairs: u64) -> Error {
    let text = match reads_per_file {
        1 => format!(
            "{names} do not have equally many reads: one ends after {pairs}; obtain it again, or \
             give reads without a mate by -s"
        ),
        _ => format!(
            "{names} has an odd number of reads: the last, after {pairs} pairs, has no mate; \
             obtain it again, or {REPAIR}"
        ),
    };
    Error::input(OPERATION, text)
}

/// The error of two reads assumed to be a pair whose names do not match.
pub(super) fn mismatch(paths: &[PathBuf], (pair, [first, second]): Pair) -> Error {
    let unchecked = "--unchecked-mates if names say nothing of pairs";
    let text = match paths {
        [first_file, second_file, ..] => format!(
            "{}, record {}: its name differs from that of its mate in {} ({first:?}, {second:?}), \
             or both are the same read of a pair; give reads that are in step, or {unchecked}",
            first_file.display(),
            pair + 1,
            second_file.display(),
        ),
        _ => format!(
            "{}, records {} and {}: the names of a pair differ ({first:?}, {second:?}), or are of \
             the same read of it, so that the first may have no mate; {REPAIR}, give files of \
             first and of second reads by -1 and -2, or {unchecked}",
            paths.first().map(|path| path.display().to_string()).unwrap_or_default(),
            2 * pair + 1,
            2 * pair + 2,
        ),
    };
    Error::input(OPERATION, text)
}
