//! Many lines at once: a block of whole lines is walked at a few nanoseconds a line.
//!
//! Per line, one 64-byte load finds the ten tabs; the score is read from its fixed place; the mask
//! is jumped because its length is known, and the line feed behind it proves the jump right. A
//! line that is not of the plain form (comment, long fields, `nan`, CRLF, version 3, damaged) goes
//! to [`super::line`]. Rows that do not pass the filter are checked for their number of fields,
//! their length and the characters in front of the mask; rows that pass are checked in full by
//! whoever asks for the full row.

use cuesta_core::fixed::Micro;

use super::line::{self, Parsed};
use super::simd::{Cpu, WIDTH};
use super::{Fault, Shape, Version};
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
    shape: Shape,
}

impl<'a> Hit<'a> {
    /// The whole row, every field checked.
    ///
    /// # Errors
    /// A sentence continuing "line N of FILE ...".
    pub fn parse(&self) -> Result<Parsed<'a>, String> {
        line::parse(self.line, &self.shape)
    }

    /// Whether the line can be passed on as it is: version 1, ends in LF.
    pub fn is_verbatim(&self) -> bool {
        self.shape.version == Version::V1 && self.line.last() != Some(&b'\r')
    }
}

/// Counts of one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data rows seen.
    pub rows_read: u64,
    /// Rows that passed the filter.
    pub rows_kept: u64,
}

impl Counts {
    /// Adds the counts of another block.
    pub fn add(&mut self, other: Counts) {
        self.rows_read += other.rows_read;
        self.rows_kept += other.rows_kept;
    }
}

/// Calls `keep` for each row of `buffer[..size_bytes]` that passes the filter, in order.
///
/// The block holds whole lines; [`PADDING`] more bytes must follow it in `buffer`.
///
/// # Errors
/// The first [`Fault`], of a line or of `keep`.
pub fn visit<F>(
    buffer: &[u8],
    size_bytes: usize,
    shape: &Shape,
    filter: &Filter,
    mut keep: F,
) -> Result<Counts, Fault>
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

struct Plain {
    score: Micro,
    /// Place of the line feed.
    end: usize,
}

struct Walk<'a> {
    buffer: &'a [u8],
    size_bytes: usize,
    shape: Shape,
    filter: Filter,
}

