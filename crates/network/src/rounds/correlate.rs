//! `correlate`: each task reads the matrix, and writes the pairs of some rows as text, which the
//! leader concatenates, or those of some chunks as a piece of a pair matrix.

use std::ops::Range;

use cuesta_core::Result;
use cuesta_core::job::{Context, Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_input::generate::clusters::pairs_of;
use cuesta_input::pair_matrix::{CHUNK_PAIRS, MatrixPiece, PieceMaker, PiecedMatrix};
use cuesta_runtime::rounds::{Blocks, Leader, Resources, Round, Task, Worker, shares};
use cuesta_runtime::wire;
use serde::{Deserialize, Serialize};

use super::parts;
use super::pieces::{JoinPieces, PieceJoin};
use crate::kernel::correlate::{Counts, bands};
use crate::params::{CorrelateParams, Format};
use crate::run::correlate::{
    estimate, folder_bytes, pairs_in, pairs_options, parse, report, write_genes, write_piece,
    write_rows,
};
use crate::run::load::PAIRS_FOLDER;
use crate::run::scan::PAIRS_FILE;

/// Minimum number of bands for each task, so that tasks end together.
const BANDS_A_TASK: usize = 16;

/// Counts of a task: pairs, selected, undefined, and with too few samples.
type TaskCounts = [u64; 4];

pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    let params = params(request)?;
    Ok(Box::new(Steps {
        request: request.clone(),
        params,
        resources,
        opened: None,
        stage: Stage::Text,
    }))
}

pub fn work(request: &Request) -> Result<Box<dyn Worker>> {
    Ok(Box::new(Work { request: request.clone(), params: params(request)? }))
}

fn params(request: &Request) -> Result<CorrelateParams> {
    parameters(&request.parameters)
}

/// Input of all tasks of a round.
#[derive(Serialize, Deserialize)]
enum RoundInput {
    /// Write the pairs of a range of rows, as text.
    Text,
    /// Write the pairs of a range of ranks, as a piece.
    Piece(PieceMaker),
    /// Join the pieces into shards.
    Pieces(JoinPieces),
}

struct Steps {
    request: Request,
    params: CorrelateParams,
    resources: Resources,
    /// Genes, samples and tasks, after the matrix was read.
    opened: Option<(usize, usize, usize)>,
    stage: Stage,
}

enum Stage {
    Text,
    Pieces(Box<PiecedMatrix>),
    Join(Box<PieceJoin>, Counts),
}

impl Leader for Steps {
    fn next(
        &mut self,
        results: Vec<Vec<u8>>,
        response: &mut Response,
        progress: &Progress,
    ) -> Result<Option<Round>> {
        let Some((genes, samples, tasks)) = self.opened else {
            return self.open(response, progress).map(Some);
        };
        let output = &self.request.output;
        let (joining, counts, shards) = match std::mem::replace(&mut self.stage, Stage::Text) {
            Stage::Text => {
                let (counts, _) = added(&results)?;
                let bytes = timed(response, "write", || {
                    let bytes = parts::join(output, tasks, &output.join(PAIRS_FILE))?;
                    Ok((bytes, bytes, 0))
                })?;
                report((genes, samples), counts, bytes, response);
                return Ok(None);
            }
            Stage::Pieces(matrix) => {
                let (counts, pieces) = added(&results)?;
                let joining = PieceJoin::new(*matrix, pieces, self.resources);
                let encode = |pieces| wire::to_bytes(&RoundInput::Pieces(pieces));
                if let Some(round) = joining.round(encode)? {
                    self.stage = Stage::Join(Box::new(joining), counts);
                    return Ok(Some(round));
                }
                (joining, counts, Vec::new())
            }
            Stage::Join(joining, counts) => (*joining, counts, results),
        };
        joining.finish(&shards, response)?;
        let bytes = folder_bytes(&output.join(PAIRS_FOLDER));
        report((genes, samples), counts, bytes, response);
        Ok(None)
    }
}

/// Returns the sums of the counts of all tasks, and their pieces.
fn added(results: &[Vec<u8>]) -> Result<(Counts, Vec<MatrixPiece>)> {
    let (mut counts, mut pieces) = (Counts::default(), Vec::new());
    for result in results {
        let (task_counts, piece): (TaskCounts, Option<MatrixPiece>) = wire::from_bytes(result)?;
        let [pairs, selected, undefined, too_few_samples] = task_counts;
        counts += Counts { pairs, selected, undefined, too_few_samples };
        pieces.extend(piece);
    }
    Ok((counts, pieces))
}

