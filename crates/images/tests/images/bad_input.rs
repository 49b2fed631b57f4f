//! Each defect of an input is reported in one line with the place and the remedy.

use crate::common::{Page, Workspace, directory_first, levels, refused, tiff};
use cuesta_core::budget::Budget;
use cuesta_core::error::ErrorKind;
use cuesta_core::progress::Progress;
use cuesta_images::kernel::needed_bytes;
use cuesta_images::params::ImagesParams;
use cuesta_input::images::samples::Samples;
use cuesta_input::images::{Reader, Stack};
use proptest::prelude::*;
use serde_json::json;
use std::io::Cursor;
use tiff::encoder::{Compression, TiffEncoder, colortype};

#[test]
fn bad_arrays_are_named() {
    let workspace = Workspace::new();
    for (descr, shape, bytes, expected) in [
        ("<i2", "(2, 2)", 8, "of type <i2; save it as uint8"),
        (">u2", "(2, 2)", 8, "of type >u2"),
        ("|b1", "(2, 2)", 4, "of type |b1"),
        ("|u1", "(4,)", 4, "shape (4,); give images as"),
        ("|u1", "(1, 2, 2, 2)", 8, "shape (1, 2, 2, 2)"),
        ("|u1", "(1, 1, 2, 2, 3)", 12, "shape (1, 1, 2, 2, 3)"),
        ("|u1", "(0, 2, 2)", 0, "holds no image"),
        ("|u1", "(3, 0, 2)", 0, "images of 0 x 2 pixels"),
        ("|u1", "(3, 0, 9999999999999)", 0, "images of 0 x 9999999999999 pixels"),
        ("<f4", "(2, 2)", 15, "cut short, obtain it again"),
        ("<f8", "(99999999999, 99999999999)", 15, "cut short"),
    ] {
        let path = workspace.npy("bad.npy", descr, shape, &vec![0; bytes]);
        let text = refused(&workspace.request(&[&path], json!({})));
        assert!(text.contains(expected) && text.contains("bad.npy"), "{text}");
    }
    let numbers: Vec<u8> = [1.0, 2.0, f64::NAN, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let good = workspace.npy("good.npy", "|u1", "(2, 1, 1, 1)", &[1, 2]);
    let path = workspace.npy("nan.npy", "<f8", "(2, 2, 1, 1)", &numbers);
    let text = refused(&workspace.request(&[&good, &path], json!({})));
    assert!(text.contains("image 3 (page 1 of ") && text.contains("nan.npy)"), "{text}");
    assert!(text.ends_with("has NaN at row 0, column 0; give numbers"), "{text}");
    let text = refused(&workspace.request(&[&good], json!({ "channel": "blue" })));
    assert!(text.ends_with("good.npy) is grey and has no blue; give --channel luma"), "{text}");
}

#[test]
fn a_file_that_is_no_image_is_named() {
    let workspace = Workspace::new();
    for (start, expected) in [
        (&b"\x89PNG\r\n\x1a\n"[..], "is a PNG file; save it as TIFF or .npy"),
        (b"\xFF\xD8\xFF\xE0", "is a JPEG file"),
        (b"GIF89a", "is a GIF file"),
        (b"", "is empty"),
        (b"1,2,3", "is no image that is read here"),
    ] {
        let path = workspace.write("x.tif", start);
        let text = refused(&workspace.request(&[&path], json!({})));
        assert!(text.contains(expected) && text.contains("x.tif"), "{text}");
    }
    workspace.write("none/notes.txt", "x");
    workspace.write("none/x.png", "x");
    let folder = workspace.folder.path().join("none");
    let text = refused(&workspace.request(&[&folder], json!({})));
    assert!(text.ends_with("none holds no image; give .tif, .tiff or .npy files"), "{text}");
    let text = refused(&workspace.request(&[&folder.join("nothing")], json!({})));
    assert!(text.contains("check the path"), "{text}");
    assert!(refused(&workspace.request(&[], json!({}))).contains("no input"));
}

#[test]
fn bad_tiffs_are_named() {
    let workspace = Workspace::new();
    let values = levels(64 * 64, 1);
    let good = tiff(&[Page { width: 64, height: 64, values: &values }], Compression::Uncompressed);
    for size in [5, 7, 100] {
        let path = workspace.write("cut.tif", &good[..size]);
        let text = refused(&workspace.request(&[&path], json!({})));
        assert!(text.contains("cut.tif") && text.contains("obtain it again"), "{size}: {text}");
    }
    let path = workspace.write("cut.tif", directory_first((9, 5), 1, &[0; 40]));
    let text = refused(&workspace.request(&[&path], json!({})));
    assert!(text.contains("page 0 of ") && text.contains("cut.tif is cut short"), "{text}");
    // A directory at an offset that no file can have.
    let big = [b"II\x2B\0\x08\0\0\0".as_slice(), &[0xFF; 8]].concat();
    let path = workspace.write("far.tif", big);
    let text = refused(&workspace.request(&[&path], json!({})));
    assert!(text.contains("far.tif is cut short"), "{text}");
    let path = workspace.write("flat.tif", directory_first((9, 0), 1, &[]));
    let text = refused(&workspace.request(&[&path], json!({})));
    assert!(text.contains("page 0 of ") && text.contains("flat.tif"), "{text}");
    let mut file = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut file).unwrap();
    encoder.write_image::<colortype::CMYK8>(1, 1, &[0; 4]).unwrap();
    let path = workspace.write("ink.tif", file.into_inner());
    let text = refused(&workspace.request(&[&path], json!({})));
    assert!(
        text.contains("page 0 of ") && text.contains("CMYK (8 bits) pixels; save it as"),
        "{text}"
    );
    let mut file = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut file).unwrap();
    encoder.write_image::<colortype::Gray8>(1, 1, &[0]).unwrap();
    encoder.write_image::<colortype::GrayI16>(1, 1, &[0]).unwrap();
    let path = workspace.write("signed.tif", file.into_inner());
    let text = refused(&workspace.request(&[&path], json!({})));
    assert!(text.contains("page 1 of ") && text.contains("numbers of 16 bits (Int)"), "{text}");
    // A mask of one bit, whose remedy would write one again without its last word.
    let mut file = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut file).unwrap();
    encoder.write_image::<colortype::Gray8>(1, 1, &[0]).unwrap();
    let mut bytes = file.into_inner();
    let depth = [2, 1, 3, 0, 1, 0, 0, 0, 8, 0];
    let place = bytes.windows(depth.len()).position(|window| window == depth).unwrap();
    bytes[place + 8] = 1;
    let text = refused(&workspace.request(&[&workspace.write("mask.tif", bytes)], json!({})));
    assert!(text.contains("page 0 of ") && text.contains("one bit a pixel"), "{text}");
    assert!(text.contains("new.write(numpy.uint8(0) + page.asarray(), subfiletype"), "{text}");
}

