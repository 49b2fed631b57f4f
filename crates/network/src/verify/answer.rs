//! Reads answer files, whichever engine wrote them.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use cuesta_core::fixed::{Micro, NAN};
use cuesta_core::{Error, Result};

/// Calls `take(line number, fields)` for each line of a table with the header `header`.
///
/// # Errors
/// `Input` for another header or a line that `take` refuses; `System`.
pub fn each_line(
    path: &Path,
    header: &[&str],
    mut take: impl FnMut(&[&str]) -> std::result::Result<(), String>,
) -> Result<()> {
    let system = |cause| Error::system("verify", "reading", path, &cause);
    let bad = |number: usize, what: &str| {
        Error::input("verify", format!("line {number} of {} {what}", path.display()))
    };
    let file = BufReader::with_capacity(1 << 20, File::open(path).map_err(system)?);
    let mut lines = file.lines();
    let first = lines.next().transpose().map_err(system)?.unwrap_or_default();
    if first.split('\t').ne(header.iter().copied()) {
        return Err(bad(1, &format!("is not the header {}", header.join(" "))));
    }
    for (index, line) in lines.enumerate() {
        let line = line.map_err(system)?;
        let fields: Vec<&str> = line.split('\t').collect();
        if fields.len() != header.len() {
            let what = format!("has {} fields, expected {}", fields.len(), header.len());
            return Err(bad(index + 2, &what));
        }
        take(&fields).map_err(|what| bad(index + 2, &what))?;
    }
    Ok(())
}

/// Reads integers.
///
/// # Errors
/// The field that is none.
pub fn integers<const N: usize>(fields: &[&str]) -> std::result::Result<[u64; N], String> {
    let mut values = [0; N];
    for (value, field) in values.iter_mut().zip(fields) {
        *value = field.parse().map_err(|_| format!("has {field}, expected a whole number"))?;
    }
    Ok(values)
}

/// Reads a score, or nothing from an empty field.
///
/// # Errors
/// The field when it is neither.
pub fn score(field: &str) -> std::result::Result<Option<Micro>, String> {
    match field {
        "" => Ok(None),
        "nan" => Ok(Some(NAN)),
        text => {
            let value: f64 = text.parse().map_err(|_| format!("has {text}, expected a score"))?;
            Ok(Some((value * 1e6).round() as Micro))
        }
    }
}
