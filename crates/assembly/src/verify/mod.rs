//! Proves an answer: k-mers counted by sorting, unitigs found in one map of all of them, contigs
//! and links held against both.

mod answer;
mod solid;

use std::collections::{HashMap, HashSet};

use cuesta_core::digest::{Digest, Record, Tag};
use cuesta_core::job::{Request, Verdict, parameters};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};

use crate::glue::End;
use crate::kmer::{Base, Kmer, Wide};
use crate::params::AssembleParams;
use crate::reference::{self, Solid, kmers};
use crate::write::BEFORE_FILE;
use answer::{Answer, Segment};
use solid::Wanted;

const METHOD: &str =
    "k-mers counted by sorting, unitigs by walking one map of them, contigs spelled from both";

/// What a record of the digest is about.
#[derive(Clone, Copy)]
enum Kind {
    Unitig = 1,
    Contig = 2,
}

/// Verifies the answer in `request.output`.
///
/// # Errors
/// `Input` when a file cannot be read; `System`; `Cancelled`.
pub fn verify(request: &Request, progress: &Progress) -> Result<Verdict> {
    let answer = Answer::read(&request.output)?;
    let params: AssembleParams = parameters(&request.parameters)?;
    let Some(level) = answer.stats.levels.last() else {
        return Err(Error::input("verify", "stats.json names no size of k-mers"));
    };
    let wanted = Wanted {
        request,
        k: level.k,
        min_count: level.min_count,
        drop_ambiguous: params.drop_reads_with_n,
    };
    match level.k {
        0..=31 => proven::<u64>(&answer, &wanted, progress),
        32..=63 => proven::<u128>(&answer, &wanted, progress),
        _ => proven::<Wide>(&answer, &wanted, progress),
    }
}

fn proven<K: Kmer>(answer: &Answer, wanted: &Wanted<'_>, progress: &Progress) -> Result<Verdict> {
    let k = wanted.k;
    let solid = solid::solid::<K>(wanted, &trusted(answer, wanted)?, progress)?;
    let mut digest = Digest::default();
    for unitig in &answer.unitigs {
        add(&mut digest, Kind::Unitig, (&unitig.codes, unitig.count_sum, unitig.circular));
    }
    let mut expected = Digest::default();
    for (codes, count_sum, circular) in reference::unitigs(&solid, k) {
        add(&mut expected, Kind::Unitig, (&codes, count_sum, circular));
    }
    let mut once = HashSet::new();
    let mut spelled = true;
    for segment in &answer.segments {
        add(&mut digest, Kind::Contig, (&segment.codes, segment.count_sum, segment.circular));
        let sum = count_sum::<K>(segment, k, &solid, &mut once);
        spelled &= sum.is_some();
        spelled &= !segment.circular || is_circle(&segment.codes, k);
        let facts = (&segment.codes[..], sum.unwrap_or(0), segment.circular);
        add(&mut expected, Kind::Contig, facts);
    }
    let mut verdict = Verdict::new(digest, expected, METHOD);
    verdict
        .require(spelled, "a contig has a k-mer that is not solid or there twice, or is no circle");
    verdict.require(links_are_all::<K>(answer, k), "a link is wrong or missing");
    let long: Vec<&Vec<Base>> = answer
        .segments
        .iter()
        .map(|segment| &segment.codes)
        .filter(|codes| codes.len() as u64 >= answer.stats.min_contig)
        .collect();
    verdict
        .require(long.iter().copied().eq(&answer.contigs), "contigs.fa is not what graph.gfa has");
    let bases: usize = long.iter().map(|codes| codes.len()).sum();
    verdict.counts.insert("contigs", long.len() as u64);
    verdict.counts.insert("bases", bases as u64);
    verdict.counts.insert("unitigs", answer.unitigs.len() as u64);
    Ok(verdict)
}

/// The k-mers of the contigs that were found with smaller k-mers.
fn trusted<K: Kmer>(answer: &Answer, wanted: &Wanted<'_>) -> Result<HashSet<K>> {
    if answer.stats.levels.len() < 2 {
        return Ok(HashSet::new());
    }
    let before = answer::records(&wanted.request.output.join(BEFORE_FILE), |_| Some((0, false)))?;
    let all = before.iter().flat_map(|contig| kmers::<K>(&contig.codes, wanted.k));
    Ok(all.map(|kmer| kmer.canonical(wanted.k)).collect())
}

/// The counts of the k-mers of a segment, unless one is not solid or was there before.
fn count_sum<K: Kmer>(
    segment: &Segment,
    k: usize,
    solid: &Solid<K>,
    once: &mut HashSet<K>,
) -> Option<u64> {
    let mut sum = 0;
    for kmer in kmers::<K>(&segment.codes, k) {
        let kmer = kmer.canonical(k);
        sum += u64::from(*solid.get(&kmer)?);
        if !once.insert(kmer) {
            return None;
        }
    }
    Some(sum)
}

fn is_circle(codes: &[Base], k: usize) -> bool {
    codes[..k - 1] == codes[codes.len() + 1 - k..]
}

/// Whether the links are exactly those of segments that share k - 1 bases.
fn links_are_all<K: Kmer>(answer: &Answer, k: usize) -> bool {
    let mut entered_by: HashMap<K, Vec<End>> = HashMap::new();
    let mut left_by = Vec::new();
    for (index, segment) in answer.segments.iter().enumerate() {
        let codes = &segment.codes;
        let first = K::of(codes, k - 1);
        let last = K::of(&codes[codes.len() + 1 - k..], k - 1);
        let (left, right) = (2 * index as End, 2 * index as End + 1);
        entered_by.entry(first).or_default().push(left);
        entered_by.entry(last.reverse_complement(k - 1)).or_default().push(right);
        left_by.extend([(left, first.reverse_complement(k - 1)), (right, last)]);
    }
    let mut expected: HashSet<(End, End)> = HashSet::new();
    for (end, kmer) in left_by {
        let others = entered_by.get(&kmer).map_or(&[][..], Vec::as_slice);
        expected.extend(others.iter().map(|&other| (end.min(other), end.max(other))));
    }
    let found: HashSet<(End, End)> =
        answer.links.iter().map(|&(one, two)| (one.min(two), one.max(two))).collect();
    found == expected && found.len() == answer.links.len()
}

fn add(digest: &mut Digest, kind: Kind, (codes, count_sum, circular): (&[Base], u64, bool)) {
    let mut record = Record::new(Tag::Assembly);
    for word in [kind as u64, codes.len() as u64, count_sum, u64::from(circular)] {
        record.push(word);
    }
    record.push_bytes(codes);
    digest.add_record(&record);
}
