//! FASTQ in blocks of complete records: one thread at a time reads a block and counts its lines;
//! threads parse the records of their blocks in parallel.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memrchr};

use super::mates::{self, EarlierNames, MateCounts};
use super::trim::{self, ReadRecord};
use super::{ReadBatch, Sampling};
use crate::block_buffer::BlockBuffer;

const LINES: usize = 4;

/// Files of FASTQ, whose records are cut off in groups of `reads_per_file` records of each file.
pub(super) struct RecordBlocks {
    files: Vec<Text>,
    reads_per_file: usize,
    block_bytes: usize,
}

/// A file and its bytes that were read and not cut off yet.
struct Text {
    input: Box<dyn Read + Send>,
    bytes: BlockBuffer,
    /// Lines in `bytes`.
    lines: usize,
    is_ended: bool,
}

/// Result of cutting off a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BlockCut {
    /// This number of groups, in a text per file.
    Groups(u64),
    /// The files have ended.
    End,
    /// The remaining bytes are not a group.
    Fault,
}

impl RecordBlocks {
    /// Groups of `reads_per_file` records of each file, cut off in blocks of about `block_bytes`.
    pub(super) fn new(
        inputs: Vec<Box<dyn Read + Send>>,
        reads_per_file: usize,
        block_bytes: usize,
    ) -> Self {
        let text = |input| Text { input, bytes: BlockBuffer::default(), lines: 0, is_ended: false };
        Self { files: inputs.into_iter().map(text).collect(), reads_per_file, block_bytes }
    }

    /// Cuts off the next groups by counting lines, without parsing them.
    ///
    /// # Errors
    /// Errors of reading.
    pub(super) fn cut(&mut self, texts: &mut Vec<BlockBuffer>) -> io::Result<BlockCut> {
        texts.resize_with(self.files.len(), BlockBuffer::default);
        let group_lines = LINES * self.reads_per_file;
        let mut wanted = self.block_bytes.div_ceil(self.files.len());
        loop {
            let mut groups = usize::MAX;
            for file in &mut self.files {
                file.read_until(wanted)?;
                groups = groups.min(file.lines / group_lines);
            }
            if groups > 0 {
                let files = self.files.iter_mut().zip(texts);
                files.for_each(|(file, text)| file.cut(groups * group_lines, text));
                return Ok(BlockCut::Groups(groups as u64));
            }
            if self.files.iter().all(|file| file.is_ended || file.lines >= group_lines) {
                let is_empty = |file: &Text| file.is_ended && file.bytes.is_empty();
                return Ok(if self.files.iter().all(is_empty) {
                    BlockCut::End
                } else {
                    BlockCut::Fault
                });
            }
            wanted *= 2;
        }
    }
}

impl Text {
    /// Reads until there are `size_bytes` bytes, or the file ends.
    fn read_until(&mut self, size_bytes: usize) -> io::Result<()> {
        let more = size_bytes.saturating_sub(self.bytes.len());
        if self.is_ended || more == 0 {
            return Ok(());
        }
        let count = self.bytes.read(&mut self.input, more)?;
        if count < more {
            self.is_ended = true;
            self.end();
        }
        self.lines = lines(&self.bytes);
        Ok(())
    }

    /// Completes the last line if it lacks its end, or removes blank lines at the end.
    fn end(&mut self) {
        let count = lines(&self.bytes);
        let records_end = place_after(&self.bytes, (count, count - count % LINES));
        let mut rest = self.bytes[records_end..].split(|&byte| byte == b'\n');
        if count % LINES == LINES - 1 {
            self.bytes.extend_from_slice(b"\n");
        } else if rest.all(|line| line.is_empty() || line == b"\r") {
            self.bytes.truncate(records_end);
        }
    }

    /// Moves the first `count` lines to `text`.
    fn cut(&mut self, count: usize, text: &mut BlockBuffer) {
        let place = place_after(&self.bytes, (self.lines, count));
        self.lines -= count;
        text.clear();
        std::mem::swap(text, &mut self.bytes);
        self.bytes.extend_from_slice(&text[place..]);
        text.truncate(place);
    }
}

fn lines(bytes: &[u8]) -> usize {
    memchr_iter(b'\n', bytes).count()
}

