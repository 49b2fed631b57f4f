//! Proves an answer: the k-mers of its unitigs counted by following the reads along them, all
//! others by sorting; every joint of its unitigs looked up; contigs and links held against both.

mod answer;
mod claims;
mod paths;
mod solid;

use cuesta_core::digest::{Digest, Record, Tag};
use cuesta_core::job::{Request, Verdict, parameters};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};

use crate::kmer::{Base, Kmer, KmerSet, Wide};
use crate::params::AssembleParams;
use crate::reference::kmers;
use crate::ways::{OVERLAP_MIN, READS_MIN};
use crate::write::{BEFORE_FOLDER, before_file};
use answer::{Answer, LevelStats, Segment};
use claims::{Claims, strands};
use solid::Wanted;

const METHOD: &str =
    "reads followed along the unitigs, k-mers beside them sorted, joints and links looked up";

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
        drop_ambiguous: params.drop_reads_with_n,
    };
    let levels = &answer.stats.levels;
    let Some(level) = levels.iter().rev().find(|level| level.mates.is_none()) else {
        return Err(Error::input("verify", "stats.json names no size of k-mers of reads"));
    };
    let of_reads = wanted(level);
    let first = levels.len() == 1 || levels[0].k == level.k;
    let trusted = if first { Vec::new() } else { before(&of_reads)? };
    let after = levels.last().map(wanted).filter(|after| after.k != level.k);
    match (after, level.k) {
        (None, 0..=31) => by_reads::<u64>(&answer, &of_reads, &trusted, progress),
        (None, 32..=63) => by_reads::<u128>(&answer, &of_reads, &trusted, progress),
        (None, _) => by_reads::<Wide<2>>(&answer, &of_reads, &trusted, progress),
        (Some(after), _) => by_mates(&answer, (&of_reads, &trusted), &after, progress),
    }
}

/// An answer whose k-mers are those of the reads, and those that are trusted.
fn by_reads<K: Kmer>(
    answer: &Answer,
    wanted: &Wanted<'_>,
    trusted: &[Segment],
    progress: &Progress,
) -> Result<Verdict> {
    let mut claims = Claims::<K>::new(answer.unitigs.iter().map(Segment::bases), wanted.k)?;
    let are_rest_seldom = solid::count_all(wanted, &claims, progress)?;
    let is_all = trust(&mut claims, trusted, wanted.k, |_| 0);
    let mut verdict = proven(answer, &claims, wanted, progress)?;
    verdict.require(are_rest_seldom && is_all, "a solid k-mer is in no unitig");
    Ok(verdict)
}

