//! Reads as they are trimmed, for the verification: a file, or two whose reads are pairs, is read
//! record by record, and threads find the ends by the rules of `spec/workloads/assemble`, otherwise
//! than the run. Both share constants and the known adapters, and no more.

use std::io::{self, BufRead, BufReader, Read};
use std::iter;
use std::sync::LazyLock;

use cuesta_core::Result;
use cuesta_input::reads::Sampling;
use cuesta_input::reads::trim::{
    ADAPTER_MIN, ADAPTERS, Adapter, MISMATCH_PART, OVERLAP_MIN, POLY_G_MIN, POLY_G_OTHERS_MAX,
    QUALITY_BASES, QUALITY_MIN, QUALITY_ZERO, SEED_BASES, TAIL_ADAPTER_BASES, TAIL_BASES,
    TAIL_MISMATCH_PART, TRIMMED_BASES_MAX, TrimCounts,
};
use memchr::memchr_iter;

use crate::kernel::scan::code;

/// A record: letters, and qualities of FASTQ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QualityRead {
    /// Letters.
    pub letters: Vec<u8>,
    /// Qualities, as many as letters; none in FASTA.
    pub qualities: Vec<u8>,
}

/// Records of a text of FASTQ of four lines each, or of FASTA.
struct Records {
    lines: BufReader<Box<dyn Read + Send>>,
    line: Vec<u8>,
    /// Whether the line has the name of the next record.
    has_name: bool,
}

impl Records {
    fn new(text: Box<dyn Read + Send>) -> Self {
        Self { lines: BufReader::with_capacity(1 << 16, text), line: Vec::new(), has_name: false }
    }

    /// Reads a line without its end; returns `false` at the end of the text.
    fn next_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        let count = self.lines.read_until(b'\n', &mut self.line)?;
        let length = self.line.trim_ascii_end().len();
        self.line.truncate(length);
        Ok(count > 0)
    }

    /// Appends the next record to a text, as a line of letters and one of qualities, which is empty
    /// in FASTA; returns `false` at the end of the records.
    fn append_next(&mut self, text: &mut Vec<u8>) -> io::Result<bool> {
        while !self.has_name || self.line.is_empty() {
            if !self.next_line()? {
                return Ok(false);
            }
            self.has_name = true;
        }
        self.has_name = false;
        if self.line.starts_with(b"@") {
            let letters = self.append_line(text)?;
            self.next_line()?;
            if self.append_line(text)? != letters {
                return Err(io::ErrorKind::InvalidData.into());
            }
            return Ok(true);
        }
        while self.next_line()? {
            if self.line.starts_with(b">") {
                self.has_name = true;
                break;
            }
            text.extend_from_slice(&self.line);
        }
        text.extend_from_slice(b"\n\n");
        Ok(true)
    }

    /// Appends the next line to a text; returns the number of its letters.
    fn append_line(&mut self, text: &mut Vec<u8>) -> io::Result<usize> {
        let start = text.len();
        self.lines.read_until(b'\n', text)?;
        let length = text[start..].trim_ascii_end().len();
        text.truncate(start + length);
        text.push(b'\n');
        Ok(length)
    }
}

/// Text with the reads of one file, or of two whose reads are pairs, in groups that are trimmed
/// together: a line of letters and a line of qualities for each.
pub struct GroupText {
    files: Vec<Records>,
    /// Reads of each file that are next to each other.
    reads_per_file: usize,
    sampling: Sampling,
    /// Groups so far, of which not all are taken.
    groups: u64,
    text: Vec<u8>,
    position: usize,
}

/// Lines of a read in a [`GroupText`].
pub const LINES: usize = 2;

impl GroupText {
    /// Creates the text from those of the files.
    pub fn new(
        texts: Vec<Box<dyn Read + Send>>,
        reads_per_file: usize,
        sampling: Sampling,
    ) -> Self {
        let files = texts.into_iter().map(Records::new).collect();
        Self { files, reads_per_file, sampling, groups: 0, text: Vec::new(), position: 0 }
    }

    /// Writes the next reads that are taken into the text; none at the end.
    fn next_reads(&mut self) -> io::Result<()> {
        self.position = 0;
        loop {
            self.text.clear();
            for file in &mut self.files {
                for _ in 0..self.reads_per_file {
                    file.append_next(&mut self.text)?;
                }
            }
            let before = self.sampling.count(self.groups);
            self.groups += 1;
            if self.text.is_empty() || self.sampling.count(self.groups) > before {
                return Ok(());
            }
        }
    }
}

