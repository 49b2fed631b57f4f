//! Test folder with stacks and answers, and requests on them.

#![allow(dead_code, clippy::unwrap_used)]

use std::io::Cursor;
use std::path::{Path, PathBuf};

use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, Verdict};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_images::table::FEATURES_FILE;
use cuesta_input::npy;
use serde_json::Value;
use tiff::encoder::colortype::{ColorType, Gray8, Gray16, Gray32Float, Gray64Float, RGB8, RGBA16};
use tiff::encoder::{Compression, TiffEncoder, TiffValue};

pub struct Workspace {
    pub folder: tempfile::TempDir,
}

impl Workspace {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("answer")).unwrap();
        Self { folder }
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Writes an array file with these bytes after its header.
    pub fn npy(&self, name: &str, descr: &str, shape: &str, bytes: &[u8]) -> PathBuf {
        self.write(name, [&npy::header(descr, shape), bytes].concat())
    }

    pub fn request(&self, inputs: &[&Path], parameters: Value) -> Request {
        Request {
            inputs: inputs.iter().map(|path| path.to_path_buf()).collect(),
            parameters,
            output: self.folder.path().join("answer"),
            seed: 1,
            threads: 2,
            budget: Budget::new(1 << 30).into(),
            scratch: self.folder.path().to_owned(),
            verify: Default::default(),
            names: None,
        }
    }

    pub fn answer(&self) -> PathBuf {
        self.folder.path().join("answer").join(FEATURES_FILE)
    }

    /// Returns the fields of the answer, without its header.
    pub fn table(&self) -> Vec<Vec<String>> {
        let text = std::fs::read_to_string(self.answer()).unwrap();
        text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }
}

pub fn run(request: &Request) {
    cuesta_images::run(request, &Progress::default()).unwrap();
}

pub fn refused(request: &Request) -> String {
    let text = cuesta_images::run(request, &Progress::default()).unwrap_err().message();
    assert!(!text.contains('\n'), "{text}");
    text
}

pub fn verify(request: &Request) -> Verdict {
    cuesta_images::verify(request, &Progress::default()).unwrap()
}

/// Runs and verifies a request; the answer must pass.
pub fn run_verified(request: &Request) -> Verdict {
    run(request);
    let verdict = verify(request);
    assert!(verdict.verified, "{verdict:?}");
    verdict
}

/// Returns levels of an image with soft blobs.
pub fn levels(count: usize, seed: u64) -> Vec<u8> {
    let stream = Stream::new(seed, 1);
    (0..count as u64).map(|at| (stream.below(at / 7, 200) + stream.below(at, 50)) as u8).collect()
}

/// Page of a TIFF file to be written.
pub struct Page<'a> {
    pub width: u32,
    pub height: u32,
    pub values: &'a [u8],
}

fn add<C: ColorType>(
    encoder: &mut TiffEncoder<&mut Cursor<Vec<u8>>>,
    page: &Page<'_>,
    values: &[C::Inner],
) where
    [C::Inner]: TiffValue,
{
    encoder.write_image::<C>(page.width, page.height, values).unwrap();
}

/// Writes a file with the supported kinds of page: 8 and 16 bits, floats, colour with and without
/// alpha.
pub fn tiff(pages: &[Page<'_>], compression: Compression) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut file).unwrap().with_compression(compression);
    for page in pages {
        let values = page.values;
        let wide: Vec<u16> = values.iter().map(|&value| u16::from(value) * 257).collect();
        let float: Vec<f32> = values.iter().map(|&value| f32::from(value) / 255.0).collect();
        let double: Vec<f64> = values.iter().map(|&value| f64::from(value) - 100.0).collect();
        let colour: Vec<u8> = values.iter().flat_map(|&x| [x, x / 2, 255 - x]).collect();
        let alpha: Vec<u16> = wide.iter().flat_map(|&x| [x, x / 2, x / 3, 7]).collect();
        add::<Gray8>(&mut encoder, page, values);
        add::<Gray16>(&mut encoder, page, &wide);
        add::<Gray32Float>(&mut encoder, page, &float);
        add::<Gray64Float>(&mut encoder, page, &double);
        add::<RGB8>(&mut encoder, page, &colour);
        add::<RGBA16>(&mut encoder, page, &alpha);
    }
    file.into_inner()
}

/// Writes a grey page whose directory precedes its pixels, with `content` in this compression.
pub fn directory_first((width, height): (u32, u32), compression: u32, content: &[u8]) -> Vec<u8> {
    let entries = [(256, width), (257, height), (258, 8), (259, compression), (262, 1)];
    let size = if compression == 1 { width * height } else { content.len() as u32 };
    let more = [(273, 200), (277, 1), (278, height), (279, size)];
    let mut file = b"II\x2A\x00\x08\x00\x00\x00\x09\x00".to_vec();
    for (tag, value) in [&entries[..], &more[..]].concat() {
        file.extend(u16::to_le_bytes(tag));
        file.extend([4, 0, 1, 0, 0, 0]);
        file.extend(value.to_le_bytes());
    }
    file.resize(200, 0);
    file.extend(content);
    file
}
