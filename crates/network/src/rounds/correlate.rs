//! `correlate`: each task reads the matrix, and writes the pairs of some of its rows as text, which
//! the leader puts together, or those of some chunks as a piece of a pair matrix.

use std::ops::Range;

use cuesta_core::Result;
use cuesta_core::budget::Budget;
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
    estimate, folder_bytes, pairs_in, pairs_options, parse, tell, write_genes, write_piece,
    write_rows,
};
use crate::run::load::PAIRS_FOLDER;
use crate::run::scan::PAIRS_FILE;

/// Bands that each task can get at least, so that tasks end together.
const BANDS_A_TASK: usize = 16;

/// What a task found: pairs, kept, undefined, and with too few samples.
type Found = [u64; 4];

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

/// What all of a round are told.
#[derive(Serialize, Deserialize)]
enum Asked {
    /// The pairs of a range of rows, as text.
    Text,
    /// Those of a range of ranks, as a piece.
    Piece(PieceMaker),
    /// The shards.
    Pieces(JoinPieces),
}

struct Steps {
    request: Request,
    params: CorrelateParams,
    resources: Resources,
    /// Genes, samples and tasks, once the matrix was read.
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
        found: Vec<Vec<u8>>,
        response: &mut Response,
        progress: &Progress,
    ) -> Result<Option<Round>> {
        let Some((genes, samples, tasks)) = self.opened else {
            return self.open(response, progress).map(Some);
        };
        let output = &self.request.output;
        let (joining, counts, shards) = match std::mem::replace(&mut self.stage, Stage::Text) {
            Stage::Text => {
                let (counts, _) = added(&found)?;
                let bytes = timed(response, "write", || {
                    let bytes = parts::join(output, tasks, &output.join(PAIRS_FILE))?;
                    Ok((bytes, bytes, 0))
                })?;
                tell((genes, samples), counts, bytes, response);
                return Ok(None);
            }
            Stage::Pieces(matrix) => {
                let (counts, pieces) = added(&found)?;
                let joining = PieceJoin::new(*matrix, pieces, self.resources);
                let asked = |pieces| wire::to_bytes(&Asked::Pieces(pieces));
                if let Some(round) = joining.round(asked)? {
                    self.stage = Stage::Join(Box::new(joining), counts);
                    return Ok(Some(round));
                }
                (joining, counts, Vec::new())
            }
            Stage::Join(joining, counts) => (*joining, counts, found),
        };
        joining.finish(&shards, response)?;
        let bytes = folder_bytes(&output.join(PAIRS_FOLDER));
        tell((genes, samples), counts, bytes, response);
        Ok(None)
    }
}

/// What all tasks found.
fn added(found: &[Vec<u8>]) -> Result<(Counts, Vec<MatrixPiece>)> {
    let (mut counts, mut pieces) = (Counts::default(), Vec::new());
    for some in found {
        let (found, piece): (Found, Option<MatrixPiece>) = wire::from_bytes(some)?;
        let [pairs, kept, undefined, too_few_samples] = found;
        counts += Counts { pairs, kept, undefined, too_few_samples };
        pieces.extend(piece);
    }
    Ok((counts, pieces))
}

impl Steps {
    fn open(&mut self, response: &mut Response, progress: &Progress) -> Result<Round> {
        let budget = Budget::new(self.request.memory_bytes);
        let context = Context { request: &self.request, budget: &budget, progress };
        let matrix = parse(&context, &self.params, response)?;
        let (genes, samples) = (matrix.genes.len(), matrix.samples.len());
        estimate::check_space(&self.request.output, &matrix, &self.params)?;
        let pairs = pairs_of(genes as u32);
        let count = self.resources.tasks.unwrap_or(self.resources.slots);
        let (asked, own): (Asked, Vec<Range<u64>>) = match self.params.format {
            Format::Text => {
                write_genes(&context, &matrix)?;
                let range = |rows: &Range<usize>| rows.start as u64..rows.end as u64;
                (Asked::Text, ranges(genes, count).iter().map(range).collect())
            }
            Format::Pairs => {
                let place = self.request.output.join(PAIRS_FOLDER);
                let pieced = PiecedMatrix::create(&place, pairs_options(&context, &matrix))?;
                let asked = Asked::Piece(pieced.maker());
                self.stage = Stage::Pieces(Box::new(pieced));
                (asked, chunk_ranges(pairs, count))
            }
        };
        let own = own.iter().map(|own| wire::to_bytes(&(own.start, own.end)));
        let tasks: Vec<Vec<u8>> = own.collect::<Result<_>>()?;
        self.opened = Some((genes, samples, tasks.len()));
        Ok(Round {
            phase: "multiply".to_owned(),
            rows: pairs,
            flops: 2 * samples as u64 * pairs,
            ceiling: Some("gemm_f32_flops_per_s"),
            shared: wire::to_bytes(&asked)?,
            tasks,
            ..Round::default()
        })
    }
}

/// Rows of the triangle of pairs for at most `tasks` tasks, about as many pairs for each: each
/// reads the whole matrix, so there is one for each slot.
fn ranges(genes: usize, tasks: usize) -> Vec<Range<usize>> {
    let even = pairs_of(genes as u32).div_ceil(tasks as u64);
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for band in bands(genes, BANDS_A_TASK * tasks) {
        match ranges.last_mut() {
            Some(last) if pairs_in(last) < even => last.end = band.end,
            _ => ranges.push(band),
        }
    }
    ranges
}

/// Ranks of whole chunks, for at most `tasks` tasks.
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
        let budget = Budget::new(self.request.memory_bytes);
        let context = Context { request: &self.request, budget: &budget, progress };
        let range = || wire::from_bytes::<(u64, u64)>(task.input);
        let (counts, piece) = match wire::from_bytes(task.shared)? {
            Asked::Text => {
                let (start, end) = range()?;
                let rows = start as usize..end as usize;
                let (counts, _) = parts::write(&self.request.output, task.number, |path| {
                    write_rows(&context, &self.params, &rows, path)
                })?;
                (counts, None)
            }
            Asked::Piece(maker) => {
                let (start, end) = range()?;
                let (counts, piece) = write_piece(&context, &self.params, &(start..end), &maker)?;
                (counts, Some(piece))
            }
            Asked::Pieces(pieces) => return Ok((pieces.task(task.input)?, Blocks::default())),
        };
        let Counts { pairs, kept, undefined, too_few_samples } = counts;
        let found: Found = [pairs, kept, undefined, too_few_samples];
        Ok((wire::to_bytes(&(found, piece))?, Blocks::default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_all_rows_in_order_and_about_as_many_pairs() {
        for (genes, tasks) in [(5000, 1), (5000, 3), (20_000, 7), (3, 5), (1, 1)] {
            let ranges = ranges(genes, tasks);
            assert!(!ranges.is_empty() && ranges.len() <= tasks, "{genes} {tasks}");
            assert!(ranges.windows(2).all(|two| two[0].end == two[1].start));
            assert_eq!((ranges[0].start, ranges[ranges.len() - 1].end), (0, genes));
            let even = pairs_of(genes as u32) / tasks as u64;
            let most = ranges.iter().map(pairs_in).max().unwrap_or(0);
            assert!(genes < 5000 || most < even + even / 4, "{most} of {even}");
        }
    }
}
