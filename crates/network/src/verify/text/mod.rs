//! Separate reader of KINC text for verification: all bytes of all lines, at the speed of memory.
//!
//! It shares no code with the reader of the kernels except the list of files. A line in KINC's
//! notation is read by [`line::Line`]; any other line by the plain reader of [`crate::reference`],
//! with which the tests compare the fast reader.

pub mod line;
pub mod pieces;
pub mod simd;

use line::{Line, Plain, WrittenRow};
use simd::{ByteClassifier, with_cpu};

use super::wanted::Wanted;

/// Start of the line in the buffer, and its fault.
pub type Fault = (usize, String);

/// Calls `keep` for each wanted row of the lines in `buffer[start..end]`, in order.
///
/// # Errors
/// The first line that cannot be read or that `keep` refuses.
pub fn walk(
    buffer: &[u8],
    (start, end): (usize, usize),
    wanted: &Wanted,
    keep: &mut impl FnMut(&WrittenRow<'_>) -> Result<(), String>,
) -> Result<(), Fault> {
    with_cpu!(cpu => cpu.enter(
        #[inline(always)]
        || walk_here(cpu, buffer, (start, end), wanted, keep)
    ))
}

#[inline(always)]
fn walk_here<C: ByteClassifier>(
    cpu: C,
    buffer: &[u8],
    (start, end): (usize, usize),
    wanted: &Wanted,
    keep: &mut impl FnMut(&WrittenRow<'_>) -> Result<(), String>,
) -> Result<(), Fault> {
    let mut at = start;
    while at < end {
        if wanted.samples()
            && let Some((gene1, gene2)) = line::genes(cpu, buffer, at)
            && !wanted.sampled(gene1, gene2)
        {
            at = next_line(buffer, at, end);
            continue;
        }
        if let Some(line) = Line::read(cpu, buffer, at) {
            let written = line.written_row();
            if wanted.passes(&written.row) {
                keep(&written).map_err(|fault| (at, fault))?;
            }
            at = line.next;
            continue;
        }
        let next = next_line(buffer, at, end);
        plain(&buffer[at..next - 1], wanted, keep).map_err(|fault| (at, fault))?;
        at = next;
    }
    Ok(())
}

#[inline(always)]
fn next_line(buffer: &[u8], at: usize, end: usize) -> usize {
    memchr::memchr(b'\n', &buffer[at..end]).map_or(end, |feed| at + feed + 1)
}

#[inline(never)]
fn plain(
    line: &[u8],
    wanted: &Wanted,
    keep: &mut impl FnMut(&WrittenRow<'_>) -> Result<(), String>,
) -> Result<(), String> {
    match Plain::read(line)? {
        Some(plain) => {
            let written = plain.written_row();
            let genes = (written.row.gene1, written.row.gene2);
            let wanted = wanted.sampled(genes.0, genes.1) && wanted.passes(&written.row);
            if wanted { keep(&written) } else { Ok(()) }
        }
        None if wanted.rows_only => Err("has no row".to_owned()),
        None => Ok(()),
    }
}
