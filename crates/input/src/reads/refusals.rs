//! Why a file of reads is refused, in words for whoever gave it.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cuesta_core::{Error, Result};
use needletail::errors::{ParseError, ParseErrorKind};

use super::mates::Pair;
use super::{OPERATION, text};
use crate::unpack;

/// A record of a file, by how many are before it.
pub(super) struct RecordPlace<'p> {
    pub(super) path: &'p Path,
    pub(super) before: u64,
}

/// A text whose failures are kept, and look like its end: the parser panics when it goes on after
/// one.
pub(super) struct Guarded {
    pub(super) text: Box<dyn Read + Send>,
    pub(super) fault: StorageFault,
}

/// The failure of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct StorageFault(std::sync::Arc<Mutex<Option<io::Error>>>);

impl StorageFault {
    /// Refuses what was read of a file after its text has failed.
    ///
    /// # Errors
    /// `Input` for packed bytes that are cut or broken; `System`.
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
            found => found,
        }
    }
}

/// How many bases and qualities a record has, from the numbers in the parser's words.
fn unequal(message: &str) -> String {
    let mut numbers = message.split_whitespace().filter(|word| word.parse::<u64>().is_ok());
    match (numbers.next(), numbers.next()) {
        (Some(bases), Some(qualities)) => format!("{bases} bases but {qualities} qualities"),
        _ => "more or fewer qualities than bases".to_owned(),
    }
}

/// Refusal of a file at a record.
pub(super) fn refusal(place: &RecordPlace<'_>, error: &ParseError) -> Error {
    let path = place.path.display();
    if let Some(form) = form_of(place.path) {
        return Error::input(OPERATION, format!("{path} {form}"));
    }
    let what = match error.kind {
        ParseErrorKind::Io => format!("cannot be read: {}; obtain it again", error.msg),
        ParseErrorKind::UnknownFormat => "is neither FASTQ nor FASTA".to_owned(),
        ParseErrorKind::InvalidStart => {
            "a record begins with neither @ nor >; blank lines and other text are not read there"
                .to_owned()
        }
        ParseErrorKind::InvalidSeparator => {
            "the line before the qualities is no +; where the lines of bases are wrapped, join \
             them with `seqtk seq -l 0 FILE`"
                .to_owned()
        }
        ParseErrorKind::UnequalLengths => {
            format!("{}; obtain it again", unequal(&error.msg))
        }
        ParseErrorKind::UnexpectedEnd => "the file is cut short; obtain it again".to_owned(),
        ParseErrorKind::EmptyFile => "holds no read; give FASTQ or FASTA".to_owned(),
    };
    let text = format!("{path}, record {}, line {}: {what}", place.before + 1, error.position.line);
    Error::input(OPERATION, text)
}

/// The form that a file is in, with a remedy, where it is none of reads.
fn form_of(path: &Path) -> Option<&'static str> {
    let mut start = Vec::new();
    let text = unpack::open(path).ok()?;
    text.take(text::START_BYTES as u64).read_to_end(&mut start).ok()?;
    text::other_form(&start)
}

/// Two reads that are taken for a pair have names that do not go together.
pub(super) fn strangers(paths: &[PathBuf], (pair, [one, two]): Pair) -> Error {
    let remedy = "give reads that are in step, or --unchecked-mates if names say nothing of pairs";
    let text = match paths {
        [one_file, two_file, ..] => format!(
            "{}, record {}: its name differs from that of its mate in {} ({one:?}, {two:?}); \
             {remedy}",
            one_file.display(),
            pair + 1,
            two_file.display(),
        ),
        _ => format!(
            "{}, records {} and {}: the names of a pair differ ({one:?}, {two:?}); {remedy}",
            paths.first().map(|path| path.display().to_string()).unwrap_or_default(),
            2 * pair + 1,
            2 * pair + 2,
        ),
    };
    Error::input(OPERATION, text)
}
