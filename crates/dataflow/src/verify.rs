//! Proves an answer: every sum computed again with whole numbers, and the means from the sums.

use cuesta_core::digest::{Digest, Tag};
use cuesta_core::job::{Request, Verdict, parameters};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::parallel;

use crate::kernel::{AXES, UNITS};
use crate::params::{DataflowParams, Plan};
use crate::source::Source;
use crate::{reference, table};

/// What stands for a block number in the record of all blocks.
const ALL_BLOCKS: u64 = u64::MAX;
const METHOD: &str = "every vector drawn or read and added again as whole numbers of 2^-16";
/// Vectors of files that are in memory at once.
const PIECE_VECTORS: u64 = 1 << 12;

/// Verifies the answer in `request.output`.
///
/// # Errors
/// `Input` when the table cannot be read; `System`; `Cancelled`.
pub fn verify(request: &Request, progress: &Progress) -> Result<Verdict> {
    let source = Source::open(&request.inputs, request.seed)?;
    let plan = parameters::<DataflowParams>(&request.parameters)?.check(source.vectors())?;
    let answer = read(request)?;
    let expected = expected(request, (&source, &plan), progress)?;
    let mut verdict = Verdict::new(answer.digest, expected, METHOD).covers(&[table::AVERAGES_FILE]);
    verdict.require(
        answer.means_right,
        "a mean is not its sum divided by the vectors, or a number is written in another way",
    );
    verdict.counts.insert("blocks", answer.lines.saturating_sub(1));
    verdict.counts.insert("vectors", plan.vectors);
    Ok(verdict)
}

struct Answer {
    digest: Digest,
    lines: u64,
    means_right: bool,
}

fn add(digest: &mut Digest, block: u64, vectors: u64, sums: [i128; 3]) {
    let [x, y, z] = sums;
    let halves = |sum: i128| [sum as u64, (sum >> 64) as u64];
    let ([x0, x1], [y0, y1], [z0, z1]) = (halves(x), halves(y), halves(z));
    digest.add(Tag::Dataflow, &[block, vectors, x0, x1, y0, y1, z0, z1]);
}

fn read(request: &Request) -> Result<Answer> {
    let path = request.output.join(table::AVERAGES_FILE);
    let text = std::fs::read_to_string(&path)
        .map_err(|cause| Error::system("verify", "reading", &path, &cause))?;
    let bad = |number: usize, what: &str| {
        Error::input("verify", format!("line {number} of {} {what}", path.display()))
    };
    let mut answer = Answer { digest: Digest::default(), lines: 0, means_right: true };
    let mut lines = text.lines().enumerate();
    if lines.next().is_none_or(|(_, line)| line.split('\t').ne(table::HEADER)) {
        return Err(bad(1, &format!("is not the header {}", table::HEADER.join(" "))));
    }
    let mut all = table::HEADER.join("\t") + "\n";
    for (index, line) in lines {
        let (block, vectors, sums) =
            parse(line).ok_or_else(|| bad(index + 1, "is not a block, its vectors and sums"))?;
        let name = if block == ALL_BLOCKS { table::ALL.to_owned() } else { block.to_string() };
        table::append(&mut all, &name, vectors, sums);
        answer.lines += 1;
        add(&mut answer.digest, block, vectors, sums);
    }
    answer.means_right = all == text;
    Ok(answer)
}

fn parse(line: &str) -> Option<(u64, u64, [i128; 3])> {
    let mut fields = line.split('\t');
    let block = match fields.next()? {
        table::ALL => ALL_BLOCKS,
        number => number.parse().ok()?,
    };
    let vectors = fields.next()?.parse().ok().filter(|&vectors| vectors > 0)?;
    let mut sums = [0; 3];
    for sum in &mut sums {
        *sum = fields.next()?.parse().ok()?;
    }
    (fields.count() == 3).then_some((block, vectors, sums))
}

/// The digest of the right answer.
fn expected(
    request: &Request,
    (source, plan): (&Source, &Plan),
    progress: &Progress,
) -> Result<Digest> {
    progress.expect(plan.vectors);
    let task = |state: &mut (Digest, [i128; 3]), task: usize| {
        let block = task as u64;
        let sums = sum(source, plan, block)?.map(i128::from);
        add(&mut state.0, block, plan.vectors_of(block), sums);
        for (total, sum) in state.1.iter_mut().zip(sums) {
            *total += sum;
        }
        progress.advance(plan.vectors_of(block))
    };
    let make = || (Digest::default(), [0; 3]);
    let workers = parallel::run(request.threads, plan.blocks as usize, make, task, |_| {})?;
    let mut digest = Digest::default();
    let mut total = [0; 3];
    for (more, sums) in &workers {
        digest.merge(more);
        for (total, sum) in total.iter_mut().zip(sums) {
            *total += sum;
        }
    }
    add(&mut digest, ALL_BLOCKS, plan.vectors, total);
    Ok(digest)
}

/// The sum of a block with its shift, in units.
fn sum(source: &Source, plan: &Plan, block: u64) -> Result<[i64; 3]> {
    let shift = plan.shift.map(|value| (value * UNITS) as i64);
    let (first, vectors) = (plan.first(block), plan.vectors_of(block));
    let stored = match source {
        Source::Drawn(stream) => return Ok(reference::sum(stream, first, vectors, shift)),
        Source::Stored(stored) => stored,
    };
    let mut sums = [0; 3];
    for start in (0..vectors).step_by(PIECE_VECTORS as usize) {
        let mut piece = vec![0.0; AXES * PIECE_VECTORS.min(vectors - start) as usize];
        stored.read(first + start, &mut piece)?;
        for (sum, more) in sums.iter_mut().zip(reference::sum_of(&piece, shift)) {
            *sum += more;
        }
    }
    Ok(sums)
}
