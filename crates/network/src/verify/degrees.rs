//! Verifier of `degrees`.

use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_core::digest::{Digest, Tag};
use cuesta_core::job::{Context, Verdict};
use cuesta_input::pair_matrix::Need;

use super::names::Named;
use super::powers::{PowerSum, Powers};
use super::rows::{RowScan, announce};
use super::table::{TableFile, Wrong, integers};
use super::wanted::Wanted;
use super::{judge, refused};
use crate::params::DegreesParams;
use crate::run::degrees::{DEGREES_FILE, DISTRIBUTION_FILE};

const METHOD: &str = "every byte of the input read by a reader of its own; edges and degrees give \
                      the same sums of powers of secret numbers";
const HEADERS: [&str; 2] = ["gene\tin\tout\ttotal", "gene\tin\tout\ttotal\tname"];
const FILES: [&str; 2] = [DEGREES_FILE, DISTRIBUTION_FILE];

/// Sums over the edges of the input, or over the degrees of the answer.
#[derive(Clone, Copy, Debug, Default)]
struct Edges {
    inward: PowerSum,
    outward: PowerSum,
    count: u64,
    last_gene: u64,
}

/// Sums of a part of `degrees.tsv`.
#[derive(Default)]
struct Part {
    sum: Edges,
    /// Genes with each degree: by inward, by outward and by total edges.
    having: [PowerSum; 3],
    digest: Digest,
    /// First and last gene of the part.
    genes: Option<(u64, u64)>,
}

/// Sums of a part of `distribution.tsv`.
#[derive(Default)]
struct DistributionPart {
    having: [PowerSum; 3],
    /// First and last degree of the part.
    degrees: Option<(u64, u64)>,
}

/// Verifies `degrees` without a table of genes: the edges of the input and the degrees in the
/// answer must be the same counts of genes, and the distribution the same counts of degrees. Wrong
/// ones pass with a probability of at most 2^-50, see [`super::powers`]. Gene numbers must be
/// consecutive, degrees ascending, and all numbers in canonical notation.
///
/// # Errors
/// `Input` for an input that cannot be read; `System`; `Cancelled`.
pub fn degrees(context: &Context<'_>) -> Result<Verdict> {
    let params: DegreesParams = context.parameters()?;
    let files = FILES.map(|name| context.request.output.join(name));
    announce(context.progress, context.request.inputs.iter().chain(&files));
    let powers = Powers::random();
    let named = Named::of(context)?;
    let expected = edges(context, &powers, Wanted::passing(&params.filter))?;
    let part = judge(&files[0], answer(context, (&powers, &named), &files[0], expected.count))?;
    let (part, table) = match (part, judge(&files[1], distribution(context, &powers, &files[1]))?) {
        (Ok(part), Ok(table)) => (part, table),
        (Err(wrong), _) | (_, Err(wrong)) => return Ok(refused(&wrong, METHOD, &FILES)),
    };
    let genes = params.genes.map_or(expected.last_gene, u64::from);
    let equal = part.sum.inward == expected.inward && part.sum.outward == expected.outward;
    let wrong = "degrees are not those of the edges that pass";
    let mut verdict = Verdict::proven(part.digest, equal, wrong, METHOD).covers(&FILES);
    verdict.require(part.sum.last_gene == genes, "genes are missing or too many");
    verdict.require(part.having == table, "the distribution does not follow from the degrees");
    verdict.counts.insert("genes", part.sum.last_gene);
    Ok(verdict)
}

fn edges(context: &Context<'_>, powers: &Powers, wanted: Wanted) -> Result<Edges> {
    let rows = RowScan {
        paths: &context.request.inputs,
        wanted,
        need: Need::Edge,
        threads: context.request.threads,
        progress: context.progress,
    };
    let parts = rows.each(Edges::default, |edges, written| {
        let (gene1, gene2) = (u64::from(written.row.gene1), u64::from(written.row.gene2));
        powers.count_once(&mut edges.outward, gene1);
        powers.count_once(&mut edges.inward, gene2);
        edges.count += 1;
        edges.last_gene = edges.last_gene.max(gene1);
        Ok(())
    })?;
    Ok(parts.iter().fold(Edges::default(), |mut sum, part| {
        sum.inward.merge(&part.inward);
        sum.outward.merge(&part.outward);
        sum.count += part.count;
        sum.last_gene = sum.last_gene.max(part.last_gene);
        sum
    }))
}

