//! Reads as they are trimmed, for the verification: a file, or two whose reads are pairs, is read
//! record by record, and every place is tried by the rules of `spec/workloads/assemble`. It shares
//! constants and the known adapters with the run, and no more.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::{Arc, Mutex};

use cuesta_input::reads::trim::{
    ADAPTER_MIN, ADAPTERS, KITS, MISMATCH_PART, OVERLAP_MIN, POLY_G_MIN, POLY_G_OTHERS_MAX,
    QUALITY_BASES, QUALITY_MIN, QUALITY_ZERO, SEED_BASES, TAIL_ADAPTER_BASES, TAIL_BASES,
    TAIL_MISMATCH_PART, TRIMMED_BASES_MAX, TrimCounts,
};
use cuesta_runtime::parallel::lock;

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
        Self { lines: BufReader::new(text), line: Vec::new(), has_name: false }
    }

    /// Reads a line without its end; returns `false` at the end of the text.
    fn next_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        let count = self.lines.read_until(b'\n', &mut self.line)?;
        let length = self.line.trim_ascii_end().len();
        self.line.truncate(length);
        Ok(count > 0)
    }

    /// Returns the next record; `None` at the end of the text.
    fn next(&mut self) -> io::Result<Option<QualityRead>> {
        while !self.has_name || self.line.is_empty() {
            if !self.next_line()? {
                return Ok(None);
            }
            self.has_name = true;
        }
        self.has_name = false;
        let mut record = QualityRead::default();
        if self.line.starts_with(b"@") {
            self.next_line()?;
            record.letters.clone_from(&self.line);
            self.next_line()?;
            self.next_line()?;
            record.qualities.clone_from(&self.line);
            if record.letters.len() != record.qualities.len() {
                return Err(io::ErrorKind::InvalidData.into());
            }
            return Ok(Some(record));
        }
        while self.next_line()? {
            if self.line.starts_with(b">") {
                self.has_name = true;
                break;
            }
            record.letters.extend_from_slice(&self.line);
        }
        Ok(Some(record))
    }
}

/// Text of FASTA with the trimmed reads of one file, or of two whose reads are pairs.
pub struct TrimmedText {
    files: Vec<Records>,
    /// Reads of each file that are next to each other.
    reads_per_file: usize,
    counts: Arc<Mutex<TrimCounts>>,
    text: Vec<u8>,
    position: usize,
}

impl TrimmedText {
    /// Creates the text from those of the files; adds the counts of the reads to `counts`.
    pub fn new(
        texts: Vec<Box<dyn Read + Send>>,
        reads_per_file: usize,
        counts: Arc<Mutex<TrimCounts>>,
    ) -> Self {
        let files = texts.into_iter().map(Records::new).collect();
        Self { files, reads_per_file, counts, text: Vec::new(), position: 0 }
    }

    /// Writes the next reads into the text; none at the end.
    fn next_reads(&mut self) -> io::Result<()> {
        self.text.clear();
        self.position = 0;
        let mut records = Vec::new();
        for file in &mut self.files {
            for _ in 0..self.reads_per_file {
                records.extend(file.next()?);
            }
        }
        trim(&mut records, &mut lock(&self.counts));
        for record in &records {
            self.text.extend_from_slice(b">\n");
            self.text.extend_from_slice(&record.letters);
            self.text.push(b'\n');
        }
        Ok(())
    }
}

impl Read for TrimmedText {
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

/// Trims a read, or two mates.
pub fn trim(records: &mut [QualityRead], counts: &mut TrimCounts) {
    let mut fragment = None;
    if let [first, second] = records {
        fragment = fragment_bases(&first.letters, &second.letters);
    }
    for record in records {
        let before = record.letters.clone();
        if before.len() > TRIMMED_BASES_MAX {
            counts.add_read(before.len(), [before.len(); 3], None);
            continue;
        }
        let adapter = fragment.unwrap_or_else(|| {
            (0..before.len()).find(|&place| is_adapter(&before[place..])).unwrap_or(before.len())
        });
        record.letters.truncate(adapter);
        let first = record.letters.len();
        let tail = (0..first).find(|&place| is_poly_g(&record.letters[place..]));
        record.letters.truncate(tail.unwrap_or(first));
        let second = record.letters.len();
        if !record.qualities.is_empty() {
            record.qualities.truncate(second);
            while !record.qualities.is_empty() && is_bad(&record.qualities) {
                record.qualities.pop();
            }
            record.letters.truncate(record.qualities.len());
        }
        let cut = &before[first..];
        let kit = (0..KITS.len()).find(|&kit| {
            let mut adapters = ADAPTERS.iter().filter(|adapter| adapter.kit == kit);
            cut.len() >= SEED_BASES && adapters.any(|adapter| begins_as(cut, adapter.letters))
        });
        counts.add_read(before.len(), [first, second, record.letters.len()], kit);
    }
}

/// Returns the length of a fragment that is shorter than a read of it.
fn fragment_bases(first: &[u8], second: &[u8]) -> Option<usize> {
    let longer = first.len().max(second.len());
    if first.len().min(second.len()) < OVERLAP_MIN || longer > TRIMMED_BASES_MAX {
        return None;
    }
    let mut fits = Vec::new();
    for bases in OVERLAP_MIN..longer {
        // What either read has of the fragment, on the strand of the first.
        let pairs: Vec<(u8, u8)> = (0..bases)
            .filter_map(|place| Some((*first.get(place)?, *second.get(bases - 1 - place)?)))
            .collect();
        let unequal = |pairs: &[(u8, u8)]| {
            pairs
                .iter()
                .filter(|(left, right)| code(*left) > 3 || code(*left) + code(*right) != 3)
                .count()
        };
        let all = unequal(&pairs);
        if unequal(&pairs[..OVERLAP_MIN]) * MISMATCH_PART <= OVERLAP_MIN
            && all * MISMATCH_PART <= pairs.len()
            && are_tails(first.get(bases..), second.get(bases..))
        {
            fits.push((all, longer - bases));
        }
    }
    fits.into_iter().min().map(|(_, cut)| longer - cut)
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

/// Whether a text begins as a known adapter.
fn is_adapter(text: &[u8]) -> bool {
    ADAPTERS.iter().any(|adapter| {
        let same: Vec<bool> =
            text.iter().zip(adapter.letters).map(|(&left, &right)| are_same(left, right)).collect();
        let unequal = |same: &[bool]| same.iter().filter(|same| !**same).count();
        same.len() >= ADAPTER_MIN
            && unequal(&same[..SEED_BASES]) <= 1
            && unequal(&same) * MISMATCH_PART <= same.len()
    })
}

fn is_poly_g(tail: &[u8]) -> bool {
    let unequal = tail.iter().filter(|letter| !letter.eq_ignore_ascii_case(&b'G')).count();
    tail.len() >= POLY_G_MIN
        && tail[0].eq_ignore_ascii_case(&b'G')
        && unequal <= POLY_G_OTHERS_MAX
        && unequal * MISMATCH_PART <= tail.len()
}

fn is_bad(qualities: &[u8]) -> bool {
    let last: Vec<u32> = qualities
        .iter()
        .rev()
        .take(QUALITY_BASES)
        .map(|&byte| u32::from(byte.max(QUALITY_ZERO) - QUALITY_ZERO))
        .collect();
    last.iter().sum::<u32>() < QUALITY_MIN * last.len() as u32
}

fn are_same(left: u8, right: u8) -> bool {
    code(left) < 4 && code(left) == code(right)
}
