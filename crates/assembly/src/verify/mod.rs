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
use crate::kmer::{Base, Kmer, KmerSet, Wide};
use crate::params::AssembleParams;
use crate::reference::{self, Solid, kmers};
use crate::ways::{OVERLAP_MIN, READS_MIN};
use crate::write::{BEFORE_FOLDER, before_file};
use answer::{Answer, LevelStats, Segment};
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
    let wanted = |level: &LevelStats| Wanted {
        request,
        k: level.k,
        min_count: level.min_count,
        claimed: level.solid,
        drop_ambiguous: params.drop_reads_with_n,
    };
    let levels = &answer.stats.levels;
    let Some(level) = levels.iter().rev().find(|level| level.mates.is_none()) else {
        return Err(Error::input("verify", "stats.json names no size of k-mers of reads"));
    };
    let of_reads = wanted(level);
    let after = levels.last().map(wanted).filter(|after| after.k != level.k);
    let first = levels.len() == 1 || levels[0].k == level.k;
    match level.k {
        0..=31 => judged::<u64>(&answer, (&of_reads, first), after, progress),
        32..=63 => judged::<u128>(&answer, (&of_reads, first), after, progress),
        _ => judged::<Wide<2>>(&answer, (&of_reads, first), after, progress),
    }
}

/// Counts the k-mers of the reads; where mates were used, also holds against them the contigs and
/// bridges that the answer was made from.
fn judged<K: Kmer>(
    answer: &Answer,
    (of_reads, first): (&Wanted<'_>, bool),
    after: Option<Wanted<'_>>,
    progress: &Progress,
) -> Result<Verdict> {
    let trusted = if first { Vec::new() } else { before(of_reads)? };
    let known: KmerSet<K> = canonical(trusted.iter(), of_reads.k).map(|(kmer, _)| kmer).collect();
    let solid = solid::solid::<K>(of_reads, &known, progress)?;
    let Some(after) = after else { return proven(answer, &solid, of_reads.k) };
    let bridged = before(&after)?;
    let (bridges, contigs): (Vec<&Segment>, Vec<&Segment>) =
        bridged.iter().partition(|one| one.marked);
    let supported = canonical::<K>(contigs.iter().copied(), of_reads.k)
        .all(|(kmer, _)| solid.contains_key(&kmer));
    // Paths share k - 1 bases, which may be fewer than those of an overlap.
    let size = OVERLAP_MIN.min(of_reads.k);
    let pieces: KmerSet<u64> = canonical(contigs.into_iter(), size).map(|(kmer, _)| kmer).collect();
    let between: KmerSet<u64> = canonical(bridges.into_iter(), size)
        .map(|(kmer, _)| kmer)
        .filter(|kmer| !pieces.contains(kmer))
        .collect();
    let small = Wanted { k: size, ..*of_reads };
    let counts = solid::counts(&small, &between, progress)?;
    let spelled = between.iter().all(|kmer| counts.get(kmer) >= Some(&READS_MIN));
    let mut verdict = match after.k {
        0..=31 => proven(answer, &weighted::<u64>(&bridged, after.k), after.k),
        32..=63 => proven(answer, &weighted::<u128>(&bridged, after.k), after.k),
        64..=127 => proven(answer, &weighted::<Wide<2>>(&bridged, after.k), after.k),
        _ => proven(answer, &weighted::<Wide<4>>(&bridged, after.k), after.k),
    }?;
    verdict.require(supported, "a contig that mates were placed on has a k-mer that is not solid");
    verdict.require(spelled, "a bridge is made neither of contigs nor of reads");
    Ok(verdict)
}

/// What is trusted at a size of k-mers.
fn before(wanted: &Wanted<'_>) -> Result<Vec<Segment>> {
    let path = wanted.request.output.join(BEFORE_FOLDER).join(before_file(wanted.k));
    answer::records(&path, |name| {
        let weight = name.split(" weight=").nth(1)?.split(' ').next()?.parse().ok()?;
        Some((weight, name.ends_with(" bridge")))
    })
}

/// The k-mers of some sequences, each with the count that its sequence has in its name.
fn canonical<'s, K: Kmer>(
    sequences: impl Iterator<Item = &'s Segment>,
    k: usize,
) -> impl Iterator<Item = (K, u64)> {
    sequences.flat_map(move |one| {
        kmers::<K>(&one.codes, k).map(move |kmer| (kmer.canonical(k), one.count_sum))
    })
}

/// Every k-mer with its largest weight.
fn weighted<K: Kmer>(sequences: &[Segment], k: usize) -> Solid<K> {
    let mut solid = Solid::default();
    for (kmer, weight) in canonical(sequences.iter(), k) {
        let count = solid.entry(kmer).or_insert(0);
        *count = weight.max(u64::from(*count)) as u32;
    }
    solid
}

fn proven<K: Kmer>(answer: &Answer, solid: &Solid<K>, k: usize) -> Result<Verdict> {
    let mut digest = Digest::default();
    for unitig in &answer.unitigs {
        add(&mut digest, Kind::Unitig, (&unitig.codes, unitig.count_sum, unitig.marked));
    }
    let mut expected = Digest::default();
    for (codes, count_sum, circular) in reference::unitigs(solid, k) {
        add(&mut expected, Kind::Unitig, (&codes, count_sum, circular));
    }
    let mut once = KmerSet::default();
    let mut spelled = true;
    for segment in &answer.segments {
        add(&mut digest, Kind::Contig, (&segment.codes, segment.count_sum, segment.marked));
        let sum = count_sum::<K>(segment, k, solid, &mut once);
        spelled &= sum.is_some();
        spelled &= !segment.marked || is_circle(&segment.codes, k);
        let facts = (&segment.codes[..], sum.unwrap_or(0), segment.marked);
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

/// The counts of the k-mers of a segment, unless one is not solid or was there before.
fn count_sum<K: Kmer>(
    segment: &Segment,
    k: usize,
    solid: &Solid<K>,
    once: &mut KmerSet<K>,
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
