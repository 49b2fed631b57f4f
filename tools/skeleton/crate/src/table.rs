//! The answer file: one row below a header.

use std::path::Path;

use cuesta_core::{Error, Result};

use crate::kernel::Total;

/// The answer file.
pub const TOTAL_FILE: &str = "total.tsv";
/// Its header.
pub const HEADER: &str = "count\tsum\n";

/// Writes the table; returns its bytes.
///
/// # Errors
/// `System`.
pub fn write(folder: &Path, total: Total) -> Result<u64> {
    let text = format!("{HEADER}{}\t{}\n", total.count, total.sum);
    let path = folder.join(TOTAL_FILE);
    std::fs::write(&path, &text)
        .map_err(|cause| Error::system("answer", "writing", &path, &cause))?;
    Ok(text.len() as u64)
}

/// Reads the table; `None` where it is not one that [`write`] wrote.
///
/// # Errors
/// `System`.
pub fn read(folder: &Path) -> Result<Option<Total>> {
    let path = folder.join(TOTAL_FILE);
    let bytes = std::fs::read(&path)
        .map_err(|cause| Error::system("verify", "reading", &path, &cause))?;
    let parsed = || {
        let row = std::str::from_utf8(&bytes).ok()?.strip_prefix(HEADER)?.strip_suffix('\n')?;
        let (count, sum) = row.split_once('\t')?;
        let total = Total { count: count.parse().ok()?, sum: sum.parse().ok()? };
        (format!("{}\t{}", total.count, total.sum) == row).then_some(total)
    };
    Ok(parsed())
}