impl<'a> Walk<'a> {
    #[inline(always)]
    fn fast<C: Cpu, F>(&self, cpu: C, keep: &mut F) -> Result<Counts, Fault>
    where
        F: FnMut(&Hit<'_>) -> Result<(), String>,
    {
        let mut counts = Counts::default();
        let mut start = 0;
        let all_samples = self.filter.ignores_samples();
        if self.filter.score_index != 0 {
            return self.careful(keep);
        }
        while start < self.size_bytes {
            let Some(plain) = self.plain_line(cpu, start) else {
                start = self.one_careful(start, &mut counts, keep)?;
                continue;
            };
            counts.rows_read += 1;
            if self.filter.keeps_score(plain.score)
                && (all_samples || self.keeps_samples(&plain, start)?)
            {
                counts.rows_kept += 1;
                let line = &self.buffer[start..plain.end];
                self.hit(line, plain.score)
                    .and_then(|hit| keep(&hit))
                    .map_err(|what| Fault { offset: start, what })?;
            }
            start = plain.end + 1;
        }
        Ok(counts)
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

    fn keeps_samples(&self, plain: &Plain, start: usize) -> Result<bool, Fault> {
        let mut fields = self.buffer[start..plain.end].split(|&byte| byte == b'\t').skip(4);
        let mut next = |field| {
            line::parse_integer(fields.next().unwrap_or(&[]), field)
                .map_err(|what| Fault { offset: start, what })
        };
        let (cluster_samples, missing) = (next(5)?, next(6)?);
        Ok(self.filter.keeps_samples(cluster_samples, missing))
    }

    fn hit(&self, line: &'a [u8], score: Micro) -> Result<Hit<'a>, String> {
        let mut fields = line.splitn(4, |&byte| byte == b'\t');
        let mut next = |field| line::parse_integer(fields.next().unwrap_or(&[]), field);
        let add = u32::from(self.shape.version == Version::V3);
        let (gene1, gene2, cluster) = (next(1)? + add, next(2)? + add, next(3)? + add);
        line::check_pair(gene1, gene2, cluster)?;
        Ok(Hit { line, gene1, gene2, cluster, score, shape: self.shape })
    }

    fn careful<F>(&self, keep: &mut F) -> Result<Counts, Fault>
    where
        F: FnMut(&Hit<'_>) -> Result<(), String>,
    {
        let mut counts = Counts::default();
        let mut start = 0;
        while start < self.size_bytes {
            start = self.one_careful(start, &mut counts, keep)?;
        }
        Ok(counts)
    }

    /// Reads the line at `start` with every check; returns where the next one starts.
    #[inline(never)]
    fn one_careful<F>(&self, start: usize, c: &mut Counts, keep: &mut F) -> Result<usize, Fault>
    where
        F: FnMut(&Hit<'_>) -> Result<(), String>,
    {
        let rest = &self.buffer[start..self.size_bytes];
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..length];
        if !line::is_blank(line) {
            c.rows_read += 1;
            let kept = self.careful_line(line, keep);
            c.rows_kept += u64::from(kept.map_err(|what| Fault { offset: start, what })?);
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
            format!("has {} scores, --score-index {index} asks for another", row.scores.len())
        })?;
        let kept = self.filter.keeps_score(score)
            && self.filter.keeps_samples(row.cluster_samples, row.missing);
        if kept {
            let shape = self.shape;
            let (gene1, gene2, cluster) = (row.gene1, row.gene2, row.cluster);
            keep(&Hit { line, gene1, gene2, cluster, score, shape })?;
        }
        Ok(kept)
    }
}

/// Reads `[-]D.DDDDDD` at `place`, followed by a comma or the tab at `last_tab`.
#[inline(always)]
fn plain_score(bytes: &[u8; WIDTH], place: usize, last_tab: usize) -> Option<Micro> {
    let negative = bytes[place & 63] == b'-';
    let place = place + usize::from(negative);
    let word: [u8; 8] = bytes.get(place..place + 8)?.try_into().ok()?;
    let word = u64::from_le_bytes(word);
    // Byte 1 must be the point; with a zero digit in its place all eight must be digits.
    let point = (word >> 8) & 0xFF == u64::from(b'.');
    let digits = (word & !0xFF00) | 0x3000;
    let ends = place + 8 == last_tab || bytes.get(place + 8) == Some(&b',');
    let high = digits & 0xF0F0_F0F0_F0F0_F0F0 == 0x3030_3030_3030_3030;
    let low =
        digits.wrapping_add(0x0606_0606_0606_0606) & 0xF0F0_F0F0_F0F0_F0F0 == 0x3030_3030_3030_3030;
    if !(point && ends && high && low) {
        return None;
    }
    // "D0dddddd" is D * 10^7 + dddddd.
    let value = eight_digits(digits);
    let micro = (value / 10_000_000 * 1_000_000 + value % 10_000_000) as Micro;
    Some(if negative { -micro } else { micro })
}

/// The number written by eight ASCII digits, first digit in the lowest byte.
#[inline(always)]
fn eight_digits(word: u64) -> u32 {
    let pairs = (word & 0x0F0F_0F0F_0F0F_0F0F).wrapping_mul(2561) >> 8;
    let fours = (pairs & 0x00FF_00FF_00FF_00FF).wrapping_mul(6_553_601) >> 16;
    ((fours & 0x0000_FFFF_0000_FFFF).wrapping_mul(42_949_672_960_001) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::FilterParams;
    use proptest::prelude::*;

    const SHAPE: Shape = Shape { version: Version::V1, samples: 8, scores: 1 };

    fn rows(text: &[u8], filter: &Filter) -> Result<(Counts, Vec<Vec<u8>>), Fault> {
        let mut buffer = text.to_vec();
        buffer.resize(text.len() + PADDING, b'7');
        let mut kept = Vec::new();
        let counts = visit(&buffer, text.len(), &SHAPE, filter, |hit| {
            kept.push(hit.line.to_vec());
            Ok(())
        })?;
        Ok((counts, kept))
    }

    fn at_least(min_abs_score: f64) -> Filter {
        FilterParams { min_abs_score, ..FilterParams::default() }.check().unwrap()
    }

    #[test]
    fn comments_blank_lines_and_crlf_are_passed_over() {
        let line = "7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11910711";
        let text = format!("#Restarted\n{line}\n\n{line}\r\n#Done\n{line}");
        let (counts, kept) = rows(text.as_bytes(), &at_least(0.8)).unwrap();
        assert_eq!(counts, Counts { rows_read: 3, rows_kept: 3 });
        assert_eq!(kept.len(), 3);
        assert_eq!(rows(text.as_bytes(), &at_least(0.9)).unwrap().0.rows_kept, 0);
    }

    #[test]
    fn a_short_line_in_front_of_a_good_one_is_found() {
        let good = "7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11910711\n";
        for bad in ["7\t3\n", "7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\n", "\t\n", "7\n"] {
            let text = format!("{good}{bad}{good}");
            let fault = rows(text.as_bytes(), &at_least(0.0)).unwrap_err();
            assert_eq!(fault.offset, good.len(), "{bad:?} {fault:?}");
        }
    }

    #[test]
    fn sample_counts_decide_too() {
        let text = b"7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11910711\n";
        let few = FilterParams { min_cluster_samples: 6, ..FilterParams::default() };
        assert_eq!(rows(text, &few.check().unwrap()).unwrap().0.rows_kept, 0);
        let missing = FilterParams { max_missing: Some(0), ..FilterParams::default() };
        assert_eq!(rows(text, &missing.check().unwrap()).unwrap().0.rows_kept, 0);
    }

    fn any_line() -> impl Strategy<Value = String> {
        let score = prop_oneof![
            (-1_000_000i32..=1_000_000).prop_map(|micro| {
                let mut text = Vec::new();
                cuesta_core::fixed::append_text(micro, &mut text);
                String::from_utf8(text).unwrap()
            }),
            Just("nan".to_owned()),
            Just("0.5,0.25".to_owned()),
            Just("1e-3".to_owned()),
            "[0-9.,-]{0,9}",
        ];
        let good = (2u32..20_000_000, 1u32..3, score, "[016789]{8}").prop_map(
            |(gene1, cluster, score, mask)| {
                format!("{gene1}\t1\t{cluster}\t2\t5\t1\t0\t1\t0\t{score}\t{mask}")
            },
        );
        prop_oneof![
            20 => good,
            1 => Just("#Done".to_owned()),
            1 => "[0-9\t.na-]{0,40}",
        ]
    }

    proptest! {
        /// The fast walk and the careful reader agree on which rows pass and which line is bad,
        /// whatever stands in the block.
        #[test]
        fn fast_and_careful_agree(lines in proptest::collection::vec(any_line(), 0..12)) {
            let text = lines.join("\n");
            let filter = at_least(0.3);
            let mut buffer = text.clone().into_bytes();
            let size_bytes = buffer.len();
            buffer.resize(size_bytes + PADDING, b'1');
            let walk = Walk { buffer: &buffer, size_bytes, shape: SHAPE, filter };
            let mut expected = Vec::new();
            let slow = walk.careful(&mut |hit: &Hit<'_>| {
                expected.push((hit.gene1, hit.cluster, hit.score));
                Ok(())
            });
            let mut found = Vec::new();
            let fast = visit(&buffer, size_bytes, &SHAPE, &filter, |hit| {
                hit.parse()?;
                found.push((hit.gene1, hit.cluster, hit.score));
                Ok(())
            });
            match (fast, slow) {
                (Ok(a), Ok(b)) => {
                    prop_assert_eq!(a, b);
                    prop_assert_eq!(found, expected);
                }
                // A row that does not pass may hide a defect in a field nobody needed.
                (_, Err(_)) => {}
                (Err(fault), Ok(_)) => prop_assert!(false, "{:?}", fault),
            }
        }
    }
}
