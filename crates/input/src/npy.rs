//! NumPy's `.npy` files: a short text header, then the numbers.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use cuesta_core::{Error, Result};

const OPERATION: &str = "input.npy";
const MAGIC: &[u8] = b"\x93NUMPY";
/// Bytes of the headers that [`header`] makes.
pub const HEADER_BYTES: usize = 128;
/// Longest header that is read.
const HEADER_BYTES_MAX: usize = 1 << 16;

/// What a number of a file is.
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
    /// What its numbers are.
    pub element: Element,
    /// Rows.
    pub rows: u64,
    /// Numbers of a row.
    pub columns: usize,
    /// Where the first number is.
    pub offset: u64,
}

/// Whether a file begins as `.npy` files do.
pub fn is_npy(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// Reads the header of a file and checks the size of the rest.
///
/// # Errors
/// `Input` when it is not a 2-D array of f32 or f64 in row order, or cut short; `System`.
pub fn open(path: &Path) -> Result<Array> {
    let failed = |cause| Error::system(OPERATION, "reading", path, &cause);
    let mut file = File::open(path).map_err(failed)?;
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
    let array = parse(&String::from_utf8_lossy(&text), (before + size) as u64)
        .map_err(|what| refuse(&what))?;
    let row_bytes = (array.columns * array.element.size_bytes()) as u64;
    let found = file.metadata().map_err(failed)?.len();
    let wanted = array.rows.checked_mul(row_bytes).and_then(|size| size.checked_add(array.offset));
    if wanted.is_none_or(|wanted| found < wanted) {
        let text = format!(
            "has {found} bytes, {} x {} numbers need more; it is cut short, obtain it again",
            array.rows, array.columns
        );
        return Err(refuse(&text));
    }
    Ok(array)
}

fn parse(text: &str, offset: u64) -> std::result::Result<Array, String> {
    let value = |key: &str| {
        let start = text.find(&format!("'{key}'"))? + key.len() + 2;
        Some(text[start..].trim_start().strip_prefix(':')?.trim_start())
    };
    let descr = value("descr").and_then(|rest| rest.split('\'').nth(1)).unwrap_or("?");
    let element = match descr {
        "<f4" => Element::F32,
        "<f8" => Element::F64,
        other => {
            return Err(format!(
                "holds numbers of type {other}; save it as little-endian float32 or float64"
            ));
        }
    };
    if !value("fortran_order").is_some_and(|rest| rest.starts_with("False")) {
        return Err("is in Fortran order; save numpy.ascontiguousarray of it".to_owned());
    }
    let shape = value("shape")
        .and_then(|rest| rest.strip_prefix('(')?.split_once(')'))
        .map_or("", |(inside, _)| inside);
    let sizes: Vec<u64> = shape
        .split(',')
        .map(str::trim)
        .filter(|size| !size.is_empty())
        .map_while(|size| size.parse().ok())
        .collect();
    let [rows, columns] = sizes[..] else {
        return Err(format!("has the shape ({shape}); give points x dimensions"));
    };
    let columns = usize::try_from(columns).map_err(|error| error.to_string())?;
    Ok(Array { element, rows, columns, offset })
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
        fn any_header_gives_an_array_or_an_error(
            size in any::<u16>(),
            version in 0u8..4,
            text in "[{}'a-z:<f48(), 0-9-]{0,90}",
        ) {
            let mut content = MAGIC.to_vec();
            content.extend([version, 0]);
            content.extend(size.min(text.len() as u16 + 2).to_le_bytes());
            content.extend(text.as_bytes());
            // Whatever it says, there are no numbers behind it.
            if let Ok(array) = opened(&content) {
                prop_assert!(array.rows == 0 || array.columns == 0);
            }
        }
    }

    fn opened(content: &[u8]) -> Result<Array> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        std::fs::write(&path, content).unwrap();
        open(&path)
    }

    fn array(descr: &str, shape: &str, data_bytes: usize) -> Vec<u8> {
        let mut bytes = header(descr, shape);
        bytes.resize(HEADER_BYTES + data_bytes, 0);
        bytes
    }

    #[test]
    fn a_header_made_here_is_read_back() {
        let found = opened(&array("<f4", "(3, 2)", 24)).unwrap();
        let expected = Array { element: Element::F32, rows: 3, columns: 2, offset: 128 };
        assert_eq!(found, expected);
        assert_eq!(opened(&array("<f8", "(0, 7)", 0)).unwrap().rows, 0);
    }

    #[test]
    fn what_is_no_array_of_points_is_named() {
        for (bad, expected) in [
            (array("<i4", "(3, 2)", 24), "of type <i4; save it as"),
            (array(">f8", "(3, 2)", 48), "of type >f8"),
            (array("<f4", "(6,)", 24), "shape (6,); give points x dimensions"),
            (array("<f4", "(1, 3, 2)", 24), "shape (1, 3, 2)"),
            (array("<f4", "(3, 2)", 23), "cut short"),
            (array("<f4", "(99999999999999999, 99999)", 8), "cut short"),
            (b"1,2,3 and more text".to_vec(), "is not a .npy file"),
        ] {
            let message = opened(&bad).unwrap_err().message;
            assert!(message.contains(expected), "{message}");
        }
        let fortran =
            String::from_utf8_lossy(&array("<f4", "(3, 2)", 24)[10..128]).replace("False", "True ");
        assert!(parse(&fortran, 128).unwrap_err().contains("Fortran"));
    }
}
