//! Sentences on images, by the headers of their files.

use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};

use super::samples::{ImageShape, SampleType};
use super::tiff::{Pages, is_tiff};
use super::{OPERATION, array, is_wanted};
use crate::names::grouped;
use crate::storage::Input;
use crate::{files, npy};

/// Most files that are looked at.
const FILES_MAX: usize = 100;

/// Sentences on the kinds of images of files, or of those in folders that have an extension of
/// images: format, colour and bits. Files of the same kind share a sentence.
///
/// # Errors
/// `Input` for a first page that is damaged or of a kind that is not read; `System`.
pub fn recognised(paths: &[PathBuf]) -> Result<Vec<String>> {
    let files = files::list(OPERATION, paths, is_wanted)?;
    let mut kinds: Vec<(String, &Path, usize)> = Vec::new();
    for file in files.iter().take(FILES_MAX) {
        // The reader of the images refuses a file of another kind.
        let Some(kind) = kind_of(file)? else { continue };
        match kinds.iter_mut().find(|(known, ..)| *known == kind) {
            Some((.., count)) => *count += 1,
            None => kinds.push((kind, file, 1)),
        }
    }
    let part = match files.len() > FILES_MAX {
        true => format!(" (of the first {FILES_MAX} of {} files)", grouped(files.len())),
        false => String::new(),
    };
    let sentence = |(kind, first, count): (String, &Path, usize)| {
        let first = first.display();
        match count {
            1 => format!("{first}: {kind}{part}"),
            2 => format!("{first} and 1 more file: {kind}{part}"),
            _ => format!("{first} and {} more files: {kind}{part}", count - 1),
        }
    };
    Ok(kinds.into_iter().map(sentence).collect())
}

/// The kind of the images of a file, in words; `None` for a file without images.
fn kind_of(path: &Path) -> Result<Option<String>> {
    let failed = |cause| Error::system(OPERATION, "reading", path, &cause);
    let mut start = [0; 8];
    let count = Input::open(path).and_then(|file| file.read_at(&mut start, 0)).map_err(failed)?;
    let start = &start[..count];
    if npy::is_npy(start) {
        return Ok(Some(words("NumPy", &array(path)?.shape)));
    }
    match is_tiff(start) {
        true => Ok(Pages::open(path)?.first_shape()?.map(|shape| words("TIFF", &shape))),
        false => Ok(None),
    }
}

fn words(format: &str, shape: &ImageShape) -> String {
    let colour = match (shape.channels, format) {
        (1, "TIFF") => "grey with black as zero",
        (1, _) => "grey",
        (3, _) => "RGB",
        _ => "RGB with alpha",
    };
    let bits = match shape.kind {
        SampleType::U8 => "8 bits",
        SampleType::U16 => "16 bits",
        SampleType::F32 => "floats of 32 bits",
        SampleType::F64 => "floats of 64 bits",
    };
    format!("{format}, {colour}, {bits}")
}
