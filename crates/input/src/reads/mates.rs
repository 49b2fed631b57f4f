//! Check by their names that reads assumed to be pairs are pairs.
//!
//! The name of a read is the first word of its line. The mates of a pair have the same name, except
//! for `/1` and `/2` at its end; or all names end in `.1` and `.2`, or `_1` and `_2`, perhaps with
//! an R as in `-R1` and `-R2`. Such an end may also be the number of a read, as in an archive's
//! `X.1`, `X.2`, `X.3`, so that it marks mates only if all pairs have it. A line may also number
//! its read by `/1` at its end, or by `1:N:` after the name (Illumina): two reads of the same
//! number are no mates.
//!
//! Interleaved reads whose names just count the reads (`r1`, `r2`, `r3`) prove nothing, unless the
//! first of these names occurs again.

use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use memchr::memchr2;
use serde::{Deserialize, Serialize};

/// Similarity of the names of two reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameMatch {
    /// They are equal, except for `/1` and `/2`.
    Equal,
    /// They are equal except for `.1` and `.2`, or another end of [`marked`].
    Numbered,
    /// They differ in a number, which the second has one more of.
    Consecutive,
    /// They differ, or both are of first reads, or both of second reads.
    Unlike,
}

/// The name of a read, and its number in its pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadName<'l> {
    /// The first word of the line.
    pub(super) text: &'l [u8],
    /// 1 or 2; 0 where the line has none.
    mate: u8,
}

/// The name in a line without its `@` or `>`.
#[inline(always)]
pub(super) fn name(line: &[u8]) -> ReadName<'_> {
    let end = memchr2(b' ', b'\t', line).unwrap_or(line.len());
    // Carriage returns may remain at the end of the line.
    let text = line[..end].trim_ascii_end();
    let mate = match (text, line.get(end + 1..).unwrap_or_default()) {
        ([.., b'/', mate @ (b'1' | b'2')], _) => mate - b'0',
        (_, [mate @ (b'1' | b'2'), b':', b'N' | b'Y', b':', ..]) => mate - b'0',
        (_, comment) => match comment.trim_ascii_end() {
            [.., b'/', mate @ (b'1' | b'2')] => mate - b'0',
            _ => 0,
        },
    };
    ReadName { text, mate }
}

/// Returns the similarity of two names.
#[inline(always)]
pub(super) fn matched(first: ReadName<'_>, second: ReadName<'_>) -> NameMatch {
    if first.mate != 0 && first.mate == second.mate {
        return NameMatch::Unlike;
    }
    if first.text == second.text {
        return NameMatch::Equal;
    }
    match (first.text, second.text) {
        ([stem1 @ .., b'/', b'1'], [stem2 @ .., b'/', b'2']) if stem1 == stem2 => NameMatch::Equal,
        // Stems are compared first: most names differ there.
        ([stem1 @ .., b'1'], [stem2 @ .., b'2'])
            if stem1 == stem2 && marked(first.text).is_some() =>
        {
            NameMatch::Numbered
        }
        (first, second) if are_consecutive(first, second) => NameMatch::Consecutive,
        _ => NameMatch::Unlike,
    }
}

/// The stem of a name that ends in 1 or 2 behind one of `. _`, or as in `-R1`, `_R1`, `.R1`, `/R1`;
/// and that digit.
fn marked(name: &[u8]) -> Option<(&[u8], u8)> {
    match name {
        [stem @ .., b'.' | b'_', digit @ (b'1' | b'2')] => Some((stem, *digit)),
        [stem @ .., b'.' | b'_' | b'-' | b'/', b'R', digit @ (b'1' | b'2')] => Some((stem, *digit)),
        _ => None,
    }
}

/// Whether two names are equal but for a number at the same place, the last one of both, which is
/// one more in the second.
fn are_consecutive(first: &[u8], second: &[u8]) -> bool {
    let parts = |name: &[u8]| {
        let end = name.iter().rposition(u8::is_ascii_digit)? + 1;
        let start =
            name[..end].iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
        let number: u64 = std::str::from_utf8(&name[start..end]).ok()?.parse().ok()?;
        Some((start, number, name.len() - end))
    };
    let (Some((start1, number1, after1)), Some((start2, number2, after2))) =
        (parts(first), parts(second))
    else {
        return false;
    };
    first[..start1] == second[..start2]
        && first[first.len() - after1..] == second[second.len() - after2..]
        && number1.checked_add(1) == Some(number2)
}

