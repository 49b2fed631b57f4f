//! `images` in parts, for engines of many processes: JSON and lines of the answer in and out.

use std::path::Path;

use cuesta_core::job::{self, Request};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_images::run;
use cuesta_images::stack::Stack;
use cuesta_images::table::Row;
use serde_json::json;

use crate::convert::to_json;

/// What is known before any image is read.
pub fn facts(request: &str) -> Result<String> {
    let request = job::request(request)?;
    run::plan(&request)?;
    let stack = Stack::open(&request.inputs)?;
    let files: Vec<_> = stack.files().collect();
    to_json(&json!({ "images": stack.images, "bytes": stack.size_bytes, "files": files }))
}

/// Lines of some images, whose numbers begin at `base`.
pub fn rows(
    request: &str,
    base: u64,
    (first, count): (u64, u64),
    progress: &Progress,
) -> Result<String> {
    let request: Request = job::request(request)?;
    let stack = Stack::open(&request.inputs)?.numbered_from(base);
    let end = first.checked_add(count).filter(|&end| end <= stack.images);
    let end = end
        .ok_or_else(|| Error::input("images", format!("there are only {} images", stack.images)))?;
    let mut lines = String::new();
    let rows = run::rows(&request, &stack, first..end, progress)?;
    rows.iter().for_each(|row| row.append(&mut lines));
    Ok(lines)
}

/// Writes the answer from the lines of all images.
pub fn write(folder: &Path, lines: &str) -> Result<String> {
    let parse = |line: &str| {
        Row::parse(line).ok_or_else(|| Error::input("images", format!("{line:?} is no line")))
    };
    let rows = lines.lines().map(parse).collect::<Result<Vec<Row>>>()?;
    let (all, bytes) = run::write(folder, &rows)?;
    to_json(&json!({
        "bytes": bytes,
        "counts": {
            "images": rows.len(),
            "pixels": all.pixels,
            "objects": all.objects,
            "largest_object": all.largest,
        },
    }))
}
