//! `scan`: rows that pass a filter, as KINC version-1 text in the order of the input.

use std::path::Path;

use cuesta_core::Result;
use cuesta_core::job::{Context, Response, timed};
use cuesta_core::progress::Progress;
use cuesta_input::kinc::block::{Counts, Hit};
use cuesta_input::pair_matrix::Need;
use cuesta_runtime::ordered::OrderedFile;

use super::pairs::{Pairs, SelectedRow, Visitor, total};
use crate::params::ScanParams;

/// Name of the answer file.
pub const PAIRS_FILE: &str = "pairs.txt";
/// Bytes of the answer of a part that are held in memory before the part waits for its turn.
const PART_BYTES_MAX: usize = 8 << 20;

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(context: &Context<'_>) -> Result<Response> {
    let params: ScanParams = context.parameters()?;
    let filter = params.filter.check()?;
    let mut response = Response::default();
    let pairs = timed(&mut response, "open", || {
        let pairs = Pairs::open(&context.request.inputs, &filter, Need::Row)?;
        Ok((pairs, 0, 0))
    })?;
    let path = context.request.output.join(PAIRS_FILE);
    let (counts, written) = timed(&mut response, "scan", || {
        let (counts, bytes, written) =
            write(&pairs, &path, context.request.threads, context.progress)?;
        Ok(((counts, written), bytes, counts.rows_read))
    })?;
    response.counts.insert("rows_read", counts.rows_read);
    response.counts.insert("rows_kept", counts.rows_passed);
    response.counts.insert("files_skipped", pairs.skipped());
    response.counts.insert("answer_bytes", written);
    Ok(response)
}

/// Writes the rows that pass to a file; returns the counts, the bytes read and the bytes written.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn write(
    pairs: &Pairs,
    path: &Path,
    threads: usize,
    progress: &Progress,
) -> Result<(Counts, u64, u64)> {
    let out = OrderedFile::create(path)?;
    let visitor = Visitor {
        keep: &|state: &mut Vec<u8>, _, row| match row {
            SelectedRow::Line(hit) => append(hit, state),
            SelectedRow::Row(row, _) => {
                row.append_kinc_v1(state);
                Ok(())
            }
        },
        flush: &|state, part, last| match last {
            true => out.finish_task(part, state),
            false if state.len() >= PART_BYTES_MAX => out.write_part(part, state),
            false => Ok(()),
        },
        on_error: &|part| out.fail(part),
    };
    let workers = pairs.visit(threads, progress, Vec::new, &visitor)?;
    let (counts, bytes) = total(&workers);
    Ok((counts, bytes, out.close()?))
}

/// Appends a row as KINC version-1 text.
///
/// # Errors
/// A sentence on the fault of the line.
pub fn append(hit: &Hit<'_>, out: &mut Vec<u8>) -> std::result::Result<(), String> {
    let parsed = hit.parse()?;
    if hit.is_verbatim() {
        out.extend_from_slice(hit.line);
        out.push(b'\n');
    } else {
        parsed.row().append_kinc_v1(out);
    }
    Ok(())
}
