//! Proves an answer: every image by the reference, and the sums from the rows.

use cuesta_core::digest::Digest;
use cuesta_core::job::{Request, Verdict};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};

use crate::reference;
use crate::run::{Each, each, plan};
use crate::stack::Stack;
use crate::table::{self, Counts, Row};

const METHOD: &str = "every threshold tried, every object filled pixel by pixel";

/// Verifies the answer in `request.output`.
///
/// # Errors
/// `Input` when the table cannot be read; `System`; `Cancelled`.
pub fn verify(request: &Request, progress: &Progress) -> Result<Verdict> {
    let plan = plan(request)?;
    let (rows, all, is_canonical) = read(request)?;
    let stack = Stack::open(&request.inputs)?;
    let asked = Each { stack: &stack, images: 0..stack.images, threads: request.threads, progress };
    let right =
        each(asked, || (), |_, samples, shape| Ok(reference::analyse(samples, shape, &plan)))?;
    let mut verdict = Verdict::new(digest(&rows, &all), digest(&right, &sum(&right)), METHOD)
        .covers(&[table::FEATURES_FILE]);
    verdict.require(is_canonical, "a number is written in another way than it should be");
    let mut named = rows.iter().zip(&right);
    let in_order = named.all(|(row, right)| (row.image, &row.file) == (right.image, &right.file));
    verdict.require(in_order, "a row does not have the number and the file of its image");
    verdict.counts.insert("images", rows.len() as u64);
    verdict.counts.insert("objects", all.objects);
    Ok(verdict)
}

fn sum(rows: &[Row]) -> Counts {
    let mut all = Counts::default();
    rows.iter().for_each(|row| all.add(&row.counts));
    all
}

fn digest(rows: &[Row], all: &Counts) -> Digest {
    let mut digest = Digest::default();
    rows.iter().for_each(|row| row.add(&mut digest));
    all.add_all(&mut digest);
    digest
}

fn read(request: &Request) -> Result<(Vec<Row>, Counts, bool)> {
    let path = request.output.join(table::FEATURES_FILE);
    let text = std::fs::read_to_string(&path)
        .map_err(|cause| Error::system("verify", "reading", &path, &cause))?;
    let bad = |number: usize, what: &str| {
        Error::input("verify", format!("line {number} of {} {what}", path.display()))
    };
    let mut lines: Vec<&str> = text.lines().collect();
    if lines.first().is_none_or(|line| line.split('\t').ne(table::HEADER)) {
        return Err(bad(1, &format!("is not the header {}", table::HEADER.join(" "))));
    }
    let count = lines.len();
    let all = lines.pop().and_then(table::parse_all);
    let all = all.ok_or_else(|| bad(count, "does not have the sums of all images"))?;
    let row = |(index, line): (usize, &&str)| {
        Row::parse(line).ok_or_else(|| bad(index + 1, "is not what is in an image"))
    };
    let rows = lines.iter().enumerate().skip(1).map(row).collect::<Result<Vec<_>>>()?;
    let mut again = table::HEADER.join("\t") + "\n";
    rows.iter().for_each(|row| row.append(&mut again));
    all.append_all(&mut again);
    Ok((rows, all, again == text))
}
