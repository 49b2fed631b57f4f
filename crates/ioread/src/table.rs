//! The answer file: a row for each file below a header.

use std::fmt::Write;
use std::path::Path;

use cuesta_core::{Error, Result};

use crate::part::ReadPart;

/// Name of the answer file.
pub const READ_FILE: &str = "read.tsv";
/// Its header.
pub const HEADER: &str = "input\trequests\tbytes\tcrc32c\n";

/// Writes the table; returns its size in bytes.
///
/// # Errors
/// `System`.
pub fn write(folder: &Path, parts: &[ReadPart]) -> Result<u64> {
    let text = text(parts);
    let path = folder.join(READ_FILE);
    std::fs::write(&path, &text)
        .map_err(|cause| Error::system("answer", "writing", &path, &cause))?;
    Ok(text.len() as u64)
}

/// Reads the table; `None` for a table that [`write`] would not have written.
///
/// # Errors
/// `System`.
pub fn read(folder: &Path) -> Result<Option<Vec<ReadPart>>> {
    let path = folder.join(READ_FILE);
    let bytes =
        std::fs::read(&path).map_err(|cause| Error::system("verify", "reading", &path, &cause))?;
    let parsed = || {
        let rows = std::str::from_utf8(&bytes).ok()?.strip_prefix(HEADER)?;
        let parts: Vec<_> = rows.lines().map(row).collect::<Option<_>>()?;
        (text(&parts).as_bytes() == bytes).then_some(parts)
    };
    Ok(parsed())
}

fn row(line: &str) -> Option<ReadPart> {
    let mut fields = line.split('\t');
    let mut next = || fields.next();
    Some(ReadPart {
        file: next()?.parse().ok()?,
        requests: next()?.parse().ok()?,
        size_bytes: next()?.parse().ok()?,
        crc: u32::from_str_radix(next()?, 16).ok()?,
    })
}

fn text(parts: &[ReadPart]) -> String {
    let mut text = HEADER.to_owned();
    for part in parts {
        let ReadPart { file, requests, size_bytes, crc } = part;
        let _ = writeln!(text, "{file}\t{requests}\t{size_bytes}\t{crc:08x}");
    }
    text
}