/// Counts of pairs of a source by the similarity of their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MateCounts {
    equal: u64,
    numbered: u64,
    consecutive: u64,
    unlike: u64,
    /// Pairs of consecutive names whose first read has the name of the read before it, or that of
    /// the first read of the source.
    recurring: u64,
}

/// Names of reads that come before a pair of the same file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EarlierNames<'l> {
    /// The read before it, if known.
    pub(super) last: Option<ReadName<'l>>,
    /// The first read of the file.
    pub(super) first: Option<&'l [u8]>,
}

impl MateCounts {
    /// Adds the names of a pair.
    #[inline(always)]
    pub(super) fn add(&mut self, [first, second]: [ReadName<'_>; 2], earlier: EarlierNames<'_>) {
        match matched(first, second) {
            NameMatch::Equal => self.equal += 1,
            NameMatch::Numbered => self.numbered += 1,
            NameMatch::Unlike => self.unlike += 1,
            NameMatch::Consecutive => {
                self.consecutive += 1;
                let is_mate = |last| matched(last, first) == NameMatch::Equal;
                let recurs = earlier.last.is_some_and(is_mate) || earlier.first == Some(first.text);
                self.recurring += u64::from(recurs);
            }
        }
    }

    /// Whether some pairs are not mates. `interleaved`: mates follow one another in a file.
    pub(super) fn have_mismatch(&self, interleaved: bool) -> bool {
        let Self { equal, numbered, consecutive, unlike, recurring } = *self;
        let is_named = !interleaved || equal > 0 || numbered > 1 || recurring > 0;
        unlike > 0 || consecutive > 0 && is_named || numbered > 0 && equal > 0
    }
}

/// The counts of all threads.
#[derive(Debug, Default)]
pub(super) struct SharedCounts([AtomicU64; 5]);

impl SharedCounts {
    /// Adds the counts of a batch; returns the totals so far.
    pub(super) fn add(&self, counts: &MateCounts) -> MateCounts {
        let MateCounts { equal, numbered, consecutive, unlike, recurring } = *counts;
        let added = [equal, numbered, consecutive, unlike, recurring];
        for (shared, sum) in self.0.iter().zip(added) {
            shared.fetch_add(sum, Ordering::SeqCst);
        }
        let [equal, numbered, consecutive, unlike, recurring] =
            [0, 1, 2, 3, 4].map(|index| self.0[index].load(Ordering::SeqCst));
        MateCounts { equal, numbered, consecutive, unlike, recurring }
    }
}

/// Search for the first pair of reads that are not mates, from the beginning of a source.
#[derive(Debug, Default)]
pub(super) struct FirstMismatch {
    counts: MateCounts,
    numbered: Option<Pair>,
    unlike: Option<Pair>,
    /// The line of the read before the next pair, and the name of the first read.
    before: Option<Vec<u8>>,
    first: Option<Vec<u8>>,
}

/// A pair by its number, from 0 on, and its names.
pub(super) type Pair = (u64, [String; 2]);

impl FirstMismatch {
    /// Adds the lines of the names of the next pair.
    pub(super) fn add(&mut self, number: u64, lines: [&[u8]; 2]) {
        let names = lines.map(name);
        let (last, first) = (self.before.as_deref().map(name), self.first.as_deref());
        self.counts.add(names, EarlierNames { last, first });
        let texts = || {
            // Where names are equal, the complete lines show which reads they are of.
            let shown = if names[0].text == names[1].text { lines } else { names.map(|n| n.text) };
            (number, shown.map(|name| String::from_utf8_lossy(name.trim_ascii_end()).into_owned()))
        };
        match matched(names[0], names[1]) {
            NameMatch::Equal => {}
            NameMatch::Numbered => _ = self.numbered.get_or_insert_with(texts),
            NameMatch::Consecutive | NameMatch::Unlike => {
                self.unlike.get_or_insert_with(texts);
            }
        }
        self.first.get_or_insert_with(|| names[0].text.to_vec());
        let before = self.before.get_or_insert_default();
        before.clear();
        before.extend_from_slice(lines[1]);
    }

