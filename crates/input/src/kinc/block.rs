//! Many lines at once: a block of whole lines is walked at a few nanoseconds a line.
//!
//! Per line, one 64-byte load finds the ten tabs; the score is read from its fixed place; the mask
//! is jumped because its length is known, and the line feed behind it proves the jump right. A
//! line that is not of the plain form (comment, long fields, `nan`, CRLF, version 3, damaged) goes
//! to [`super::line`]. Rows that do not pass the filter are checked for their number of fields,
//! their length and the characters in front of the mask; rows that pass are checked in full by
//! whoever asks for the full row.

use cuesta_core::fixed::Micro;
use serde::{Deserialize, Serialize};

use super::line::{self, Parsed};
use super::simd::{Cpu, WIDTH};
use super::{LineError, LineShape, Version};
use crate::filter::Filter;

/// Bytes that must be readable behind a block (their content does not matter).
pub const PADDING: usize = WIDTH;

/// Tabs in front of the mask of a version-1 line.
const TABS: u32 = 10;

/// A row that passed the filter.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    /// The line without its line end.
    pub line: &'a [u8],
    /// First gene, from 1; above `gene2`.
    pub gene1: u32,
    /// Second gene, from 1.
    pub gene2: u32,
    /// Cluster of the pair, from 1.
    pub cluster: u32,
    /// The score that passed, in millionths.
    pub score: Micro,
    shape: LineShape,
}

impl<'a> Hit<'a> {
    /// The whole row, every field checked.
    ///
    /// # Errors
    /// A sentence continuing "line N of FILE ...".
    pub fn parse(&self) -> Result<Parsed<'a>, String> {
        line::parse(self.line, &self.shape)
    }

    /// The whole row, every field checked but the symbols of the mask: for those who look at each
    /// symbol anyway, as [`crate::pair_matrix::RowBatch::push`] does.
    ///
    /// # Errors
    /// A sentence continuing "line N of FILE ...".
    pub fn parse_but_mask(&self) -> Result<Parsed<'a>, String> {
        line::parse_plain(self.line, &self.shape).map_or_else(|| self.parse(), Ok)
    }

    /// Whether the line can be copied unchanged: version 1, ends in LF.
    pub fn is_verbatim(&self) -> bool {
        self.shape.version == Version::V1 && self.line.last() != Some(&b'\r')
    }
}

/// Counts of a block.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Data rows that were read.
    pub rows_read: u64,
    /// Rows that passed the filter.
    pub rows_passed: u64,
}

impl Counts {
    /// Adds the counts of another block.
    pub fn add(&mut self, other: Counts) {
        self.rows_read = self.rows_read.saturating_add(other.rows_read);
        self.rows_passed = self.rows_passed.saturating_add(other.rows_passed);
    }
}

/// Calls `keep` for each row of `buffer[..size_bytes]` that passes the filter, in order.
///
/// The block holds complete lines; [`PADDING`] more bytes must follow it in `buffer`.
///
/// # Errors
/// The first [`LineError`], of a line or of `keep`.
pub fn visit<F>(
    buffer: &[u8],
    size_bytes: usize,
    shape: &LineShape,
    filter: &Filter,
    mut keep: F,
) -> Result<Counts, LineError>
where
    F: FnMut(&Hit<'_>) -> Result<(), String>,
{
    assert!(buffer.len() >= size_bytes + PADDING, "the block lacks its padding");
    let walk = Walk { buffer, size_bytes, shape: *shape, filter: *filter };
    match shape.version {
        Version::V1 => crate::with_best_cpu!(cpu => cpu.enter(
            #[inline(always)]
            || walk.fast(cpu, &mut keep)
        )),
        Version::V3 => walk.careful(&mut keep),
    }
}

#[derive(Clone, Copy)]
struct Plain {
    score: Micro,
    /// Offset of the line feed.
    end: usize,
}

struct Walk<'a> {
    buffer: &'a [u8],
    size_bytes: usize,
    shape: LineShape,
    filter: Filter,
}

