//! Reader of the tables of an answer, whichever engine wrote them: lines of tab-separated fields
//! below a header, in a single spelling.

use std::path::Path;

use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::limits::SPLIT_BYTES;
use cuesta_input::source::{TextFile, TextSource};
use cuesta_runtime::parallel;

use super::rows::fault;
use super::text::pieces::{Buffer, PaddedLines, Pieces};

/// Table and the parameters of reading it.
pub struct TableFile<'a> {
    /// Path of the file.
    pub path: &'a Path,
    /// First line of the file.
    pub header: &'static str,
    /// Number of threads.
    pub threads: usize,
    /// Progress of the bytes read.
    pub progress: &'a Progress,
}

/// A sentence continuing "line N of FILE ...".
pub type Wrong = String;

impl TableFile<'_> {
    /// Calls `take(worker, part, line)` for each line below the header, in order within a part, on
    /// all threads. Returns the workers, and the parts in the order of the file.
    ///
    /// # Errors
    /// `Input` for another header, a file that does not end in a line feed, or a line that `take`
    /// refuses; `System`; `Cancelled`.
    pub fn each<W: Send, T: Default + Send>(
        &self,
        make: impl Fn() -> W + Sync,
        take: impl Fn(&mut W, &mut T, &[u8]) -> std::result::Result<(), Wrong> + Sync,
    ) -> Result<(Vec<W>, Vec<T>)> {
        let system = |cause| Error::system("verify", "reading", self.path, &cause);
        let size_bytes = std::fs::metadata(self.path).map_err(system)?.len();
        let file =
            TextFile { path: self.path.to_owned(), size_bytes, is_packed: false, zone: None };
        let source = TextSource { files: vec![file], shape: None, files_skipped: 0 };
        let (file, splits) = (&source.files[0], source.splits(SPLIT_BYTES));
        if splits.is_empty() {
            return Err(Error::input("verify", format!("{} is empty", self.path.display())));
        }
        let worker = || (make(), Buffer::default(), Vec::new());
        let work = |(worker, buffer, parts): &mut (W, Buffer, Vec<(usize, T)>), task: usize| {
            let mut part = T::default();
            let mut pieces = Pieces::open(file, &splits[task], buffer)?;
            while let Some(piece) = pieces.next_piece()? {
                let outcome = self.lines(&piece, &mut |line| take(worker, &mut part, line));
                outcome.map_err(|(at, message)| fault(file, piece.offset, at, message))?;
                self.progress.advance((piece.end - piece.start) as u64)?;
            }
            parts.push((task, part));
            Ok(())
        };
        let states = parallel::run(self.threads, splits.len(), worker, work, |_| {})?;
        let (mut workers, mut parts) = (Vec::new(), Vec::new());
        for (worker, _, worker_parts) in states {
            workers.push(worker);
            parts.extend(worker_parts);
        }
        parts.sort_by_key(|&(task, _)| task);
        Ok((workers, parts.into_iter().map(|(_, part)| part).collect()))
    }

    /// Passes the lines of a piece to `take`; an error has the offset of its line in the piece.
    fn lines(
        &self,
        piece: &PaddedLines<'_>,
        take: &mut impl FnMut(&[u8]) -> std::result::Result<(), Wrong>,
    ) -> std::result::Result<(), (usize, Wrong)> {
        let text = &piece.buffer[piece.start..piece.end];
        let mut start = 0;
        if piece.offset == 0 {
            let header = [self.header.as_bytes(), b"\n"].concat();
            if !text.starts_with(&header) {
                let names = self.header.replace('\t', " ");
                return Err((0, format!("is not the header {names}")));
            }
            start = header.len();
        }
        if piece.cut && start == text.len() {
            return Err((0, "has no line feed".to_owned()));
        }
        let first = start;
        for feed in memchr::memchr_iter(b'\n', &text[first..]).map(|feed| first + feed) {
            let last = piece.cut && feed + 1 == text.len();
            let checked = if last { Err("has no line feed".to_owned()) } else { Ok(()) };
            checked.and_then(|()| take(&text[start..feed])).map_err(|message| (start, message))?;
            start = feed + 1;
        }
        Ok(())
    }
}

/// Parses a line of integers below 10^18, without signs or leading zeros.
///
/// # Errors
/// The field that is not an integer, or a different number of fields.
pub fn integers<const N: usize>(line: &[u8]) -> std::result::Result<[u64; N], Wrong> {
    let mut values = [0; N];
    let mut fields = line.split(|&byte| byte == b'\t');
    for value in &mut values {
        let field = fields.next().unwrap_or_default();
        *value = integer(field)?;
    }
    match fields.next() {
        None => Ok(values),
        Some(_) => Err(format!("has more than {N} fields")),
    }
}

/// Parses an integer below 10^18.
///
/// # Errors
/// A sentence with the field.
#[inline]
pub fn integer(field: &[u8]) -> std::result::Result<u64, Wrong> {
    let canonical = matches!(field, [b'0'] | [b'1'..=b'9', ..]) && field.len() <= 18;
    if !canonical || !field.iter().all(u8::is_ascii_digit) {
        let shown = field.escape_ascii().to_string();
        return Err(format!("has \"{shown:.24}\", expected a whole number"));
    }
    Ok(field.iter().fold(0, |sum, &digit| sum * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Vec<[u64; 2]>>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.tsv");
        std::fs::write(&path, text).unwrap();
        let progress = Progress::default();
        let table = TableFile { path: &path, header: "a\tb", threads: 2, progress: &progress };
        let (_, parts) = table.each(
            || (),
            |(), rows: &mut Vec<[u64; 2]>, line| {
                rows.push(integers(line)?);
                Ok(())
            },
        )?;
        Ok(parts)
    }

    #[test]
    fn a_table_is_read_in_order_over_many_parts() {
        let rows: Vec<[u64; 2]> = (0..2_000_000).map(|i| [i, i * i]).collect();
        let text: String = rows.iter().map(|[a, b]| format!("{a}\t{b}\n")).collect();
        let parts = read(&format!("a\tb\n{text}")).unwrap();
        assert!(parts.len() > 2);
        assert!(parts.concat() == rows);
        assert_eq!(read("a\tb\n").unwrap(), [Vec::<[u64; 2]>::new()]);
    }

    #[test]
    fn numbers_have_a_single_spelling() {
        for (text, expected) in [
            ("", "is empty"),
            ("a\tc\n1\t2\n", "is not the header a b"),
            ("a\tb", "has no line feed"),
            ("a\tb\n1\t2", "line 2 of"),
            ("a\tb\n1\t2\n\n", "line 3 of"),
            ("a\tb\n1\t02\n", "\"02\", expected a whole number"),
            ("a\tb\n1\t+2\n", "expected a whole number"),
            ("a\tb\n1\t2\r\n", "expected a whole number"),
            ("a\tb\n1\t2 \n", "expected a whole number"),
            ("a\tb\n1\t2\t\n", "more than 2 fields"),
            ("a\tb\n1\n", "expected a whole number"),
            ("a\tb\n1\t1234567890123456789\n", "expected a whole number"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.message().contains(expected), "{text:?}: {}", error.message());
        }
    }
}