    /// The first pair that is not of mates, if any. A single pair of numbered names does not count
    /// as mates if other pairs are not numbered.
    pub(super) fn pair(self, interleaved: bool) -> Option<Pair> {
        let Self { counts, numbered, unlike, .. } = self;
        if !counts.have_mismatch(interleaved) {
            return None;
        }
        let is_numbered = counts.equal == 0 && counts.numbered > 1;
        let numbered = if is_numbered { None } else { numbered };
        [numbered, unlike].into_iter().flatten().min_by_key(|pair| pair.0)
    }
}

/// Sums over the names of the reads of a share, which show whether the names of two files are equal
/// and in the same order, independent of how the files are divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameSums {
    /// Number of reads.
    pub reads: u64,
    /// Sums of names without `/1` and `/2`; those of reads with even numbers first.
    plain: [Sums; 2],
    /// Sums of names without an end of [`marked`].
    short: [Sums; 2],
    /// Number of names with such an end in 1 and in 2, by the parity of the read's number.
    marks: [[u64; 2]; 2],
    /// Number of first and of second reads by their lines, by the parity of the read's number.
    mates: [[u64; 2]; 2],
}

/// Sum of hashes, and sum of hashes weighted by the number of their pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sums {
    sum: u64,
    weighted: u64,
}

impl NameSums {
    /// Adds the name of the next read.
    pub(super) fn add(&mut self, name: ReadName<'_>) {
        let parity = (self.reads % 2) as usize;
        let place = self.reads / 2;
        if let Some(mate) = name.mate.checked_sub(1) {
            self.mates[parity][usize::from(mate)] += 1;
        }
        let name = name.text;
        let (plain, short) = match (name, marked(name)) {
            ([plain @ .., b'/', b'1' | b'2'], _) => (plain, plain),
            (_, Some((short, digit))) => {
                self.marks[parity][usize::from(digit - b'1')] += 1;
                (name, short)
            }
            _ => (name, name),
        };
        for (sums, name) in [(&mut self.plain, plain), (&mut self.short, short)] {
            let mut hasher = DefaultHasher::new();
            hasher.write(name);
            sums[parity].add(hasher.finish(), place);
        }
        self.reads += 1;
    }

    /// Adds the sums of the next share.
    pub fn append(&mut self, next: &Self) {
        let (pairs, is_odd) = (self.reads / 2, self.reads % 2 == 1);
        for parity in [0, 1] {
            // After an odd number of reads, even reads become odd, and odd reads join the next
            // pair.
            let to = if is_odd { 1 - parity } else { parity };
            let from = pairs + u64::from(is_odd && parity == 1);
            self.plain[to].append(&next.plain[parity], from);
            self.short[to].append(&next.short[parity], from);
            for mark in [0, 1] {
                self.marks[to][mark] += next.marks[parity][mark];
                self.mates[to][mark] += next.mates[parity][mark];
            }
        }
        self.reads += next.reads;
    }

    /// Whether each read of a file is the mate of the read at its position in another file.
    pub fn are_pairs(&self, other: &Self) -> bool {
        let all =
            |sums: &Self, mark: usize| sums.marks[0][mark] + sums.marks[1][mark] == sums.reads;
        let have_same_mates = [0, 1].iter().any(|&mate| {
            let count = |sums: &Self| sums.mates[0][mate] + sums.mates[1][mate];
            count(self) > 0 && count(other) > 0
        });
        self.reads == other.reads
            && !have_same_mates
            && (self.plain == other.plain
                || all(self, 0) && all(other, 1) && self.short == other.short)
    }

    /// Whether each two consecutive reads are mates.
    pub fn are_interleaved_pairs(&self) -> bool {
        let pairs = self.reads / 2;
        let have_same_mates =
            [0, 1].iter().any(|&mate| self.mates[0][mate] > 0 && self.mates[1][mate] > 0);
        self.reads.is_multiple_of(2)
            && !have_same_mates
            && (self.plain[0] == self.plain[1]
                || self.marks[0][0] == pairs
                    && self.marks[1][1] == pairs
                    && self.short[0] == self.short[1])
    }
}

