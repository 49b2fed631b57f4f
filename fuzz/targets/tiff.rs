//! TIFF files: pages have the shape that was said when they were listed, and the same numbers in
//! whatever order they are read.
#![no_main]

use cuesta_fuzz::{accepted, check_refusal, file};
use cuesta_images::kernel::needed_bytes;
use cuesta_input::images::samples::{ImageShape, Samples};
use cuesta_input::images::{Reader, Stack};
use libfuzzer_sys::fuzz_target;

const PAGES_MAX: u64 = 8;
/// As a run's limit of memory refuses larger ones.
const NEEDED_BYTES_MAX: u64 = 256 << 20;

fuzz_target!(|data: &[u8]| {
    let path = file("page.tif", data);
    let Some(stack) = accepted(Stack::open(&[path], needed_bytes)) else { return };
    assert_eq!(stack.size_bytes, data.len() as u64);
    if stack.needed_bytes > NEEDED_BYTES_MAX {
        return;
    }
    let pages = 0..stack.images.min(PAGES_MAX);
    let mut reader = Reader::new(&stack);
    let forwards: Vec<_> = pages.clone().map(|page| read(&mut reader, page)).collect();
    for page in pages.rev() {
        let image = read(&mut reader, page);
        assert!(image == forwards[page as usize], "page {page} is another one now");
    }
});

/// The shape and the bytes of a page; none where it is damaged.
fn read(reader: &mut Reader<'_>, page: u64) -> Option<(ImageShape, Vec<u8>)> {
    let listed = reader.shape(page).expect("it was listed");
    match reader.read(page) {
        Ok((shape, samples)) => {
            assert_eq!(shape, listed);
            assert_eq!(count(samples), shape.pixels() * shape.channels);
            Some((shape, samples.clone().fill(|bytes| bytes.to_vec())))
        }
        Err(error) => {
            check_refusal(&error);
            None
        }
    }
}

fn count(samples: &Samples) -> usize {
    match samples {
        Samples::U8(values) => values.len(),
        Samples::U16(values) => values.len(),
        Samples::F32(values) => values.len(),
        Samples::F64(values) => values.len(),
    }
}