fn answer(
    context: &Context<'_>,
    (powers, named): (&Powers, &Named<'_>),
    path: &PathBuf,
    edges: u64,
) -> Result<Part> {
    let parts = table(context, path, named.header(HEADERS)).each(
        || (),
        |(), part: &mut Part, line| {
            let line = named.strip::<1>(line)?;
            part.take(powers, edges, line)
        },
    )?;
    let mut sum = Part::default();
    for part in parts.1 {
        let (first, last) = part.genes.unwrap_or((sum.sum.last_gene + 1, sum.sum.last_gene));
        if first != sum.sum.last_gene + 1 {
            return Err(out_of_place(path, first));
        }
        sum.sum.last_gene = last;
        sum.sum.inward.merge(&part.sum.inward);
        sum.sum.outward.merge(&part.sum.outward);
        sum.digest.merge(&part.digest);
        sum.having.iter_mut().zip(&part.having).for_each(|(sum, part)| sum.merge(part));
    }
    Ok(sum)
}

impl Part {
    fn take(&mut self, powers: &Powers, edges: u64, line: &[u8]) -> std::result::Result<(), Wrong> {
        let [gene, inward, outward, total] = integers(line)?;
        let (first, last) = self.genes.unwrap_or((gene, gene - gene.min(1)));
        if gene != last + 1 {
            return Err(format!("has gene {gene} behind gene {last}"));
        }
        self.genes = Some((first, gene));
        if total != inward + outward || total > edges {
            return Err(format!("has {inward} and {outward} edges, {total} in all"));
        }
        powers.count(&mut self.sum.inward, gene, inward);
        powers.count(&mut self.sum.outward, gene, outward);
        for (having, degree) in self.having.iter_mut().zip([inward, outward, total]) {
            powers.count_once(having, degree);
        }
        if total > 0 {
            self.digest.add(Tag::Degree, &[gene, inward, outward]);
        }
        Ok(())
    }
}

fn distribution(context: &Context<'_>, powers: &Powers, path: &PathBuf) -> Result<[PowerSum; 3]> {
    let parts = table(context, path, "degree\tin\tout\ttotal").each(
        || (),
        |(), part: &mut DistributionPart, line| {
            let [degree, counts @ ..]: [u64; 4] = integers(line)?;
            let (first, last) = part.degrees.unwrap_or((degree, degree));
            if part.degrees.is_some() && degree <= last || counts == [0; 3] {
                return Err(format!("has degree {degree}, which has no place there"));
            }
            part.degrees = Some((first, degree));
            for (having, times) in part.having.iter_mut().zip(counts) {
                powers.count(having, degree, times);
            }
            Ok(())
        },
    )?;
    let (mut sum, mut before) = ([PowerSum::default(); 3], None);
    for part in parts.1 {
        let Some((first, last)) = part.degrees else { continue };
        if before.is_some_and(|before| first <= before) {
            return Err(out_of_place(path, first));
        }
        before = Some(last);
        sum.iter_mut().zip(&part.having).for_each(|(sum, part)| sum.merge(part));
    }
    Ok(sum)
}

fn table<'a>(context: &'a Context<'_>, path: &'a PathBuf, header: &'static str) -> TableFile<'a> {
    TableFile { path, header, threads: context.request.threads, progress: context.progress }
}

fn out_of_place(path: &std::path::Path, number: u64) -> cuesta_core::Error {
    let text = format!("{} has the line of {number} in the wrong place", path.display());
    cuesta_core::Error::input("verify", text)
}
