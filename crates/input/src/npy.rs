//! NumPy's `.npy` files: a short text header, then the numbers.

use std::io::Read;
use std::path::Path;

use cuesta_core::{Error, Result};

use crate::storage::Input;
use crate::table::counted;

const OPERATION: &str = "input.npy";
const MAGIC: &[u8] = b"\x93NUMPY";
/// Bytes of the headers that [`header`] makes.
pub const HEADER_BYTES: usize = 128;
/// Longest header that is read.
const HEADER_BYTES_MAX: usize = 1 << 16;

/// Type of the numbers of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Single precision, little-endian.
    F32,
    /// Double precision, little-endian.
    F64,
}

impl Element {
    /// Bytes of a number.
    pub fn size_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// NumPy's name for it.
    pub fn descr(self) -> &'static str {
        match self {
            Self::F32 => "<f4",
            Self::F64 => "<f8",
        }
    }
}

/// A two-dimensional array in row order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// Type of its numbers.
    pub element: Element,
    /// Rows.
    pub rows: u64,
    /// Numbers of a row.
    pub columns: usize,
    /// Offset of the first number.
    pub offset: u64,
}

/// Header of an array, which is in row order and may have any dimensions and type of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NpyHeader {
    /// NumPy's name of the type of its numbers, e.g. `<f4`.
    pub descr: String,
    /// Sizes of the dimensions, the slowest first.
    pub shape: Vec<u64>,
    /// Offset of the first number.
    pub offset: u64,
    /// Size of the file in bytes.
    pub file_bytes: u64,
}

impl NpyHeader {
    /// The shape as in Python, e.g. `(3, 2)` or `(6,)`.
    pub fn shape_text(&self) -> String {
        let comma = if self.shape.len() == 1 { "," } else { "" };
        format!("({}{comma})", joined(&self.shape, ", "))
    }

    /// Refuses a file that ends before or after the last of its numbers of `size_bytes` each.
    ///
    /// # Errors
    /// `Input`.
    pub fn check_size(&self, path: &Path, size_bytes: usize) -> Result<()> {
        let numbers = self.shape.iter().try_fold(1u64, |all, &size| all.checked_mul(size));
        let wanted = numbers
            .and_then(|numbers| numbers.checked_mul(size_bytes as u64))
            .and_then(|bytes| bytes.checked_add(self.offset));
        let (bytes, numbers) = (self.file_bytes, joined(&self.shape, " x "));
        let what = match wanted {
            Some(wanted) if wanted == bytes => return Ok(()),
            Some(wanted) if wanted < bytes => format!(
                "{} behind its {numbers} numbers; save the array again, alone in its file",
                counted((bytes - wanted) as usize, "byte")
            ),
            _ => {
                format!(
                    "{bytes} bytes, {numbers} numbers need more; it is cut short, obtain it again"
                )
            }
        };
        Err(Error::input(OPERATION, format!("{} has {what}", path.display())))
    }
}

fn joined(shape: &[u64], between: &str) -> String {
    let sizes: Vec<String> = shape.iter().map(u64::to_string).collect();
    sizes.join(between)
}

