//! Why a file of reads is refused, in words for whoever gave it.

use std::path::Path;

use cuesta_core::Error;
use needletail::errors::{ParseError, ParseErrorKind};

use super::OPERATION;

/// How many bases and qualities a record has, from the numbers in the parser's words.
fn unequal(message: &str) -> String {
    let mut numbers = message.split_whitespace().filter(|word| word.parse::<u64>().is_ok());
    match (numbers.next(), numbers.next()) {
        (Some(bases), Some(qualities)) => format!("{bases} bases but {qualities} qualities"),
        _ => "more or fewer qualities than bases".to_owned(),
    }
}

/// What is wrong with a file, after so many of its records.
pub(super) fn refusal(path: &Path, given: u64, error: &ParseError) -> Error {
    let what = match error.kind {
        ParseErrorKind::Io => format!("cannot be read: {}; obtain it again", error.msg),
        ParseErrorKind::UnknownFormat => "is neither FASTQ nor FASTA".to_owned(),
        ParseErrorKind::InvalidStart => "a record begins with neither @ nor >".to_owned(),
        ParseErrorKind::InvalidSeparator => "the line before the qualities is no +".to_owned(),
        ParseErrorKind::UnequalLengths => {
            format!("{}; obtain it again", unequal(&error.msg))
        }
        ParseErrorKind::UnexpectedEnd => "the file is cut short; obtain it again".to_owned(),
        ParseErrorKind::EmptyFile => "holds no read; give FASTQ or FASTA".to_owned(),
    };
    let text =
        format!("{}, record {}, line {}: {what}", path.display(), given + 1, error.position.line);
    Error::input(OPERATION, text)
}