/// An answer whose k-mers are those of contigs and bridges; these are held against the reads.
fn by_mates(
    answer: &Answer,
    (of_reads, trusted): (&Wanted<'_>, &[Segment]),
    after: &Wanted<'_>,
    progress: &Progress,
) -> Result<Verdict> {
    let bridged = before(after)?;
    let (bridges, contigs): (Vec<&Segment>, Vec<&Segment>) =
        bridged.iter().partition(|one| one.marked);
    let are_supported = match of_reads.k {
        0..=31 => are_solid::<u64>(&contigs, (of_reads, trusted), progress),
        32..=63 => are_solid::<u128>(&contigs, (of_reads, trusted), progress),
        _ => are_solid::<Wide<2>>(&contigs, (of_reads, trusted), progress),
    }?;
    // Paths share k - 1 bases, which may be fewer than those of an overlap.
    let size = OVERLAP_MIN.min(of_reads.k);
    let pieces: KmerSet<u64> = contigs
        .iter()
        .flat_map(|one| kmers::<u64>(&one.codes, size))
        .map(|kmer| kmer.canonical(size))
        .collect();
    let between: Vec<&[Base]> = bridges
        .iter()
        .flat_map(|one| one.codes.windows(size))
        .filter(|codes| !pieces.contains(&u64::of(codes, size).canonical(size)))
        .collect();
    let claims = Claims::<u64>::new(between.into_iter(), size)?;
    solid::count_few(&Wanted { k: size, ..*of_reads }, &claims, progress)?;
    let are_spelled = claims.are_solid(READS_MIN);
    let mut verdict = match after.k {
        0..=31 => by_weight::<u64>(answer, &bridged, after, progress),
        32..=63 => by_weight::<u128>(answer, &bridged, after, progress),
        64..=127 => by_weight::<Wide<2>>(answer, &bridged, after, progress),
        _ => by_weight::<Wide<4>>(answer, &bridged, after, progress),
    }?;
    verdict
        .require(are_supported, "a contig that mates were placed on has a k-mer that is not solid");
    verdict.require(are_spelled, "a bridge is made neither of contigs nor of reads");
    Ok(verdict)
}

/// Whether all k-mers of some contigs are solid.
fn are_solid<K: Kmer>(
    contigs: &[&Segment],
    (wanted, trusted): (&Wanted<'_>, &[Segment]),
    progress: &Progress,
) -> Result<bool> {
    let mut claims = Claims::<K>::new(contigs.iter().map(|one| one.bases()), wanted.k)?;
    solid::count_all(wanted, &claims, progress)?;
    trust(&mut claims, trusted, wanted.k, |_| 0);
    Ok(claims.are_solid(wanted.min_count))
}

/// The answer of k-mers that count as often as their sequence says.
fn by_weight<K: Kmer>(
    answer: &Answer,
    bridged: &[Segment],
    wanted: &Wanted<'_>,
    progress: &Progress,
) -> Result<Verdict> {
    let mut claims = Claims::<K>::new(answer.unitigs.iter().map(Segment::bases), wanted.k)?;
    let is_all = trust(&mut claims, bridged, wanted.k, |one| one.count_sum);
    let mut verdict = proven(answer, &claims, &Wanted { min_count: 1, ..*wanted }, progress)?;
    verdict.require(is_all, "a solid k-mer is in no unitig");
    Ok(verdict)
}

/// Trusts the k-mers of some sequences; whether all are claimed.
fn trust<K: Kmer>(
    claims: &mut Claims<K>,
    sequences: &[Segment],
    k: usize,
    weight: impl Fn(&Segment) -> u64,
) -> bool {
    let mut is_all = true;
    for one in sequences {
        for both in strands(&one.codes, k) {
            is_all &= claims.trust(both, weight(one));
        }
    }
    is_all
}

/// What is trusted at a size of k-mers.
fn before(wanted: &Wanted<'_>) -> Result<Vec<Segment>> {
    let path = wanted.request.output.join(BEFORE_FOLDER).join(before_file(wanted.k));
    answer::records(&path, |name| {
        let weight = name.split(" weight=").nth(1)?.split(' ').next()?.parse().ok()?;
        Some((weight, name.ends_with(" bridge")))
    })
}

/// Holds the answer against the k-mers that it claims, whose counts are known.
fn proven<K: Kmer>(
    answer: &Answer,
    claims: &Claims<K>,
    wanted: &Wanted<'_>,
    progress: &Progress,
) -> Result<Verdict> {
    let (k, threads) = (wanted.k, wanted.request.threads);
    if answer.unitigs.iter().chain(&answer.segments).any(|one| one.codes.len() < k) {
        let text = format!("a unitig or contig of the answer has less than {k} bases");
        return Err(Error::input("verify", text));
    }
    let (mut digest, mut expected) = (Digest::default(), Digest::default());
    let mut all_hold = true;
    for (kind, all) in [(Kind::Unitig, &answer.unitigs), (Kind::Contig, &answer.segments)] {
        let mut once = vec![false; claims.len()];
        for one in all {
            let sum = paths::count_sum(&one.codes, k, claims, &mut once);
            all_hold &= sum.is_some() && (!one.marked || paths::is_circle(&one.codes, k));
            add(&mut digest, kind, (&one.codes, one.count_sum, one.marked));
            add(&mut expected, kind, (&one.codes, sum.unwrap_or(0), one.marked));
        }
    }
    let mut verdict = Verdict::new(digest, expected, METHOD);
    verdict.require(all_hold, "a sequence has a k-mer that is in no unitig or there twice");
    verdict.require(
        !claims.is_doubled && claims.are_solid(wanted.min_count),
        "a unitig has a k-mer that is not solid, or that another one has too",
    );
    let are_unitigs = paths::are_unitigs(&answer.unitigs, claims, k, (threads, progress))?;
    verdict.require(are_unitigs, "a unitig ends where it goes on, or goes on where it ends");
    verdict.require(paths::links_are_all::<K>(answer, k), "a link is wrong or missing");
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

fn add(digest: &mut Digest, kind: Kind, (codes, count_sum, circular): (&[Base], u64, bool)) {
    let mut record = Record::new(Tag::Assembly);
    for word in [kind as u64, codes.len() as u64, count_sum, u64::from(circular)] {
        record.push(word);
    }
    record.push_bytes(codes);
    digest.add_record(&record);
}