impl Sums {
    fn add(&mut self, hash: u64, place: u64) {
        self.sum = self.sum.wrapping_add(hash);
        self.weighted = self.weighted.wrapping_add(hash.wrapping_mul(place));
    }

    fn append(&mut self, next: &Self, from: u64) {
        self.sum = self.sum.wrapping_add(next.sum);
        let moved = next.sum.wrapping_mul(from);
        self.weighted = self.weighted.wrapping_add(next.weighted).wrapping_add(moved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sums(names: &[String]) -> NameSums {
        let mut sums = NameSums::default();
        names.iter().for_each(|line| sums.add(name(line.as_bytes())));
        sums
    }

    fn first(names1: &[String], names2: &[String]) -> Option<u64> {
        let mut first = FirstMismatch::default();
        for (number, (name1, name2)) in (0..).zip(names1.iter().zip(names2)) {
            first.add(number, [name1.as_bytes(), name2.as_bytes()]);
        }
        first.pair(false).map(|pair| pair.0)
    }

    fn style() -> impl Strategy<Value = [&'static str; 2]> {
        prop::sample::select(&[
            ["A:1:F:1:1:1:{} 1:N:0:ACGT", "A:1:F:1:1:1:{} 2:N:0:ACGT"],
            ["p{}/1", "p{}/2"],
            ["p{}#0/1", "p{}#0/2"],
            ["SRR1.{} {} length=9", "SRR1.{} {} length=9"],
            ["SRR1.{}.1 {} length=9", "SRR1.{}.2 {} length=9"],
            ["r{}_1", "r{}_2"],
            ["a{}-R1", "a{}-R2"],
            ["a{}_R1 x", "a{}_R2 x"],
            ["ERR1.{} A:B/1", "ERR1.{} A:B/2"],
        ])
    }

    fn named(style: &str, count: u64) -> Vec<String> {
        (1..=count).map(|number| style.replace("{}", &number.to_string())).collect()
    }

    proptest! {
        #[test]
        fn the_first_pair_out_of_step_is_reported_and_no_pair_in_step(
            style in style(),
            count in 2u64..60,
            lost in any::<prop::sample::Index>(),
        ) {
            let [names1, names2] = style.map(|pattern| named(pattern, count));
            prop_assert_eq!(first(&names1, &names2), None);
            let lost = lost.index(count as usize - 1);
            let (mut names1, mut names2) = (names1, names2);
            names1.remove(lost);
            names2.pop();
            // A single numbered pair may be two reads of an archive.
            let is_slashed = style[0].contains('/');
            let is_numbered = name(style[0].as_bytes()).text.ends_with(b"1") && !is_slashed;
            let wanted = if is_numbered && lost == 1 { 0..2 } else { lost..lost + 1 };
            let reported = first(&names1, &names2).unwrap() as usize;
            prop_assert!(wanted.contains(&reported), "{} {}", reported, lost);
        }

        #[test]
        fn sums_recognise_pairs_for_any_division_into_shares(
            style in style(),
            count in 2u64..40,
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
            lost in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let [mut names1, mut names2] = style.map(|pattern| named(pattern, count));
            if let Some(lost) = lost {
                names1.remove(lost.index(count as usize - 1));
                names2.pop();
            }
            let interleaved: Vec<String> =
                names1.iter().zip(&names2).flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
            let in_shares = |names: &[String]| {
                let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(names.len())).collect();
                ends.push(names.len());
                ends.sort_unstable();
                let (mut all, mut start) = (NameSums::default(), 0);
                for end in ends {
                    all.append(&sums(&names[start..end]));
                    start = end;
                }
                all
            };
            let [sums1, sums2, both] =
                [&names1, &names2, &interleaved].map(|names| in_shares(names));
            prop_assert_eq!(sums1, sums(&names1));
            prop_assert_eq!(sums1.are_pairs(&sums2), lost.is_none());
            prop_assert_eq!(both.are_interleaved_pairs(), lost.is_none());
        }
    }

    #[test]
    fn numbers_of_an_archive_are_no_marks_of_pairs() {
        let [names1, names2] = [1, 2].map(|from| {
            (from..from + 9).map(|number| format!("SRR1.{number}")).collect::<Vec<_>>()
        });
        assert_eq!(first(&names1, &names2), Some(0));
        assert!(!sums(&names1).are_pairs(&sums(&names2)));
        assert_eq!(first(&names1[..1], &names2[..1]), None);
    }

    fn counts(lines: &[&str]) -> MateCounts {
        let mut counts = MateCounts::default();
        let mut earlier = EarlierNames::default();
        for pair in lines.chunks(2) {
            let names = [pair[0], pair[1]].map(|line| name(line.as_bytes()));
            counts.add(names, earlier);
            earlier =
                EarlierNames { last: Some(names[1]), first: Some(name(lines[0].as_bytes()).text) };
        }
        counts
    }

    #[test]
    fn reads_in_turn_may_just_be_numbered() {
        for lines in [
            ["r.1", "r.2", "r.3", "r.4"],
            ["r0", "r1", "r2", "r3"],
            ["r.0", "r.1", "r.2", "r.3"],
            ["X.9 9 length=3", "X.10 10 length=3", "X.11 11 length=3", "X.12 12 length=3"],
            ["7", "8", "9", "10"],
        ] {
            assert!(!counts(&lines).have_mismatch(true), "{lines:?}");
        }
        assert!(counts(&["a", "b", "b", "c"]).have_mismatch(true));
        assert!(counts(&["a/1", "b/1", "b/2", "c/1"]).have_mismatch(true));
        assert!(counts(&["a", "a", "b", "c"]).have_mismatch(true));
        assert!(counts(&["r1", "r2", "r2", "r3"]).have_mismatch(true));
        assert!(counts(&["r0", "r1"]).have_mismatch(false));
    }

    /// Files of first reads, alone or with the second reads behind them, were taken for
    /// interleaved pairs, since names that differ in all pairs were taken for mere numbers.
    /// Names other than numbers, the number of a mate, and a name that recurs refuse them.
    #[test]
    fn first_reads_alone_and_files_one_behind_the_other_are_not_interleaved() {
        for style in [
            ["A:1:F:1:1:1:{} 1:N:0:ACGT", "A:1:F:1:1:1:{} 2:N:0:ACGT"],
            ["p{}/1", "p{}/2"],
            ["SRR1.{}.1 {} length=9", "SRR1.{}.2 {} length=9"],
            ["ERR1.{} A:B/1", "ERR1.{} A:B/2"],
            ["SRR1.{} {} length=9", "SRR1.{} {} length=9"],
        ] {
            let [first, second] = style.map(|pattern| named(pattern, 8));
            let is_told = style[0] != style[1];
            for (lines, is_refused) in [
                (first.clone(), is_told),
                (second.clone(), is_told),
                ([first.clone(), second.clone()].concat(), true),
                ([&first[..7], &second[..7]].concat(), true),
            ] {
                let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
                assert_eq!(counts(&lines).have_mismatch(true), is_refused, "{lines:?}");
                let lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
                assert!(!sums(&lines).are_interleaved_pairs());
                let mut search = FirstMismatch::default();
                for (number, pair) in (0..).zip(lines.chunks(2)) {
                    search.add(number, [pair[0].as_bytes(), pair[1].as_bytes()]);
                }
                // `X.1` and `X.2` alone may be mates.
                let reported = search.pair(true).map(|pair| pair.0);
                assert_eq!(reported.is_some_and(|pair| pair < 2), is_refused, "{reported:?}");
            }
        }
    }

    #[test]
    fn two_files_of_first_reads_are_no_pairs() {
        for pattern in ["p{}/1", "A:1:F:1:1:1:{} 1:N:0:ACGT", "ERR1.{} A:B/1"] {
            let names = named(pattern, 5);
            let (pair, [shown, _]) = {
                let mut search = FirstMismatch::default();
                search.add(0, [names[0].as_bytes(), names[0].as_bytes()]);
                search.pair(false).unwrap()
            };
            assert_eq!((pair, &shown), (0, &names[0]));
            assert!(!sums(&names).are_pairs(&sums(&names)));
        }
    }
}
