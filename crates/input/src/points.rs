//! Points: rows of numbers from `.npy` files, read anywhere, and from text, which is brought into
//! that form first.

mod text;

use std::io;
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use bytemuck::Pod;
use cuesta_core::{Error, Result};
use cuesta_store::client::BlockBytes;

use crate::files;
use crate::npy::{self, Element};
use crate::storage::Input;
use crate::table::kinds;
use crate::unpack::{self, CompressionFormat};

pub use text::{convert, recognise};

const OPERATION: &str = "input.points";
/// Most numbers of a point.
pub const DIMENSIONS_MAX: usize = 1 << 16;

/// A number of a point in memory.
pub trait Coordinate: Pod + Default + Send + Sync {
    /// Type of the number in a file.
    const ELEMENT: Element;
    /// The nearest value to a double.
    fn from_f64(value: f64) -> Self;
    /// Converts to a double, exactly.
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

/// The files behind some paths; see [`files::list`].
///
/// # Errors
/// `Input` when there is none; `System`.
pub fn list(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let files = files::list(OPERATION, paths, |_| true)?;
    if files.is_empty() {
        let names = files::names(paths);
        let text = format!("{names} holds no file; give points as .npy or text");
        return Err(Error::input(OPERATION, text));
    }
    Ok(files)
}

/// Whether a file is text, compressed or not, by its first bytes.
///
/// # Errors
/// `Input` for a Parquet file or another kind; `System`.
pub fn is_text(path: &Path) -> Result<bool> {
    let failed = |cause| Error::system(OPERATION, "reading", path, &cause);
    let file = Input::open(path).map_err(failed)?;
    let mut start = [0; unpack::START_BYTES as usize];
    let count = file.read_at(&mut start, 0).map_err(failed)?;
    let start = &start[..count];
    if npy::is_npy(start) {
        return Ok(false);
    }
    if CompressionFormat::of(start).is_packed() {
        return Ok(true);
    }
    let refuse = |what: &str| Err(Error::input(OPERATION, format!("{} {what}", path.display())));
    match kinds::other_kind(start) {
        None => Ok(true),
        Some(_) if start.starts_with(b"PAR1") => {
            refuse("is Parquet, which only `cuesta run` reads (through PyArrow)")
        }
        Some(kind) => refuse(&format!("is {}; {}", kind.name, kind.remedy)),
    }
}

struct Part {
    path: PathBuf,
    file: Input,
    array: npy::Array,
    first: u64,
}

impl Part {
    /// Offset of a point in the file, and the number of points from it on.
    fn from(&self, point: u64, dimensions: usize) -> (u64, u64) {
        let within = point - self.first;
        let row_bytes = dimensions * self.array.element.size_bytes();
        (self.array.offset + within * row_bytes as u64, self.array.rows - within)
    }

    /// Decodes numbers at `offset`: from mapped memory if possible, else through `bytes`.
    fn decode<T: Coordinate>(
        &self,
        numbers: &mut [T],
        offset: u64,
        bytes: &mut Vec<u8>,
    ) -> io::Result<()> {
        let size_bytes = numbers.len() * self.array.element.size_bytes();
        if let Some(mapped) = self.file.mapped(offset)?
            && let Some(mapped) = mapped.get(..size_bytes)
        {
            decode(self.array.element, mapped, numbers);
            return Ok(());
        }
        bytes.resize(size_bytes, 0);
        self.file.read_exact_at(bytes, offset)?;
        decode(self.array.element, bytes, numbers);
        Ok(())
    }
}

/// Numbers of complete points, mapped from the memory of a store.
pub struct MappedPoints<T> {
    bytes: BlockBytes,
    size_bytes: usize,
    of: PhantomData<T>,
}

impl<T: Coordinate> MappedPoints<T> {
    /// `None` if `bytes` has no complete point, or numbers that are not aligned for this machine.
    fn new(bytes: BlockBytes, row_bytes: usize, rows: u64) -> Option<Self> {
        let count = (bytes.len() / row_bytes).min(usize::try_from(rows).unwrap_or(usize::MAX));
        let size_bytes = count * row_bytes;
        bytemuck::try_cast_slice::<u8, T>(&bytes[..size_bytes]).ok()?;
        (count > 0 && cfg!(target_endian = "little")).then_some(Self {
            bytes,
            size_bytes,
            of: PhantomData,
        })
    }
}

impl<T: Coordinate> Deref for MappedPoints<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.bytes[..self.size_bytes])
    }
}

/// Points of one or more `.npy` files, in their order.
pub struct PointFiles {
    parts: Vec<Part>,
    /// Number of points.
    pub count: u64,
    /// Numbers of a point.
    pub dimensions: usize,
}

impl PointFiles {
    /// Opens files that all are `.npy`.
    ///
    /// # Errors
    /// `Input` when a file is not an array of points, when dimensions differ or when there is no
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
            let file = Input::open(path)
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

    /// Single precision if all files are, else double.
    pub fn element(&self) -> Element {
        let single = self.parts.iter().all(|part| part.array.element == Element::F32);
        if single { Element::F32 } else { Element::F64 }
    }

    /// The files in order, with the number of points of each.
    pub fn files(&self) -> impl Iterator<Item = (&Path, u64)> {
        self.parts.iter().map(|part| (part.path.as_path(), part.array.rows))
    }

    /// Bytes of the numbers in the files.
    pub fn bytes(&self) -> u64 {
        let row_bytes = |part: &Part| (self.dimensions * part.array.element.size_bytes()) as u64;
        self.parts.iter().map(|part| part.array.rows * row_bytes(part)).sum()
    }

    /// Reads points from number `first` on into `rows`, whose length is a multiple of the
    /// dimensions; `bytes` is a buffer for this function.
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
            let part = self.part(first);
            let (offset, left) = part.from(first, self.dimensions);
            let left = usize::try_from(left).unwrap_or(usize::MAX);
            let take = left.min(rows.len() / self.dimensions);
            let (now, later) = rows.split_at_mut(take * self.dimensions);
            part.decode(now, offset, bytes)
                .map_err(|cause| Error::system(OPERATION, "reading", &part.path, &cause))?;
            first += take as u64;
            rows = later;
        }
        Ok(())
    }

    /// Points from number `first` on, to the end of a block of a store, without a copy; `None` if
    /// only [`read`](Self::read) can read them: no store holds them, or in another precision.
    ///
    /// # Errors
    /// `System`.
    pub fn mapped<T: Coordinate>(&self, first: u64) -> Result<Option<MappedPoints<T>>> {
        let part = self.part(first);
        if part.array.element != T::ELEMENT {
            return Ok(None);
        }
        let (offset, left) = part.from(first, self.dimensions);
        let mapped = part
            .file
            .mapped(offset)
            .map_err(|cause| Error::system(OPERATION, "reading", &part.path, &cause))?;
        let row_bytes = self.dimensions * size_of::<T>();
        Ok(mapped.and_then(|bytes| MappedPoints::new(bytes, row_bytes, left)))
    }

    /// The file that holds a point.
    fn part(&self, point: u64) -> &Part {
        &self.parts[self.parts.partition_point(|part| part.first <= point) - 1]
    }

    /// Location of a point for messages: `point 3 of FILE`, counted from 1 within the file.
    pub fn place(&self, point: u64) -> String {
        let part = self.part(point);
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
