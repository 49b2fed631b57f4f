//! Names as the last columns of a table, added to all parts in parallel.

use std::path::Path;

use cuesta_core::job::Context;
use cuesta_core::{Error, Result};
use cuesta_input::GeneNames;
use cuesta_input::limits::SPLIT_BYTES;
use cuesta_input::reader::LineBlocks;
use cuesta_input::source::{TextFile, TextSource};
use cuesta_runtime::ordered::OrderedFile;
use cuesta_runtime::{atomic_file, parallel};

use super::Table;

/// Adds the names of the genes to each line of a table; returns its size in bytes.
///
/// # Errors
/// `Input` for a gene without a name and for a table of another kind; `System`; `Cancelled`.
pub fn add_names(
    context: &Context<'_>,
    table: &Table,
    path: &Path,
    names: &GeneNames,
) -> Result<u64> {
    let opened = std::fs::metadata(path);
    let opened = opened.map_err(|cause| Error::system("annotate", "opening", path, &cause))?;
    let size_bytes = opened.len();
    let file = TextFile { path: path.to_owned(), size_bytes, is_packed: false, zone: None };
    let source = TextSource { files: vec![file], shape: None, files_skipped: 0 };
    let (file, splits) = (&source.files[0], source.splits(SPLIT_BYTES));
    context.progress.expect(size_bytes);
    if splits.is_empty() {
        return Err(foreign(path));
    }
    atomic_file::write(path, |partial| {
        let out = OrderedFile::create(partial)?;
        let make = || (Vec::new(), Vec::new());
        let work = |(buffer, text): &mut (Vec<u8>, Vec<u8>), task: usize| {
            let mut blocks = LineBlocks::open_with(file, &splits[task], std::mem::take(buffer))?;
            while let Some(block) = blocks.next_block()? {
                let lines = &block.bytes[..block.size_bytes];
                let lines = match block.offset {
                    0 => header(table, path, lines, text)?,
                    _ => lines,
                };
                for line in lines.split_inclusive(|&byte| byte == b'\n') {
                    append_with_names(table, path, line, names, text)?;
                }
                context.progress.advance(block.size_bytes as u64)?;
            }
            *buffer = blocks.into_buffer();
            out.finish_task(task, text)
        };
        let threads = context.request.threads;
        parallel::run(threads, splits.len(), make, work, |task| out.fail(task))?;
        out.close()
    })
}

/// Appends the header of the table with the columns of names; returns the lines below it.
fn header<'l>(table: &Table, path: &Path, lines: &'l [u8], out: &mut Vec<u8>) -> Result<&'l [u8]> {
    let rest = lines.strip_prefix(table.header.as_bytes());
    let rest = rest.and_then(|rest| rest.strip_prefix(b"\n")).ok_or_else(|| foreign(path))?;
    out.extend_from_slice(table.header.as_bytes());
    let added: &[u8] = if table.gene_columns == 1 { b"\tname\n" } else { b"\tname1\tname2\n" };
    out.extend_from_slice(added);
    Ok(rest)
}

/// Appends a line of the table to `out`, with the names of its genes as last columns.
///
/// # Errors
/// `Input` for a field that is no gene number, and for a gene without a name.
fn append_with_names(
    table: &Table,
    path: &Path,
    line: &[u8],
    names: &GeneNames,
    out: &mut Vec<u8>,
) -> Result<()> {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    out.extend_from_slice(text);
    let columns = table.gene_columns;
    for field in text.splitn(columns + 1, |&byte| byte == b'\t').take(columns) {
        let gene = gene_of(field).ok_or_else(|| {
            let shown = String::from_utf8_lossy(&field[..field.len().min(24)]);
            let text =
                format!("{} has {shown:?} for a gene; run the workload again", path.display());
            Error::input("annotate", text)
        })?;
        out.push(b'\t');
        out.extend_from_slice(names.name(gene)?.as_bytes());
    }
    out.extend_from_slice(&line[text.len()..]);
    Ok(())
}

/// Parses a gene number, from 1.
pub fn gene_of(field: &[u8]) -> Option<u32> {
    let digits = (1..=9).contains(&field.len()) && field.iter().all(u8::is_ascii_digit);
    let number = || field.iter().fold(0, |sum, &digit| sum * 10 + u32::from(digit - b'0'));
    digits.then(number).filter(|&gene| gene > 0)
}

fn foreign(path: &Path) -> Error {
    let text =
        format!("{} has another header, or has names; run the workload again", path.display());
    Error::input("annotate", text)
}
