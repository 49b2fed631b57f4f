//! Number of threads, memory and form of file do not change the table, and verification detects
//! every wrong table.

use std::fs;
use std::path::Path;

use crate::common::{Page, Workspace, directory_first, levels, run, run_verified, tiff, verify};
use cuesta_core::budget::Budget;
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_images::kernel::needed_bytes;
use cuesta_images::run::{plan, rows};
use cuesta_input::images::Stack;
use serde_json::json;
use tiff::encoder::{Compression, compression::DeflateLevel};

#[test]
fn all_kinds_of_page_are_read_and_verified() {
    let workspace = Workspace::new();
    let (small, large) = (levels(24 * 31, 1), levels(60 * 50, 2));
    let pages = [
        Page { width: 31, height: 24, values: &small },
        Page { width: 60, height: 50, values: &large },
    ];
    let forms =
        [Compression::Uncompressed, Compression::Lzw, Compression::Deflate(DeflateLevel::Fast)];
    let mut tables = Vec::new();
    for form in forms {
        let path = workspace.write("pages.tif", tiff(&pages, form));
        run_verified(&workspace.request(&[&path], json!({})));
        tables.push(workspace.table());
    }
    tables.dedup();
    assert_eq!(tables.len(), 1);
    let rows = &tables[0];
    assert_eq!(rows.len(), 13);
    // Levels multiplied by 257 have the same objects at 257 times the threshold.
    assert_eq!(rows[0][6..], rows[1][6..]);
    let threshold = |row: usize| rows[row][5].parse::<f64>().unwrap();
    assert_eq!(threshold(0) * 257.0, threshold(1));
    assert_eq!((rows[6][2].as_str(), rows[6][3].as_str(), rows[6][4].as_str()), ("6", "50", "60"));
    // The colours were made from red, and blue is its complement to white.
    let pixels: u64 = rows[0][6].parse().unwrap();
    for (channel, expected) in [("red", pixels), ("blue", 24 * 31 - pixels)] {
        let request = workspace.request(&[&workspace.folder.path().join("pages.tif")], json!({}));
        let stack = Stack::open(&request.inputs, needed_bytes).unwrap();
        let request = workspace.request(&[], json!({ "channel": channel }));
        let request = Request { inputs: vec!["-".into()], ..request };
        let rows = rows_of(&request, &stack, 4..6);
        assert_eq!(rows[0].counts.pixels, expected, "{channel}");
    }
}

#[test]
fn a_page_packed_by_zstandard_is_read() {
    let workspace = Workspace::new();
    let values = levels(50 * 40, 4);
    let packed = zstd::bulk::compress(&values, 1).unwrap();
    let tables = [(1, &values), (50_000, &packed)].map(|(compression, content)| {
        let path = workspace.write("x.tif", directory_first((50, 40), compression, content));
        run_verified(&workspace.request(&[&path], json!({})));
        workspace.table()
    });
    assert_eq!(tables[0], tables[1]);
}

fn rows_of(
    request: &Request,
    stack: &Stack,
    images: std::ops::Range<u64>,
) -> Vec<cuesta_images::table::Row> {
    assert!(plan(request).is_ok());
    rows(request, stack, images, &Progress::default()).unwrap()
}

#[test]
fn threads_memory_and_form_do_not_change_the_answer() {
    let workspace = Workspace::new();
    let values = levels(5 * 40 * 30, 3);
    let stack = workspace.npy("stack.npy", "|u1", "(5, 40, 30)", &values);
    let wide: Vec<u8> = values.iter().flat_map(|&value| u16::from(value).to_le_bytes()).collect();
    for index in 0..5 {
        let bytes = &wide[index * 2400..][..2400];
        workspace.npy(&format!("many/{index}.npy"), "<u2", "(40, 30)", bytes);
    }
    workspace.write("many/notes.txt", "no image");
    workspace.write("many/.hidden.npy", "no image");
    let many = workspace.folder.path().join("many");
    let counts = |request: &Request| {
        let digest = run_verified(request).digest;
        let table = workspace.table();
        assert_eq!(table.len(), 6);
        let columns: Vec<_> = table.iter().map(|row| row[3..].to_vec()).collect();
        (digest, columns)
    };
    let parameters = json!({ "min_pixels": 4, "objects": "dark" });
    let expected = counts(&workspace.request(&[&stack], parameters.clone()));
    for (threads, memory_bytes) in [(1, 1 << 30), (3, 1 << 30), (4, 700_000)] {
        let mut request = workspace.request(&[&stack], parameters.clone());
        request.threads = threads;
        request.budget = Budget::new(memory_bytes).into();
        assert_eq!(counts(&request), expected);
    }
    let many_counts = counts(&workspace.request(&[&many], parameters));
    assert_eq!(many_counts.1, expected.1);
}

#[test]
fn a_share_of_the_images_has_their_numbers() {
    let workspace = Workspace::new();
    let first_stack = workspace.npy("one.npy", "|u1", "(3, 4, 5)", &levels(60, 1));
    let second_stack = workspace.npy("other.npy", "|u1", "(2, 4, 5)", &levels(40, 2));
    let request = workspace.request(&[&first_stack, &second_stack], json!({}));
    let stack = Stack::open(&request.inputs, needed_bytes).unwrap();
    let all = rows_of(&request, &stack, 0..5);
    let files: Vec<(&Path, u64)> = stack.files().collect();
    assert_eq!(files, [(first_stack.as_path(), 3), (second_stack.as_path(), 2)]);
    assert_eq!(rows_of(&request, &stack, 2..4), all[2..4]);
    assert_eq!((all[4].image, all[4].page), (4, 1));
    assert!(rows_of(&request, &stack, 3..3).is_empty());
    let later = Stack::open(&[second_stack], needed_bytes).unwrap().numbered_from(3);
    let numbers = rows_of(&request, &later, 0..2).into_iter().map(|row| row.image);
    assert!(numbers.eq([3, 4]));
}

#[test]
fn a_changed_line_is_detected() {
    let workspace = Workspace::new();
    let path = workspace.npy("stack.npy", "|u1", "(3, 20, 20)", &levels(1200, 5));
    let request = workspace.request(&[&path], json!({ "threshold": "100" }));
    run(&request);
    assert!(verify(&request).verified);
    let good = fs::read_to_string(workspace.answer()).unwrap();
    let line = good.lines().nth(2).unwrap();
    for column in 0..9 {
        let mut fields: Vec<&str> = line.split('\t').collect();
        fields[column] = if column == 1 { "elsewhere.npy" } else { "7" };
        fs::write(workspace.answer(), good.replace(line, &fields.join("\t"))).unwrap();
        assert!(!verify(&request).verified, "column {column}");
    }
    fs::write(workspace.answer(), good.replace(&format!("{line}\n"), "")).unwrap();
    assert!(!verify(&request).verified);
    let all = good.lines().last().unwrap();
    fs::write(workspace.answer(), good.replace(all, &format!("{all}1"))).unwrap();
    assert!(!verify(&request).verified);
    for bad in ["", "image\n", good.trim_end().strip_suffix(all).unwrap(), "x\ty\n"] {
        fs::write(workspace.answer(), bad).unwrap();
        assert!(cuesta_images::verify(&request, &Progress::default()).is_err(), "{bad}");
    }
}