impl<'a> Walk<'a> {
    #[inline(always)]
    fn fast<C: Cpu, F>(&self, cpu: C, keep: &mut F) -> Result<Counts, LineError>
    where
        F: FnMut(&Hit<'_>) -> Result<(), String>,
    {
        if self.filter.score_index != 0 {
            return self.careful(keep);
        }
        let mut counts = Counts::default();
        let mut start = self.both_halves(cpu, &mut counts, keep)?;
        while start < self.size_bytes {
            start = self.next_line(cpu, start, &mut counts, keep)?;
        }
        Ok(counts)
    }

    /// Walks the two halves of the block side by side: where a line starts is known only when the
    /// one before it was read, and the second walk fills that wait. Rows of the second half that
    /// pass wait until the first half is done. Returns where the walk has to go on.
    #[inline(always)]
    fn both_halves<C: Cpu, F>(
        &self,
        cpu: C,
        c: &mut Counts,
        keep: &mut F,
    ) -> Result<usize, LineError>
    where
        F: FnMut(&Hit<'_>) -> Result<(), String>,
    {
        let half = self.size_bytes / 2;
        let Some(feed) = memchr::memchr(b'\n', &self.buffer[half..self.size_bytes]) else {
            return Ok(0);
        };
        let middle = half + feed + 1;
        let (mut start, mut ahead, mut rows_ahead) = (0, middle, 0);
        let mut passed = Vec::new();
        let mut stuck = false;
        while start < middle {
            if !stuck && ahead < self.size_bytes {
                if let Some(plain) = self.plain_line(cpu, ahead) {
                    rows_ahead += 1;
                    if self.filter.keeps_score(plain.score) {
                        passed.push((ahead, plain));
                    }
                    ahead = plain.end + 1;
                } else {
                    stuck = true;
                }
            }
            start = self.next_line(cpu, start, c, keep)?;
        }
        if start != middle {
            // A damaged line spans the middle: what lies ahead was cut in the wrong place.
            return Ok(start);
        }
        c.rows_read += rows_ahead;
        for (start, plain) in passed {
            self.take(start, plain, c, keep)?;
        }
        Ok(ahead)
    }

    /// Reads the line at `start`; returns the start of the next line.
    #[inline(always)]
    fn next_line<C: Cpu, F>(
        &self,
        cpu: C,
        start: usize,
        c: &mut Counts,
        keep: &mut F,
    ) -> Result<usize, LineError>
    where
        F: FnMut(&Hit<'_>) -> Result<(), String>,
    {
        let Some(plain) = self.plain_line(cpu, start) else {
            return self.next_careful_line(start, c, keep);
        };
        c.rows_read += 1;
        if self.filter.keeps_score(plain.score) {
            self.take(start, plain, c, keep)?;
        }
        Ok(plain.end + 1)
    }

    /// Keeps the plain line at `start`, whose score passed, if its samples pass too.
    #[inline(always)]
    fn take<F>(
        &self,
        start: usize,
        plain: Plain,
        c: &mut Counts,
        keep: &mut F,
    ) -> Result<(), LineError>
    where
        F: FnMut(&Hit<'_>) -> Result<(), String>,
    {
        if !self.filter.ignores_samples() && !self.keeps_samples(plain, start)? {
            return Ok(());
        }
        c.rows_passed += 1;
        let line = &self.buffer[start..plain.end];
        self.hit(line, plain.score)
            .and_then(|hit| keep(&hit))
            .map_err(|what| LineError { offset: start, what })
    }

    /// The line at `start` if it is of the plain form.
    #[inline(always)]
    fn plain_line<C: Cpu>(&self, cpu: C, start: usize) -> Option<Plain> {
        let bytes: &[u8; WIDTH] = self.buffer[start..start + WIDTH].try_into().ok()?;
        let (tabs, allowed) = cpu.classify(bytes);
        let last_tab = cpu.nth(tabs, TABS - 1);
        // Too few tabs in 64 bytes give 64; a score needs room to be read in one go.
        if last_tab > 63 {
            return None;
        }
        let end = start + last_tab as usize + 1 + self.shape.samples;
        let header = (1u64 << last_tab) - 1;
        if allowed & header != header || end >= self.size_bytes || self.buffer[end] != b'\n' {
            return None;
        }
        let place = cpu.nth(tabs, TABS - 2) as usize + 1;
        let score = plain_score(bytes, place, last_tab as usize)?;
        Some(Plain { score, end })
    }

    fn keeps_samples(&self, plain: Plain, start: usize) -> Result<bool, LineError> {
        let mut fields = self.buffer[start..plain.end].split(|&byte| byte == b'\t').skip(4);
        let mut next = |field| {
            line::parse_integer(fields.next().unwrap_or(&[]), field)
                .map_err(|what| LineError { offset: start, what })
        };
        let (cluster_samples, missing) = (next(5)?, next(6)?);
        Ok(self.filter.keeps_samples(cluster_samples, missing))
    }

    fn hit(&self, line: &'a [u8], score: Micro) -> Result<Hit<'a>, String> {
        let mut rest = line;
        let mut next = |field| match line::leading_integer(rest) {
            Some((number, behind)) => {
                rest = behind;
                Ok(number)
            }
            None => {
                let end = rest.iter().position(|&byte| byte == b'\t').unwrap_or(rest.len());
                line::parse_integer(&rest[..end], field)
            }
        };
        let add = u32::from(self.shape.version == Version::V3);
        let (gene1, gene2, cluster) = (next(1)? + add, next(2)? + add, next(3)? + add);
        line::check_pair(gene1, gene2, cluster)?;
        Ok(Hit { line, gene1, gene2, cluster, score, shape: self.shape })
    }

    fn careful<F>(&self, keep: &mut F) -> Result<Counts, LineError>
    where
        F: FnMut(&Hit<'_>) -> Result<(), String>,
    {
        let mut counts = Counts::default();
        let mut start = 0;
        while start < self.size_bytes {
            start = self.next_careful_line(start, &mut counts, keep)?;
        }
        Ok(counts)
    }

    /// Reads the line at `start` with all checks; returns the start of the next line.
    #[inline(never)]
    fn next_careful_line<F>(
        &self,
        start: usize,
        c: &mut Counts,
        keep: &mut F,
    ) -> Result<usize, LineError>
    where
        F: FnMut(&Hit<'_>) -> Result<(), String>,
    {
        let rest = &self.buffer[start..self.size_bytes];
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..length];
        if !line::is_blank(line) {
            c.rows_read += 1;
            let passes = self.careful_line(line, keep);
            c.rows_passed += u64::from(passes.map_err(|what| LineError { offset: start, what })?);
        }
        Ok(start + length + 1)
    }

    fn careful_line<F>(&self, line: &'a [u8], keep: &mut F) -> Result<bool, String>
    where
        F: FnMut(&Hit<'_>) -> Result<(), String>,
    {
        let parsed = line::parse(line, &self.shape)?;
        let row = parsed.row();
        let index = self.filter.score_index;
        let score = *row.scores.get(index).ok_or_else(|| {
            format!(
                "has {} scores, --score-index {index} asks for another; give a smaller number",
                row.scores.len()
            )
        })?;
        let passes = self.filter.keeps_score(score)
            && self.filter.keeps_samples(row.cluster_samples, row.missing);
        if passes {
            let shape = self.shape;
            let (gene1, gene2, cluster) = (row.gene1, row.gene2, row.cluster);
            keep(&Hit { line, gene1, gene2, cluster, score, shape })?;
        }
        Ok(passes)
    }
}

/// Reads `[-]D.DDDDDD` at `place`, followed by a comma or the tab at `last_tab`.
#[inline(always)]
fn plain_score(bytes: &[u8; WIDTH], place: usize, last_tab: usize) -> Option<Micro> {
    let negative = bytes[place & 63] == b'-';
    let place = place + usize::from(negative);
    let word: [u8; 8] = bytes.get(place..place + 8)?.try_into().ok()?;
    let micro = line::eight_bytes(u64::from_le_bytes(word))?;
    let ends = place + 8 == last_tab || bytes.get(place + 8) == Some(&b',');
    ends.then_some(if negative { -micro } else { micro })
}

#[cfg(test)]
#[path = "block_tests.rs"]
mod tests;
