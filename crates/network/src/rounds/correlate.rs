//! `correlate`: each task reads the matrix, and writes the pairs of some of its rows as text; the
//! leader puts the texts together.

use std::ops::Range;

use cuesta_core::budget::Budget;
use cuesta_core::job::{Context, Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::generate::clusters::pairs_of;
use cuesta_runtime::rounds::{Blocks, Leader, Means, Round, Task, Worker};
use cuesta_runtime::wire;

use super::parts;
use crate::kernel::correlate::{Counts, bands};
use crate::params::{CorrelateParams, Format};
use crate::run::correlate::{pairs_in, parse, tell, write_genes, write_rows};
use crate::run::scan::PAIRS_FILE;

/// Bands that each task can get at least, so that tasks end together.
const BANDS_A_TASK: usize = 16;

/// What a task found: pairs, kept, undefined, and with too few samples.
type Found = [u64; 4];

pub fn lead(request: &Request, means: Means) -> Result<Box<dyn Leader>> {
    let params = params(request)?;
    Ok(Box::new(Steps { request: request.clone(), params, means, opened: None }))
}

pub fn work(request: &Request) -> Result<Box<dyn Worker>> {
    Ok(Box::new(Work { request: request.clone(), params: params(request)? }))
}

fn params(request: &Request) -> Result<CorrelateParams> {
    let params: CorrelateParams = parameters(&request.parameters)?;
    if params.format == Format::Pairs {
        let text = "tasks write text; for --format pairs take --engine native";
        return Err(Error::input("correlate", text));
    }
    Ok(params)
}

struct Steps {
    request: Request,
    params: CorrelateParams,
    means: Means,
    /// Genes, samples and tasks, once the matrix was read.
    opened: Option<(usize, usize, usize)>,
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
        let mut counts = Counts::default();
        for some in &found {
            let [pairs, kept, undefined, too_few_samples]: Found = wire::from_bytes(some)?;
            counts += Counts { pairs, kept, undefined, too_few_samples };
        }
        let bytes = timed(response, "write", || {
            let output = &self.request.output;
            let bytes = parts::join(output, tasks, &output.join(PAIRS_FILE))?;
            Ok((bytes, bytes, 0))
        })?;
        tell((genes, samples), counts, bytes, response);
        Ok(None)
    }
}

impl Steps {
    fn open(&mut self, response: &mut Response, progress: &Progress) -> Result<Round> {
        let budget = Budget::new(self.request.memory_bytes);
        let context = Context { request: &self.request, budget: &budget, progress };
        let matrix = parse(&context, &self.params, response)?;
        write_genes(&context, &matrix)?;
        let (genes, samples) = (matrix.genes.len(), matrix.samples.len());
        let pairs = pairs_of(genes as u32);
        let tasks: Vec<Vec<u8>> = ranges(genes, self.means.tasks.unwrap_or(self.means.slots))
            .iter()
            .map(|rows| wire::to_bytes(&(rows.start, rows.end)))
            .collect::<Result<_>>()?;
        self.opened = Some((genes, samples, tasks.len()));
        Ok(Round {
            phase: "multiply".to_owned(),
            rows: pairs,
            flops: 2 * samples as u64 * pairs,
            ceiling: Some("gemm_f32_flops_per_s"),
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

struct Work {
    request: Request,
    params: CorrelateParams,
}

impl Worker for Work {
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)> {
        let (start, end): (usize, usize) = wire::from_bytes(task.own)?;
        let budget = Budget::new(self.request.memory_bytes);
        let context = Context { request: &self.request, budget: &budget, progress };
        let (counts, _) = parts::write(&self.request.output, task.number, |path| {
            write_rows(&context, &self.params, &(start..end), path)
        })?;
        let Counts { pairs, kept, undefined, too_few_samples } = counts;
        let found: Found = [pairs, kept, undefined, too_few_samples];
        Ok((wire::to_bytes(&found)?, Blocks::default()))
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