impl Steps {
    fn open(&mut self, response: &mut Response, progress: &Progress) -> Result<Round> {
        let context = Context::new(&self.request, progress);
        let matrix = parse(&context, &self.params, response)?;
        let (genes, samples) = (matrix.genes.len(), matrix.samples.len());
        estimate::check_space(&self.request.output, &matrix, &self.params)?;
        let pairs = pairs_of(genes as u32);
        let count = self.resources.tasks.unwrap_or(self.resources.slots);
        let (input, ranges): (RoundInput, Vec<Range<u64>>) = match self.params.format {
            Format::Text => {
                write_genes(&context, &matrix)?;
                let range = |rows: &Range<usize>| rows.start as u64..rows.end as u64;
                (RoundInput::Text, row_ranges(genes, count).iter().map(range).collect())
            }
            Format::Pairs => {
                let place = self.request.output.join(PAIRS_FOLDER);
                let pieced = PiecedMatrix::create(&place, pairs_options(&context, &matrix))?;
                let input = RoundInput::Piece(pieced.maker());
                self.stage = Stage::Pieces(Box::new(pieced));
                (input, chunk_ranges(pairs, count))
            }
        };
        let ranges = ranges.iter().map(|ranges| wire::to_bytes(&(ranges.start, ranges.end)));
        let tasks: Vec<Vec<u8>> = ranges.collect::<Result<_>>()?;
        self.opened = Some((genes, samples, tasks.len()));
        Ok(Round {
            phase: "multiply".to_owned(),
            rows: pairs,
            flops: 2 * samples as u64 * pairs,
            ceiling: Some("gemm_f32_flops_per_s"),
            shared: wire::to_bytes(&input)?,
            tasks,
            ..Round::default()
        })
    }
}

/// Divides the rows of the triangle of pairs into at most `tasks` ranges with about as many pairs
/// each: each task reads the complete matrix, so there is one for each slot.
fn row_ranges(genes: usize, tasks: usize) -> Vec<Range<usize>> {
    let even = pairs_of(genes as u32).div_ceil(tasks as u64);
    let mut row_ranges: Vec<Range<usize>> = Vec::new();
    for band in bands(genes, BANDS_A_TASK * tasks) {
        match row_ranges.last_mut() {
            Some(last) if pairs_in(last) < even => last.end = band.end,
            _ => row_ranges.push(band),
        }
    }
    row_ranges
}

/// Divides the ranks into ranges of complete chunks, for at most `tasks` tasks.
fn chunk_ranges(pairs: u64, tasks: usize) -> Vec<Range<u64>> {
    let chunk = CHUNK_PAIRS as u64;
    let chunks = pairs.div_ceil(chunk);
    let ranks = |range: Range<u64>| range.start * chunk..pairs.min(range.end * chunk);
    shares(chunks, chunks.min(tasks as u64)).map(ranks).collect()
}

struct Work {
    request: Request,
    params: CorrelateParams,
}

impl Worker for Work {
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)> {
        let context = Context::new(&self.request, progress);
        let range = || wire::from_bytes::<(u64, u64)>(task.input);
        let (counts, piece) = match wire::from_bytes(task.shared)? {
            RoundInput::Text => {
                let (start, end) = range()?;
                let rows = start as usize..end as usize;
                let (counts, _) = parts::write(&self.request.output, task.number, |path| {
                    write_rows(&context, &self.params, &rows, path)
                })?;
                (counts, None)
            }
            RoundInput::Piece(maker) => {
                let (start, end) = range()?;
                let (counts, piece) = write_piece(&context, &self.params, &(start..end), &maker)?;
                (counts, Some(piece))
            }
            RoundInput::Pieces(pieces) => return Ok((pieces.task(task.input)?, Blocks::default())),
        };
        let Counts { pairs, selected, undefined, too_few_samples } = counts;
        let task_counts: TaskCounts = [pairs, selected, undefined, too_few_samples];
        Ok((wire::to_bytes(&(task_counts, piece))?, Blocks::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_all_rows_in_order_and_about_as_many_pairs() {
        for (genes, tasks) in [(5000, 1), (5000, 3), (20_000, 7), (3, 5), (1, 1)] {
            let row_ranges = row_ranges(genes, tasks);
            assert!(!row_ranges.is_empty() && row_ranges.len() <= tasks, "{genes} {tasks}");
            assert!(row_ranges.windows(2).all(|two| two[0].end == two[1].start));
            assert_eq!((row_ranges[0].start, row_ranges[row_ranges.len() - 1].end), (0, genes));
            let even = pairs_of(genes as u32) / tasks as u64;
            let most = row_ranges.iter().map(pairs_in).max().unwrap_or(0);
            assert!(genes < 5000 || most < even + even / 4, "{most} of {even}");
        }
    }
}