/// Whether a file begins as `.npy` files do.
pub fn is_npy(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// Opens an array of points: reads the header and checks the size of the rest.
///
/// # Errors
/// `Input` when it is not a 2-D array of f32 or f64 in row order, or cut short; `System`.
pub fn open(path: &Path) -> Result<Array> {
    let header = read_header(path)?;
    let refuse = |what: String| Error::input(OPERATION, format!("{} {what}", path.display()));
    let element = match header.descr.as_str() {
        "<f4" => Element::F32,
        "<f8" => Element::F64,
        other => {
            let what = "save it as little-endian float32 or float64";
            return Err(refuse(format!("holds numbers of type {other}; {what}")));
        }
    };
    let [rows, columns] = header.shape[..] else {
        let shape = header.shape_text();
        return Err(refuse(format!("has the shape {shape}; give points x dimensions")));
    };
    header.check_size(path, element.size_bytes())?;
    let columns = usize::try_from(columns).map_err(|error| refuse(error.to_string()))?;
    Ok(Array { element, rows, columns, offset: header.offset })
}

/// Reads the header of a file of any array in row order.
///
/// # Errors
/// `Input` when it is no such file; `System`.
pub fn read_header(path: &Path) -> Result<NpyHeader> {
    let failed = |cause| Error::system(OPERATION, "reading", path, &cause);
    let mut file = Input::open(path).map_err(failed)?;
    let refuse = |what: &str| Error::input(OPERATION, format!("{} {what}", path.display()));
    let mut start = [0; 12];
    file.read_exact(&mut start[..10]).map_err(failed)?;
    if !is_npy(&start) {
        return Err(refuse("is not a .npy file"));
    }
    let (before, size) = if start[6] == 1 {
        (10, usize::from(u16::from_le_bytes([start[8], start[9]])))
    } else {
        file.read_exact(&mut start[10..]).map_err(failed)?;
        (12, u32::from_le_bytes([start[8], start[9], start[10], start[11]]) as usize)
    };
    if size > HEADER_BYTES_MAX {
        return Err(refuse("has a header of more than 64 KiB; save it again with numpy.save"));
    }
    let mut text = vec![0; size];
    file.read_exact(&mut text).map_err(failed)?;
    let header = parse(&String::from_utf8_lossy(&text), (before + size) as u64)
        .map_err(|what| refuse(&what))?;
    Ok(NpyHeader { file_bytes: file.size_bytes().map_err(failed)?, ..header })
}

fn parse(text: &str, offset: u64) -> std::result::Result<NpyHeader, String> {
    let value = |key: &str| {
        let start = text.find(&format!("'{key}'"))? + key.len() + 2;
        Some(text[start..].trim_start().strip_prefix(':')?.trim_start())
    };
    let quoted = value("descr").and_then(|rest| rest.strip_prefix('\'')?.split_once('\''));
    let descr = quoted.map_or("?", |(descr, _)| descr).to_owned();
    if !value("fortran_order").is_some_and(|rest| rest.starts_with("False")) {
        return Err("is in Fortran order; save numpy.ascontiguousarray of it".to_owned());
    }
    let inside = value("shape").and_then(|rest| rest.strip_prefix('(')?.split_once(')'));
    let inside = inside.map_or("", |(inside, _)| inside);
    let sizes = inside.split(',').map(str::trim).filter(|size| !size.is_empty());
    let shape = sizes
        .map(|size| size.parse().map_err(|_| format!("has the shape ({inside}), no sizes")))
        .collect::<std::result::Result<_, _>>()?;
    Ok(NpyHeader { descr, shape, offset, file_bytes: 0 })
}

/// The header of an array: `shape` as in Python, e.g. `(3, 2)`; always [`HEADER_BYTES`] long.
pub fn header(descr: &str, shape: &str) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend(((HEADER_BYTES - 10) as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.resize(HEADER_BYTES - 1, b' ');
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_header_is_an_array_or_an_error(
            size in any::<u16>(),
            version in 0u8..4,
            text in "[{}'a-z:<f48(), 0-9-]{0,90}",
        ) {
            let mut content = MAGIC.to_vec();
            content.extend([version, 0]);
            content.extend(size.min(text.len() as u16 + 2).to_le_bytes());
            content.extend(text.as_bytes());
            // No numbers follow the header, whatever its shape.
            if let Ok(array) = opened(&content) {
                prop_assert!(array.rows == 0 || array.columns == 0);
            }
        }
    }

    fn written(content: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        std::fs::write(&path, content).unwrap();
        (folder, path)
    }

    fn opened(content: &[u8]) -> Result<Array> {
        let (_folder, path) = written(content);
        open(&path)
    }

    fn array(descr: &str, shape: &str, data_bytes: usize) -> Vec<u8> {
        let mut bytes = header(descr, shape);
        bytes.resize(HEADER_BYTES + data_bytes, 0);
        bytes
    }

    #[test]
    fn a_header_made_here_is_read_back() {
        let read = opened(&array("<f4", "(3, 2)", 24)).unwrap();
        let expected = Array { element: Element::F32, rows: 3, columns: 2, offset: 128 };
        assert_eq!(read, expected);
        assert_eq!(opened(&array("<f8", "(0, 7)", 0)).unwrap().rows, 0);
    }

    #[test]
    fn a_header_has_any_number_of_dimensions() {
        for (shape, sizes) in [("()", vec![]), ("(4,)", vec![4]), ("(1, 2, 3)", vec![1, 2, 3])] {
            let (_folder, path) =
                written(&array("|u1", shape, sizes.iter().product::<u64>() as usize));
            let header = read_header(&path).unwrap();
            assert_eq!((header.descr.as_str(), &header.shape), ("|u1", &sizes));
            assert_eq!(header.shape_text(), shape);
            assert!(header.check_size(&path, 1).is_ok());
            assert!(header.check_size(&path, 8).unwrap_err().message().contains("cut short"));
        }
        let (_folder, path) = written(&array("|u1", "(4, x)", 6));
        assert!(read_header(&path).unwrap_err().message().contains("shape (4, x), no sizes"));
    }

    /// The name of a field, such as `<f4`, was taken for the type of the numbers.
    #[test]
    fn numbers_with_fields_are_refused() {
        for descr in ["[('<f4', '<i4')]", "None"] {
            let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (3, 2), }}");
            assert_eq!(parse(&text, 128).unwrap().descr, "?");
        }
    }

    #[test]
    fn a_file_that_is_not_an_array_of_points_is_refused() {
        for (bad, expected) in [
            (array("<i4", "(3, 2)", 24), "of type <i4; save it as"),
            (array(">f8", "(3, 2)", 48), "of type >f8"),
            (array("<f4", "(6,)", 24), "shape (6,); give points x dimensions"),
            (array("<f4", "(1, 3, 2)", 24), "shape (1, 3, 2)"),
            (array("<f4", "(3, 2)", 23), "cut short"),
            (array("<f4", "(3, 2)", 25), "has 1 byte behind its 3 x 2 numbers; save the array"),
            (array("<f4", "(99999999999999999, 99999)", 8), "cut short"),
            (b"1,2,3 and more text".to_vec(), "is not a .npy file"),
        ] {
            let message = opened(&bad).unwrap_err().message();
            assert!(message.contains(expected), "{message}");
        }
        let fortran =
            String::from_utf8_lossy(&array("<f4", "(3, 2)", 24)[10..128]).replace("False", "True ");
        assert!(parse(&fortran, 128).unwrap_err().contains("Fortran"));
    }
}
