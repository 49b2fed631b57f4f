//! Text with a point a line, brought into the form of `.npy` files.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};

use super::{Coordinate, OPERATION};
use crate::limits::LINE_BYTES_MAX;
use crate::npy;
use crate::storage::Input;
use cuesta_runtime::ordered::OrderedFile;
use cuesta_runtime::parallel;

/// Bytes of text of one task.
const TEXT_BYTES: u64 = 1 << 20;
/// Bytes of a bad word that a message shows.
const WORD_BYTES_MAX: usize = 40;

/// Writes the points of text files as one `.npy` file; returns how many bytes of text they are.
///
/// A point a line; numbers separated by commas, semicolons, spaces or tabs; empty lines and lines
/// that start with `#` are passed over. A number is the nearest double, then the nearest `T`.
///
/// # Errors
/// `Input` naming the line that holds no number or another count of numbers than the first line;
/// `System`; `Cancelled`.
pub fn convert<T: Coordinate>(
    files: &[PathBuf],
    output: &Path,
    threads: usize,
    progress: &Progress,
) -> Result<u64> {
    let texts = files.iter().map(|path| Text::open(path)).collect::<Result<Vec<_>>>()?;
    let mut dimensions = 0;
    for text in &texts {
        dimensions = text.first_width()?;
        if dimensions > 0 {
            break;
        }
    }
    if dimensions == 0 {
        let text = format!("{} holds no point", texts[0].path.display());
        return Err(Error::input(OPERATION, text));
    }
    let tasks: Vec<(&Text, u64)> = texts
        .iter()
        .flat_map(|text| {
            (0..text.size_bytes).step_by(TEXT_BYTES as usize).map(move |at| (text, at))
        })
        .collect();
    let size_bytes = texts.iter().map(|text| text.size_bytes).sum();
    progress.expect(size_bytes);
    let out = OrderedFile::create(output)?;
    let rows = AtomicU64::new(0);
    let work = |buffers: &mut (Vec<u8>, Vec<u8>), task: usize| {
        let (text, offset) = tasks[task];
        let (lines, numbers) = buffers;
        if task == 0 {
            numbers.extend_from_slice(&npy::header(T::ELEMENT.descr(), "(0, 0)"));
        }
        let before = text.load(offset, lines)?;
        rows.fetch_add(
            text.parse::<T>(
                &lines[before..],
                offset.saturating_sub(1) + before as u64,
                dimensions,
                numbers,
            )?,
            Ordering::Relaxed,
        );
        out.finish_task(task, numbers)?;
        progress.advance(TEXT_BYTES.min(text.size_bytes - offset))
    };
    parallel::run(threads, tasks.len(), Default::default, work, |task| out.fail(task))?;
    out.close()?;
    let shape = format!("({}, {dimensions})", rows.into_inner());
    let failed = |cause| Error::system(OPERATION, "writing", output, &cause);
    let mut file = OpenOptions::new().write(true).open(output).map_err(failed)?;
    file.write_all(&npy::header(T::ELEMENT.descr(), &shape)).map_err(failed)?;
    Ok(size_bytes)
}

struct Text {
    path: PathBuf,
    file: Input,
    size_bytes: u64,
}

impl Text {
    fn open(path: &Path) -> Result<Self> {
        let failed = |cause| Error::system(OPERATION, "opening", path, &cause);
        let file = Input::open(path).map_err(failed)?;
        let size_bytes = file.size_bytes().map_err(failed)?;
        Ok(Self { path: path.to_owned(), file, size_bytes })
    }

    fn failed(&self, cause: &std::io::Error) -> Error {
        Error::system(OPERATION, "reading", &self.path, cause)
    }

