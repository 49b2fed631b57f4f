//! Text with a point a line, brought into the form of `.npy` files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};

use super::{Coordinate, OPERATION};
use crate::limits::LINE_BYTES_MAX;
use crate::npy;
use crate::storage::Input;
use crate::table::fit::{self, delimiter_name};
use crate::table::points::{self, PointsForm, has_point};
use crate::table::titles::{REPEATED_HEADER, repeats_header};
use crate::table::{HEAD_BYTES, Role, TableParams, ZERO_BYTES, ends_in_returns, fields, kinds};
use crate::unpack;
use cuesta_runtime::ordered::OrderedFile;
use cuesta_runtime::parallel;

/// Bytes that some programs write in front of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// Bytes of text of one task.
const TEXT_BYTES: u64 = 1 << 20;
/// First bytes of points that are read if they are not compressed: NumPy's arrays, Parquet.
const READABLE: [&[u8]; 2] = [b"\x93NUMPY", b"PAR1"];
/// Bytes of a bad word that a message shows.
const WORD_BYTES_MAX: usize = 40;

/// Writes the points of a text file as a `.npy` file; returns how many bytes of text they are.
///
/// A point a line, laid out as [`crate::table::points`] recognises or `table` says; empty lines and
/// lines that start with `#` are passed over. A number is the nearest double, then the nearest `T`.
/// Compressed text is unpacked to a temporary file beside `output` first.
///
/// # Errors
/// `Input` naming the line that holds no number or another count of fields than the first line,
/// and for a text that can be read in two ways; `System`; `Cancelled`.
pub fn convert<T: Coordinate>(
    path: &Path,
    table: &TableParams,
    output: &Path,
    threads: usize,
    progress: &Progress,
) -> Result<u64> {
    let mut text = Text::open(path)?;
    let recognised = text.recognise(table).map_err(|error| unpack::damage_or(path, error));
    let Some(form) = recognised? else {
        return Err(Error::input(OPERATION, format!("{} holds no point", path.display())));
    };
    let dimensions = form.dimensions();
    text.form = Some(form);
    text.unpack(output)?;
    let text = &text;
    let size_bytes = text.size_bytes;
    let tasks: Vec<u64> = (0..size_bytes).step_by(TEXT_BYTES as usize).collect();
    progress.expect(size_bytes);
    let out = OrderedFile::create(output)?;
    let rows = AtomicU64::new(0);
    let work = |buffers: &mut (Vec<u8>, Vec<u8>), task: usize| {
        let offset = tasks[task];
        let (lines, numbers) = buffers;
        if task == 0 {
            numbers.extend_from_slice(&npy::header(T::ELEMENT.descr(), "(0, 0)"));
        }
        let before = text.load(offset, lines)?;
        rows.fetch_add(
            text.parse::<T>(&lines[before..], offset.saturating_sub(1) + before as u64, numbers)?,
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
    /// The file; its decompressed text after [`Text::unpack`].
    file: Input,
    size_bytes: u64,
    is_packed: bool,
    /// Layout of its lines, once it is known.
    form: Option<PointsForm>,
    /// End of a line: a line feed, or a carriage return where there is nothing else.
    end: u8,
}

/// Layout of the points in a text file; `None` where it has none.
///
/// # Errors
/// As [`convert`], as far as the first lines show.
pub fn recognise(path: &Path, table: &TableParams) -> Result<Option<PointsForm>> {
    Text::open(path)?.recognise(table).map_err(|error| unpack::damage_or(path, error))
}

impl Text {
    fn open(path: &Path) -> Result<Self> {
        let failed = |cause| Error::system(OPERATION, "opening", path, &cause);
        let file = Input::open(path).map_err(failed)?;
        let size_bytes = file.size_bytes().map_err(failed)?;
        let is_packed = unpack::compression_of(path).map_err(failed)?.is_packed();
        let path = path.to_owned();
        let mut text = Self { path, file, size_bytes, is_packed, form: None, end: b'\n' };
        if ends_in_returns(&text.start(HEAD_BYTES as u64)?) {
            text.end = b'\r';
        }
        Ok(text)
    }

    /// The first bytes, decompressed; fewer than `count` where they are all.
    fn start(&self, count: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let text = unpack::open(&self.path);
        text.and_then(|text| text.take(count).read_to_end(&mut bytes))
            .map_err(|cause| self.failed(&cause))?;
        Ok(bytes)
    }

    /// Unpacks compressed text to a file beside `output`, which has no name and ends with the
    /// process.
    fn unpack(&mut self, output: &Path) -> Result<()> {
        if !self.is_packed {
            return Ok(());
        }
        let mut text = unpack::open(&self.path).map_err(|cause| self.failed(&cause))?;
        let failed = |cause| Error::system(OPERATION, "writing the text of", output, &cause);
        let mut file = nameless(&output.with_extension("text")).map_err(failed)?;
        let mut block = vec![0; TEXT_BYTES as usize];
        loop {
            let count = match text.read(&mut block) {
                Ok(0) => break,
                Ok(count) => count,
                Err(cause) => return Err(self.failed(&cause)),
            };
            file.write_all(&block[..count]).map_err(failed)?;
        }
        self.size_bytes = file.metadata().map_err(failed)?.len();
        self.file = Input::local(file);
        Ok(())
    }

    /// Layout of the points; `None` where there are none.
    fn recognise(&self, table: &TableParams) -> Result<Option<PointsForm>> {
        let mut count = HEAD_BYTES as u64;
        loop {
            let mut bytes = self.start(count)?;
            let refuse = |what: String| {
                Err(Error::input(OPERATION, format!("{} {what}", self.path.display())))
            };
            let packing =
                unpack::compression_of(&self.path).map_err(|cause| self.failed(&cause))?;
            let checked = kinds::check_packed(&bytes, packing, &READABLE);
            if let Err(what) = checked.and_then(|()| kinds::check_text(&bytes)) {
                return refuse(what);
            }
            if self.end == b'\r' {
                bytes.iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
            }
            if bytes.starts_with(BYTE_ORDER_MARK) {
                bytes[..BYTE_ORDER_MARK.len()].fill(b' ');
            }
            let is_all = (bytes.len() as u64) < count;
            if !is_all {
                let complete = memchr::memrchr(b'\n', &bytes).map_or(0, |place| place + 1);
                bytes.truncate(complete);
            }
            let points = bytes.split(|&byte| byte == b'\n').filter(|line| has_point(line));
            if is_all || points.take(3).count() == 3 {
                return points::recognise(&bytes, table).map_err(|error| {
                    let name = self.path.display().to_string();
                    Error::input(OPERATION, error.message(&name))
                });
            }
            count *= 4;
        }
    }

    fn failed(&self, cause: &io::Error) -> Error {
        unpack::failure(OPERATION, &self.path, cause)
    }

    /// Loads the lines that start in the task at `offset`; returns where the first of them is.
    fn load(&self, offset: u64, lines: &mut Vec<u8>) -> Result<usize> {
        let start = offset.saturating_sub(1);
        let end = self.size_bytes.min(offset + TEXT_BYTES);
        lines.resize((end - start) as usize, 0);
        self.file.read_exact_at(lines, start).map_err(|cause| self.failed(&cause))?;
        let newline = |bytes: &[u8]| memchr::memchr(self.end, bytes);
        // The byte before the task tells whether a line starts with it.
        let skip = if offset == 0 { Some(0) } else { newline(lines).map(|at| at + 1) };
        let Some(skip) = skip.filter(|&skip| offset == 0 || skip < lines.len()) else {
            lines.clear();
            return Ok(0);
        };
        while lines.last() != Some(&self.end) && start + (lines.len() as u64) < self.size_bytes {
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
            number += memchr::memchr_iter(self.end, &buffer[..size]).count();
            place += size as u64;
        }
        Error::input(OPERATION, format!("line {number} of {} {what}", self.path.display()))
    }

    /// Appends the numbers of all lines; returns how many points they are.
    fn parse<T: Coordinate>(
        &self,
        lines: &[u8],
        mut offset: u64,
        numbers: &mut Vec<u8>,
    ) -> Result<u64> {
        let Some(form) = &self.form else { return Ok(0) };
        let mut rows = 0;
        // The delimiter and the names of the columns may stand above the first point.
        let above = usize::from(form.is_declared) + usize::from(form.header > 0);
        let mut above = if offset == 0 { above } else { 0 };
        for line in lines.split_inclusive(|&byte| byte == self.end) {
            let text = line.strip_suffix(&[self.end]).unwrap_or(line);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            let text =
                if offset == 0 { text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text) } else { text };
            if has_point(text) && above > 0 {
                above -= 1;
            } else if has_point(text) {
                match append::<T>(text, form, numbers) {
                    Ok(is_point) => rows += u64::from(is_point),
                    Err(what) => return Err(self.at(offset, &what)),
                }
            }
            offset += line.len() as u64;
        }
        Ok(rows)
    }
}

/// A new file, without a name once it is open.
fn nameless(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    fs::remove_file(path)?;
    Ok(file)
}

/// Appends the numbers of a line; returns whether it has any, and not delimiters alone.
fn append<T: Coordinate>(
    line: &[u8],
    form: &PointsForm,
    numbers: &mut Vec<u8>,
) -> std::result::Result<bool, String> {
    let signs = form.signs;
    let is_blank_line =
        || fields::fields(line, signs.delimiter).iter().all(|&field| fields::is_blank(field));
    let before = numbers.len();
    let mut rest = Some(fields::prepared(line, signs.delimiter));
    for (place, role) in form.roles.iter().enumerate() {
        let Some(text) = rest else {
            if form.roles[place..].iter().all(|&role| role == Role::Empty) {
                break;
            }
            return Err(ragged(line, form));
        };
        let (field, after) = fields::split(text, signs.delimiter);
        rest = after;
        match role {
            Role::Value => match fields::number(field, signs.decimal) {
                Some(_) if form.has_open_sign && fields::is_doubtful(field, b'.') => {
                    return Err(fit::doubtful(field, b'.'));
                }
                Some(value) => T::from_f64(value).append(numbers),
                None if is_blank_line() => {
                    numbers.truncate(before);
                    return Ok(false);
                }
                None if memchr::memchr(0, line).is_some() => return Err(ZERO_BYTES.to_owned()),
                None => return Err(no_number(line, field, place, form)),
            },
            Role::Empty if !fields::is_blank(field) => return Err(ragged(line, form)),
            _ => {}
        }
    }
    if rest.is_some() {
        return Err(ragged(line, form));
    }
    Ok(true)
}

fn ragged(line: &[u8], form: &PointsForm) -> String {
    if memchr::memchr(0, line).is_some() {
        return ZERO_BYTES.to_owned();
    }
    let count = fields::count(line, form.signs.delimiter);
    let fields = if count == 1 { "1 number" } else { &format!("{count} numbers") };
    let name = delimiter_name(form.signs.delimiter);
    format!(
        "has {fields}, the first point has {}, separated by {name}; complete the line, or leave it \
         out",
        form.roles.len()
    )
}

/// The fault of a field that holds no number.
fn no_number(line: &[u8], field: &[u8], place: usize, form: &PointsForm) -> String {
    if repeats_header(&fields::fields(line, form.signs.delimiter), &form.roles, &form.names) {
        return REPEATED_HEADER.to_owned();
    }
    if fields::is_blank(field) {
        return format!(
            "has an empty field {}; give a number there, or leave the line out",
            place + 1
        );
    }
    let shown = String::from_utf8_lossy(&field[..field.len().min(WORD_BYTES_MAX)]);
    if let Some(disguise) = fields::disguised(field) {
        return format!("has {shown:?}, a number {disguise}");
    }
    let parts = || shown.split_whitespace().map(str::as_bytes);
    if parts().count() > 1 && parts().all(|part| fields::number(part, form.signs.decimal).is_some())
    {
        return format!("has {shown:?}, numbers with no-break spaces between; write plain spaces");
    }
    let other = if form.signs.decimal == b'.' { b',' } else { b'.' };
    let sign = if other == b',' { "comma" } else { "point" };
    let is_other = fields::number(field, other).is_some();
    let mut remedies: Vec<String> = Vec::new();
    if is_other {
        remedies.push(format!("with a decimal {sign}? then give --decimal {sign}"));
    }
    if let Some(written) = fields::without_thousands(field, form.signs.decimal) {
        remedies.push(format!("with {sign}s between thousands? then write it as {written}"));
    }
    if !is_other && let Some(written) = fields::without_thousands(field, other) {
        let mark = if other == b',' { "point" } else { "comma" };
        remedies.push(format!(
            "with a decimal {sign}, and {mark}s between thousands? then write it as {written}, \
             and give --decimal {sign}"
        ));
    }
    if remedies.is_empty() && form.header == 0 && fields::is_text(field) {
        remedies.push("a line of names? then give --header present".to_owned());
    }
    if remedies.is_empty() {
        remedies.push("a column of no numbers? then leave it out with --columns".to_owned());
    }
    format!("has {shown:?}, which is no number ({})", remedies.join("; "))
}
