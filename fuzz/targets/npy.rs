//! `.npy` files, as points and as images: what a header claims lies in the file, and the numbers
//! are those of the file, read in pieces of any size.
#![no_main]

use std::path::Path;

use cuesta_fuzz::{accepted, file};
use cuesta_images::kernel::needed_bytes;
use cuesta_input::images::{Reader, Stack};
use cuesta_input::npy::{self, Element};
use cuesta_input::points::PointFiles;
use libfuzzer_sys::fuzz_target;

/// Longest type and shape that a header written here has room for.
const TEXT_BYTES_MAX: usize = 60;
const IMAGES_MAX: u64 = 16;

fuzz_target!(|data: &[u8]| {
    let Some((&piece, content)) = data.split_first() else { return };
    let path = file("array.npy", content);
    header_again(&path);
    points(&path, content, usize::from(piece) + 1);
    images(&path, content);
});

/// A header that is written again says the same.
fn header_again(path: &Path) {
    let Some(header) = accepted(npy::read_header(path)) else { return };
    let shape = header.shape_text();
    let is_key = ["descr", "fortran_order", "shape"].contains(&header.descr.as_str());
    if is_key || header.descr.len() + shape.len() > TEXT_BYTES_MAX {
        return;
    }
    let again = file("again.npy", &npy::header(&header.descr, &shape));
    let read = npy::read_header(&again).expect("it was written here");
    assert_eq!((read.descr, read.shape), (header.descr, header.shape));
}

fn points(path: &Path, content: &[u8], rows: usize) {
    let Some(array) = accepted(npy::open(path)) else { return };
    let Some(points) = accepted(PointFiles::open(&[path.to_owned()])) else { return };
    let size = array.element.size_bytes();
    let numbers = &content[array.offset as usize..][..points.bytes() as usize];
    let expected: Vec<u64> = numbers
        .chunks_exact(size)
        .map(|bytes| match (array.element, bytes) {
            (Element::F32, &[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])).to_bits(),
            _ => u64::from_le_bytes(bytes.try_into().expect("8 bytes of a double")),
        })
        .collect();
    let (mut found, mut bytes, mut first) = (Vec::new(), Vec::new(), 0);
    while first < points.count {
        let take = (points.count - first).min(rows as u64);
        let mut piece = vec![0f64; take as usize * points.dimensions];
        points.read(first, &mut piece, &mut bytes).expect("it is in the file");
        found.extend(piece.iter().map(|number| number.to_bits()));
        first += take;
    }
    let same = |(one, other): (&u64, &u64)| {
        // A signalling NaN may come back as a quiet one.
        one == other || f64::from_bits(*one).is_nan() && f64::from_bits(*other).is_nan()
    };
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(&expected).all(same));
}

fn images(path: &Path, content: &[u8]) {
    let Some(stack) = accepted(Stack::open(&[path.to_owned()], needed_bytes)) else { return };
    let mut reader = Reader::new(&stack);
    for image in 0..stack.images.min(IMAGES_MAX) {
        let (shape, samples) = reader.read(image).expect("it is in the file");
        let size_bytes = shape.size_bytes();
        assert!(size_bytes * stack.images as usize <= content.len());
        let mut samples = samples.clone();
        assert_eq!(samples.fill(|bytes| bytes.len()), size_bytes);
    }
}