/// End of the first `wanted` of the `count` lines.
fn place_after(bytes: &[u8], (count, wanted): (usize, usize)) -> usize {
    if wanted == 0 {
        return 0;
    }
    let mut end = bytes.len();
    for _ in wanted..=count {
        end = memrchr(b'\n', &bytes[..end]).unwrap_or(0);
    }
    end + 1
}

/// Groups of records of the texts of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordGroups {
    /// Records of each text in a group.
    pub(super) reads_per_file: usize,
    /// Number of groups.
    pub(super) count: u64,
    /// Whether reads are trimmed.
    pub(super) are_trimmed: bool,
    /// Groups of the source whose letters are taken.
    pub(super) sampling: Sampling,
}

/// Appends the bases and ends of groups of records of the texts, each in turn; false if a text does
/// not hold as many groups. A text that was cut off by its lines and has a record of more lines has
/// fewer records. Names of pairs are added to `mate_counts`; with the name of the first read of the
/// file, where it may recur.
pub(super) fn parse(
    batch: &mut ReadBatch,
    RecordGroups { reads_per_file, count: groups, are_trimmed, sampling }: RecordGroups,
    mate_counts: Option<(&mut MateCounts, &[u8])>,
) -> bool {
    let (mut mate_counts, first_name) = mate_counts.unzip();
    let ReadBatch { texts, bases, ends, text_bytes, names, trimmed, first, .. } = batch;
    let groups_before = *first;
    // Reads are copied at once where nothing has to be known of their group.
    let copies = !are_trimmed && sampling.is_all();
    let count = texts.len() * reads_per_file;
    *text_bytes = texts.iter().map(|text| text.len() as u64).sum();
    let mut rests: Vec<&[u8]> = texts.iter().map(|text| &text[..]).collect();
    let mut last = None;
    for group in groups_before..groups_before + groups {
        let (mut of_group, mut index): ([&[u8]; 2], usize) = ([&[]; 2], 0);
        let mut records = [ReadRecord::default(); 2];
        for rest in &mut rests {
            for _ in 0..reads_per_file {
                let Some((header, read)) = record(rest) else { return false };
                if copies {
                    bases.extend_from_slice(read.letters);
                    ends.push(bases.len());
                }
                records[index % 2] = read;
                of_group[index % 2] = header;
                index += 1;
                if let Some(sums) = names {
                    sums.add(mates::name(header));
                }
            }
        }
        if !copies {
            let lengths = match (sampling.takes(group), are_trimmed) {
                (false, _) => [0; 2],
                (true, true) => trim::of_group(&records[..count], trimmed),
                (true, false) => records.map(|read| read.letters.len()),
            };
            for (read, length) in records.iter().zip(lengths).take(count) {
                bases.extend_from_slice(&read.letters[..length]);
                ends.push(bases.len());
            }
        }
        if let Some(counts) = &mut mate_counts {
            let of_group = of_group.map(mates::name);
            let first = first_name.filter(|_| group > 0);
            counts.add(of_group, EarlierNames { last, first });
            last = Some(of_group[1]);
        }
    }
    rests.iter().all(|rest| rest.is_empty())
}

/// Splits the first record off a text; returns its first line without the `@`, and its read.
#[inline(always)]
fn record<'t>(text: &mut &'t [u8]) -> Option<(&'t [u8], ReadRecord<'t>)> {
    let rest = *text;
    let letters = memchr(b'\n', rest)? + 1;
    let separator = letters + memchr(b'\n', &rest[letters..])? + 1;
    // Most records have nothing after the +, so that no search is needed.
    let qualities = match rest.get(separator..separator + 2) {
        Some(b"+\n") => separator + 2,
        _ => separator + memchr(b'\n', &rest[separator..])? + 1,
    };
    // Qualities end where the next line would be looked for, so most need no search.
    let likely = qualities + (separator - 1 - letters);
    let end = match rest.get(likely) {
        Some(b'\n') => likely,
        _ => qualities + memchr(b'\n', &rest[qualities..])?,
    };
    let name = rest.get(1..letters - 1)?;
    let (letters, qualities) = (line(&rest[letters..separator - 1]), line(&rest[qualities..end]));
    let is_record = rest[0] == b'@'
        && rest[separator] == b'+'
        && letters.len() == qualities.len()
        && trim::are_qualities(qualities);
    *text = &rest[end + 1..];
    is_record.then_some((name, ReadRecord { letters, qualities }))
}

fn line(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}