#[test]
fn parameters_out_of_range_are_refused() {
    let workspace = Workspace::new();
    let path = workspace.npy("x.npy", "|u1", "(600, 600)", &levels(360_000, 1));
    for (bad, expected) in [
        (json!({ "threshold": "high" }), "--threshold is \"high\", give otsu or a number"),
        (json!({ "threshold": "inf" }), "--threshold is"),
        (json!({ "min_pixels": 0 }), "--min-pixels is 0"),
        (json!({ "channel": "cyan" }), "unknown variant"),
    ] {
        let text = refused(&workspace.request(&[&path], bad));
        assert!(text.contains(expected), "{text}");
    }
    let mut request = workspace.request(&[&path], json!({}));
    request.budget = Budget::new(1 << 20).into();
    let text = refused(&request);
    assert!(text.contains("the largest image needs") && text.contains("raise --memory"), "{text}");
}

#[test]
fn a_cancelled_run_stops() {
    let workspace = Workspace::new();
    let path = workspace.npy("x.npy", "|u1", "(9, 5, 5)", &levels(225, 1));
    let progress = Progress::default();
    progress.cancel();
    let request = workspace.request(&[&path], json!({}));
    let error = cuesta_images::run(&request, &progress).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled);
}

/// First bytes of TIFF and NumPy files.
const STARTS: [&[u8]; 4] =
    [b"II\x2A\x00\x08\x00\x00\x00", b"MM\x00\x2A\x00\x00\x00\x08", b"\x93NUMPY\x01\x00", b""];

/// Reads all images of a file; an error must be one line that names the file.
fn read_all(workspace: &Workspace, content: &[u8]) -> Result<(), TestCaseError> {
    let path = workspace.write("any.tif", content);
    let plan = ImagesParams::default().check().unwrap();
    let outcome = Stack::open(&[path], needed_bytes).and_then(|stack| {
        let mut reader = Reader::new(&stack);
        for image in 0..stack.images {
            let (shape, samples) = reader.read(image)?;
            let mut room = cuesta_images::kernel::Scratch::default();
            let _ = cuesta_images::kernel::analyse(samples, &shape, &plan, &mut room);
            assert!(!matches!(samples, Samples::U8(values) if values.is_empty()));
        }
        Ok(())
    });
    if let Err(error) = outcome {
        prop_assert!(!error.message().contains('\n') && error.message().contains("any.tif"));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn damaged_tiffs_are_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        packed in any::<bool>(),
        cut in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        let values = levels(12 * 9, 1);
        let form = if packed { Compression::Lzw } else { Compression::Uncompressed };
        let mut content = tiff(&[Page { width: 12, height: 9, values: &values }], form);
        for (workspace, value) in changes {
            let at = workspace.index(content.len());
            content[at] = value;
        }
        if !whole {
            content.truncate(cut.index(content.len()));
        }
        read_all(&Workspace::new(), &content)?;
    }

    #[test]
    fn arbitrary_bytes_are_refused(
        start in prop::sample::select(STARTS.to_vec()),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        read_all(&Workspace::new(), &[start, &bytes].concat())?;
    }
}