impl Read for GroupText {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position == self.text.len() {
            self.next_reads()?;
        }
        let mut rest = &self.text[self.position..];
        let count = rest.read(buffer)?;
        self.position += count;
        Ok(count)
    }
}

/// Returns the lines of a text, the last one too if no line end follows it.
pub fn lines_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    memchr_iter(b'\n', text).chain(iter::once(text.len())).map(move |end| {
        let line = &text[start..end];
        start = end + 1;
        line
    })
}

/// Calls `take` with the trimmed letters of the reads of a text in groups of `reads`; returns their
/// counts.
///
/// # Errors
/// Errors of `take`.
pub fn each_trimmed(
    text: &[u8],
    reads: usize,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<TrimCounts> {
    let mut counts = TrimCounts::default();
    let mut lines = lines_of(text);
    let mut records = vec![QualityRead::default(); reads];
    loop {
        for record in &mut records {
            let (Some(letters), Some(qualities)) = (lines.next(), lines.next()) else {
                return Ok(counts);
            };
            letters.clone_into(&mut record.letters);
            qualities.clone_into(&mut record.qualities);
        }
        trim(&mut records, &mut counts);
        for record in &records {
            take(&record.letters)?;
        }
    }
}

/// Trims a read, or two mates.
pub fn trim(records: &mut [QualityRead], counts: &mut TrimCounts) {
    let mut fragment = None;
    if let [first, second] = records {
        fragment = fragment_bases(&first.letters, &second.letters);
    }
    for record in records {
        let before = record.letters.len();
        if before > TRIMMED_BASES_MAX {
            counts.add_read(before, [before; 3], None);
            continue;
        }
        let adapter = fragment.unwrap_or_else(|| before_adapter(&record.letters));
        let first = adapter.min(before);
        let kit = kit_of(&record.letters[first..]);
        record.letters.truncate(first);
        let second = before_poly_g(&record.letters);
        record.letters.truncate(second);
        if !record.qualities.is_empty() {
            record.qualities.truncate(second);
            while !record.qualities.is_empty() && is_bad(&record.qualities) {
                record.qualities.pop();
            }
            record.letters.truncate(record.qualities.len());
        }
        counts.add_read(before, [first, second, record.letters.len()], kit);
    }
}

/// Returns the kit whose adapter is what was cut off, if that is long enough to tell.
fn kit_of(cut: &[u8]) -> Option<usize> {
    let begins = |adapter: &&Adapter| begins_as(cut, adapter.letters);
    let adapters = if cut.len() < SEED_BASES { &[][..] } else { &ADAPTERS };
    adapters.iter().filter(begins).map(|adapter| adapter.kit).min()
}

/// Returns the length of a fragment that is shorter than a read of it.
fn fragment_bases(first: &[u8], second: &[u8]) -> Option<usize> {
    let longer = first.len().max(second.len());
    if first.len().min(second.len()) < OVERLAP_MIN || longer > TRIMMED_BASES_MAX {
        return None;
    }
    // Both strands of the fragment, as codes of bases; an ambiguous letter equals none.
    let left: Vec<u8> = first.iter().map(|&letter| code(letter)).collect();
    let paired = |&letter: &u8| if code(letter) < 4 { 3 - code(letter) } else { u8::MAX };
    let right: Vec<u8> = second.iter().rev().map(paired).collect();
    let mut fits = Vec::new();
    for bases in OVERLAP_MIN..longer {
        // What either read has of the fragment, on the strand of the first.
        let left = &left[bases.saturating_sub(right.len())..bases.min(left.len())];
        let right = &right[right.len().saturating_sub(bases)..][..left.len()];
        if unequal_at_start(left, right) * MISMATCH_PART > OVERLAP_MIN {
            continue;
        }
        let all = unequal(left, right);
        if all * MISMATCH_PART <= left.len() && are_tails(first.get(bases..), second.get(bases..)) {
            fits.push((all, longer - bases));
        }
    }
    fits.into_iter().min().map(|(_, cut)| longer - cut)
}

/// Returns in how many places two sequences of codes differ.
fn unequal(left: &[u8], right: &[u8]) -> usize {
    left.iter().zip(right).map(|(left, right)| usize::from(left != right)).sum()
}

/// Returns in how many of their first places two sequences of codes differ.
fn unequal_at_start(left: &[u8], right: &[u8]) -> usize {
    let mut count = 0;
    // Counted in a byte, so that all places are compared at once.
    for (left, right) in left[..OVERLAP_MIN].iter().zip(&right[..OVERLAP_MIN]) {
        count += u8::from(left != right);
    }
    usize::from(count)
}

/// Whether two mates may have adapters after their fragment.
fn are_tails(first: Option<&[u8]>, second: Option<&[u8]>) -> bool {
    let tails: Vec<&[u8]> =
        [first, second].into_iter().flatten().filter(|tail| !tail.is_empty()).collect();
    if let [first, second] = tails[..] {
        let pairs = first.iter().zip(second).take(TAIL_BASES);
        let count = pairs.clone().count();
        let unequal = pairs.filter(|(left, right)| !are_same(**left, **right)).count();
        if unequal * TAIL_MISMATCH_PART <= count {
            return true;
        }
    }
    tails.iter().all(|tail| ADAPTERS.iter().any(|adapter| begins_as(tail, adapter.letters)))
}

/// Whether a tail begins as an adapter.
fn begins_as(tail: &[u8], adapter: &[u8]) -> bool {
    let tail = &tail[..tail.len().min(TAIL_ADAPTER_BASES)];
    let unequal = tail.iter().zip(adapter).filter(|(left, right)| !are_same(**left, **right));
    unequal.count() * TAIL_MISMATCH_PART <= tail.len()
}

/// Words of 64 bits with a bit for each stretch of [`SEED_BASES`] bases.
const SEED_WORDS: usize = 1 << (2 * SEED_BASES - 6);

/// Stretches that differ from the first bases of an adapter in one at most.
static SEEDS: LazyLock<[u64; SEED_WORDS]> = LazyLock::new(|| {
    let mut seeds = [0; SEED_WORDS];
    for adapter in &ADAPTERS {
        for change in 0..4 * SEED_BASES {
            let mut codes: Vec<u8> =
                adapter.letters[..SEED_BASES].iter().map(|&letter| code(letter)).collect();
            codes[change / 4] = change as u8 % 4;
            let seed = codes.iter().fold(0, |seed, &base| seed << 2 | usize::from(base));
            seeds[seed / 64] |= 1 << (seed % 64);
        }
    }
    seeds
});

/// Returns the letters before the first known adapter.
fn before_adapter(letters: &[u8]) -> usize {
    let seeds: &[u64; SEED_WORDS] = &SEEDS;
    // The last bases; an ambiguous letter is taken as one, which only adds places.
    let mut bases = 0;
    let mut is_seed = |&letter: &u8| {
        bases = bases << 2 | usize::from(code(letter) & 3);
        seeds[bases / 64 % SEED_WORDS] >> (bases % 64) & 1 == 1
    };
    let mut end = 0;
    while let Some(index) = letters[end..].iter().position(&mut is_seed) {
        end += index + 1;
        if let Some(start) = end.checked_sub(SEED_BASES)
            && ADAPTERS.iter().any(|adapter| is_adapter(&letters[start..], adapter.letters))
        {
            return start;
        }
    }
    letters.len()
}

/// Whether letters begin as an adapter.
fn is_adapter(letters: &[u8], adapter: &[u8]) -> bool {
    let count = letters.len().min(adapter.len());
    let unequal = |count: usize| {
        let pairs = letters.iter().zip(adapter).take(count);
        pairs.filter(|(left, right)| !are_same(**left, **right)).count()
    };
    count >= ADAPTER_MIN && unequal(SEED_BASES) <= 1 && unequal(count) * MISMATCH_PART <= count
}

/// Returns the letters before the longest tail of G.
fn before_poly_g(letters: &[u8]) -> usize {
    let is_mismatch = |letter: &&u8| !letter.eq_ignore_ascii_case(&b'G');
    let mismatches = |tail: &[u8]| tail.iter().filter(is_mismatch).count();
    let is_tail = |tail: &[u8]| {
        tail[0].eq_ignore_ascii_case(&b'G')
            && mismatches(tail) <= POLY_G_OTHERS_MAX.min(tail.len() / MISMATCH_PART)
    };
    let Some(last) = letters.len().checked_sub(POLY_G_MIN) else { return letters.len() };
    if mismatches(&letters[last..]) > POLY_G_OTHERS_MAX {
        return letters.len();
    }
    (0..=last).find(|&place| is_tail(&letters[place..])).unwrap_or(letters.len())
}

fn is_bad(qualities: &[u8]) -> bool {
    let last = qualities.iter().rev().take(QUALITY_BASES);
    let values = last.clone().map(|&byte| u32::from(byte.max(QUALITY_ZERO) - QUALITY_ZERO));
    values.sum::<u32>() < QUALITY_MIN * last.len() as u32
}

fn are_same(left: u8, right: u8) -> bool {
    code(left) < 4 && code(left) == code(right)
}
