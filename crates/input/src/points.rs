//! Points: rows of numbers from `.npy` files, read anywhere, and from text, which is brought into
//! that form first.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};

use crate::limits::LINE_BYTES_MAX;
use crate::npy::{self, Element};
use crate::ordered::OrderedFile;
use crate::parallel;

const OPERATION: &str = "input.points";
/// Bytes of text of one task.
const TEXT_BYTES: u64 = 1 << 20;
/// Most numbers of a point.
pub const DIMENSIONS_MAX: usize = 1 << 16;

/// A number of a point in memory.
pub trait Coordinate: Copy + Default + Send + Sync + 'static {
    /// What it is in a file.
    const ELEMENT: Element;
    /// The nearest to a double.
    fn from_f64(value: f64) -> Self;
    /// As a double, exactly.
    fn to_f64(self) -> f64;
    /// Appends its bytes, little-endian.
    fn append(self, bytes: &mut Vec<u8>);
}

impl Coordinate for f32 {
    const ELEMENT: Element = Element::F32;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn append(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
}

impl Coordinate for f64 {
    const ELEMENT: Element = Element::F64;

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    fn append(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
}

/// The files behind some paths, in the order of the paths, those of a folder by name.
///
/// # Errors
/// `Input` when there is none; `System`.
pub fn list(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        walk(path, &mut files)?;
    }
    if files.is_empty() {
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let text = format!("{} holds no file; give points as .npy or text", names.join(", "));
        return Err(Error::input(OPERATION, text));
    }
    Ok(files)
}

fn walk(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |cause| Error::system(OPERATION, "reading", path, &cause);
    if !std::fs::metadata(path).map_err(failed)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut inner = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        inner.push(entry.map_err(failed)?.path());
    }
    inner.sort();
    let hidden = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
    };
    inner.iter().filter(|path| !hidden(path)).try_for_each(|path| walk(path, files))
}

/// Whether a file is text, by its first bytes.
///
/// # Errors
/// `Input` for a compressed or a Parquet file; `System`.
pub fn is_text(path: &Path) -> Result<bool> {
    let failed = |cause| Error::system(OPERATION, "reading", path, &cause);
    let file = File::open(path).map_err(failed)?;
    let mut start = [0; 6];
    let count = file.read_at(&mut start, 0).map_err(failed)?;
    let start = &start[..count];
    let refuse = |what: &str| Err(Error::input(OPERATION, format!("{} {what}", path.display())));
    match start {
        [0x1F, 0x8B, ..] => refuse("is compressed; unpack it first"),
        [b'P', b'A', b'R', b'1', ..] => {
            refuse("is Parquet, which only `cuesta run` reads (through PyArrow)")
        }
        _ => Ok(!npy::is_npy(start)),
    }
}

struct Part {
    path: PathBuf,
    file: File,
    array: npy::Array,
    first: u64,
}

/// Points of one or many `.npy` files, one after the other.
pub struct Points {
    parts: Vec<Part>,
    /// How many points.
    pub count: u64,
    /// Numbers of a point.
    pub dimensions: usize,
}

impl Points {
    /// Opens files that all are `.npy`.
    ///
    /// # Errors
    /// `Input` when one is no array of points, when their dimensions differ or when there is no
    /// point; `System`.
    pub fn open(files: &[PathBuf]) -> Result<Self> {
        let mut points = Self { parts: Vec::new(), count: 0, dimensions: 0 };
        for path in files {
            let array = npy::open(path)?;
            if let Some(first) = points.parts.first()
                && array.columns != points.dimensions
            {
                let text = format!(
                    "{} has {} dimensions, {} has {}; give points of equal dimensions",
                    path.display(),
                    array.columns,
                    first.path.display(),
                    points.dimensions
                );
                return Err(Error::input(OPERATION, text));
            }
            if !(1..=DIMENSIONS_MAX).contains(&array.columns) {
                let name = path.display();
                let text =
                    format!("{name} has {} dimensions, 1 to {DIMENSIONS_MAX} work", array.columns);
                return Err(Error::input(OPERATION, text));
            }
            let file = File::open(path)
                .map_err(|cause| Error::system(OPERATION, "opening", path, &cause))?;
            points.dimensions = array.columns;
            points.parts.push(Part { path: path.clone(), file, array, first: points.count });
            points.count += array.rows;
        }
        if points.count == 0 {
            let name = files.first().map(|path| path.display().to_string()).unwrap_or_default();
            return Err(Error::input(OPERATION, format!("{name} holds no point")));
        }
        Ok(points)
    }

    /// Single precision when every file is, else double.
    pub fn element(&self) -> Element {
        let single = self.parts.iter().all(|part| part.array.element == Element::F32);
        if single { Element::F32 } else { Element::F64 }
    }

    /// Reads points from number `first` on into `rows`, which holds a whole number of them;
    /// `bytes` is for the use of this function.
    ///
    /// # Errors
    /// `System`.
    pub fn read<T: Coordinate>(
        &self,
        mut first: u64,
        mut rows: &mut [T],
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        while !rows.is_empty() {
            let index = self.parts.partition_point(|part| part.first <= first) - 1;
            let part = &self.parts[index];
            let within = first - part.first;
            let left = usize::try_from(part.array.rows - within).unwrap_or(usize::MAX);
            let take = left.min(rows.len() / self.dimensions);
            let (now, later) = rows.split_at_mut(take * self.dimensions);
            let size = part.array.element.size_bytes();
            let offset = part.array.offset + within * (self.dimensions * size) as u64;
            bytes.resize(now.len() * size, 0);
            part.file
                .read_exact_at(bytes, offset)
                .map_err(|cause| Error::system(OPERATION, "reading", &part.path, &cause))?;
            decode(part.array.element, bytes, now);
            first += take as u64;
            rows = later;
        }
        Ok(())
    }

    /// Where a point is, for messages: `point 3 of FILE`, counted from 1 within the file.
    pub fn place(&self, point: u64) -> String {
        let index = self.parts.partition_point(|part| part.first <= point).saturating_sub(1);
        let part = &self.parts[index];
        format!("point {} of {}", point - part.first + 1, part.path.display())
    }
}

fn decode<T: Coordinate>(element: Element, bytes: &[u8], rows: &mut [T]) {
    match element {
        Element::F32 => {
            for (value, bytes) in rows.iter_mut().zip(bytes.as_chunks().0) {
                *value = T::from_f64(f64::from(f32::from_le_bytes(*bytes)));
            }
        }
        Element::F64 => {
            for (value, bytes) in rows.iter_mut().zip(bytes.as_chunks().0) {
                *value = T::from_f64(f64::from_le_bytes(*bytes));
            }
        }
    }
}

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
    file: File,
    size_bytes: u64,
}

impl Text {
    fn open(path: &Path) -> Result<Self> {
        let failed = |cause| Error::system(OPERATION, "opening", path, &cause);
        let file = File::open(path).map_err(failed)?;
        let size_bytes = file.metadata().map_err(failed)?.len();
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
                        let text = String::from_utf8_lossy(field);
                        return Err(self.at(offset, &format!("has {text:?}, which is no number")));
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

fn has_point(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    !line.is_empty() && line[0] != b'#'
}

fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b',' | b';' | b' ' | b'\t' | b'\r' | b'\n'))
        .filter(|field| !field.is_empty())
}