    /// Loads the lines that start in the task at `offset`; returns where the first of them is.
    fn load(&self, offset: u64, lines: &mut Vec<u8>) -> Result<usize> {
        let start = offset.saturating_sub(1);
        let end = self.size_bytes.min(offset + TEXT_BYTES);
        lines.resize((end - start) as usize, 0);
        self.file.read_exact_at(lines, start).map_err(|cause| self.failed(&cause))?;
        let newline = |bytes: &[u8]| memchr::memchr(b'\n', bytes);
        // The byte before the task tells whether a line starts with it.
        let skip = if offset == 0 { Some(0) } else { newline(lines).map(|at| at + 1) };
        let Some(skip) = skip.filter(|&skip| offset == 0 || skip < lines.len()) else {
            lines.clear();
            return Ok(0);
        };
        while lines.last() != Some(&b'\n') && start + (lines.len() as u64) < self.size_bytes {
            let from = lines.len();
            let more = (self.size_bytes - start - from as u64).min(TEXT_BYTES / 16) as usize;
            lines.resize(from + more, 0);
            self.file
                .read_exact_at(&mut lines[from..], start + from as u64)
                .map_err(|cause| self.failed(&cause))?;
            if let Some(at) = newline(&lines[from..]) {
                lines.truncate(from + at + 1);
            }
            if lines.len() > TEXT_BYTES as usize + LINE_BYTES_MAX {
                return Err(self.at(start + from as u64, "is longer than 4 MiB"));
            }
        }
        // A byte before the task belongs to the line that ends there.
        Ok(if offset == 0 { 0 } else { skip })
    }

    /// An error about the line at a byte.
    fn at(&self, offset: u64, what: &str) -> Error {
        let mut number = 1;
        let mut buffer = vec![0; TEXT_BYTES as usize];
        let mut place = 0;
        while place < offset {
            let size = (offset - place).min(TEXT_BYTES) as usize;
            if let Err(cause) = self.file.read_exact_at(&mut buffer[..size], place) {
                return self.failed(&cause);
            }
            number += memchr::memchr_iter(b'\n', &buffer[..size]).count();
            place += size as u64;
        }
        Error::input(OPERATION, format!("line {number} of {} {what}", self.path.display()))
    }

    /// Numbers of the first point; 0 when there is none.
    fn first_width(&self) -> Result<usize> {
        let mut lines = Vec::new();
        for offset in (0..self.size_bytes).step_by(TEXT_BYTES as usize) {
            let before = self.load(offset, &mut lines)?;
            let width = lines[before..]
                .split(|&byte| byte == b'\n')
                .filter(|line| has_point(line))
                .map(|line| fields(line).count())
                .next();
            if let Some(width) = width {
                return Ok(width);
            }
        }
        Ok(0)
    }

    /// Appends the numbers of all lines; returns how many points they are.
    fn parse<T: Coordinate>(
        &self,
        lines: &[u8],
        mut offset: u64,
        dimensions: usize,
        numbers: &mut Vec<u8>,
    ) -> Result<u64> {
        let mut rows = 0;
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            if has_point(line) {
                let mut count = 0;
                for field in fields(line) {
                    let value = std::str::from_utf8(field).ok().and_then(|text| text.parse().ok());
                    let Some(value) = value else {
                        return Err(self.at(offset, &no_number(field, offset)));
                    };
                    T::from_f64(value).append(numbers);
                    count += 1;
                }
                if count != dimensions {
                    let what = format!("has {count} numbers, the first point has {dimensions}");
                    return Err(self.at(offset, &what));
                }
                rows += 1;
            }
            offset += line.len() as u64;
        }
        Ok(rows)
    }
}

/// What is wrong with a word of the line at `offset`.
fn no_number(word: &[u8], offset: u64) -> String {
    let shown = String::from_utf8_lossy(&word[..word.len().min(WORD_BYTES_MAX)]);
    let remedy = if offset == 0 { "; put # before a line of names" } else { "" };
    format!("has {shown:?}, which is no number{remedy}")
}

fn has_point(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    !line.is_empty() && line[0] != b'#'
}

fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b',' | b';' | b' ' | b'\t' | b'\r' | b'\n'))
        .filter(|field| !field.is_empty())
}
