//! Reader of a line of KINC text: a fast reader of lines in KINC's notation, 64 bytes at a time;
//! all other lines are read by the plain reader of [`crate::reference`]. No byte is skipped.

use cuesta_core::fixed::{Micro, NAN};
use cuesta_input::limits::SCORES_MAX;
use cuesta_input::row::Row;

use super::simd::{ByteClassifier, Classes, WIDTH};
use crate::reference::PlainRow;

/// Bytes that must be readable before a line: a number is loaded with the bytes before it.
pub const FRONT: usize = 8;
/// Maximum number of digits of a number that is read in one load.
const DIGITS_MAX: usize = 8;
/// Numbers before the scores of a version-1 and of a version-3 line.
const V1: usize = 9;
const V3: usize = 5;

/// Notation of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation<'a> {
    /// Byte by byte as `%d` and `%f` write its numbers: version 1, ends in a line feed.
    Canonical,
    /// Version 1 with numbers in another notation: the line, which an answer may repeat.
    Other(&'a [u8]),
    /// Not a line of an answer: version 3, or ends in carriage return and line feed, or not from
    /// text.
    Foreign,
}

/// Row with its notation.
#[derive(Clone, Copy, Debug)]
pub struct WrittenRow<'a> {
    /// The row.
    pub row: Row<'a>,
    /// Notation of the row.
    pub notation: Notation<'a>,
}

/// Line read by the fast reader.
pub struct Line<'a> {
    numbers: [u32; V1],
    scores: [Micro; SCORES_MAX],
    score_count: usize,
    mask: &'a [u8],
    notation: Notation<'a>,
    /// Start of the next line.
    pub next: usize,
}

impl<'a> Line<'a> {
    /// Returns the row; its last four numbers are counted from the mask if version 3 omits them.
    #[inline(always)]
    pub fn written_row(&self) -> WrittenRow<'_> {
        let n = &self.numbers;
        let row = Row {
            gene1: n[0],
            gene2: n[1],
            cluster: n[2],
            num_clusters: n[3],
            cluster_samples: n[4],
            missing: n[5],
            outliers: n[6],
            pair_outliers: n[7],
            threshold: n[8],
            scores: &self.scores[..self.score_count],
            mask: self.mask,
        };
        WrittenRow { row, notation: self.notation }
    }

    /// Reads the line that starts at `start` of `buffer`, if it is in KINC's notation. A line feed
    /// and [`WIDTH`] readable bytes must follow, and [`FRONT`] bytes precede.
    #[inline(always)]
    pub fn read<C: ByteClassifier>(cpu: C, buffer: &'a [u8], start: usize) -> Option<Self> {
        let classes = cpu.classes(window(buffer, start)?);
        match Self::with_numbers::<C, V1>(cpu, buffer, start, &classes) {
            Some(line) => Some(line),
            None => {
                let mut line = Self::with_numbers::<C, V3>(cpu, buffer, start, &classes)?;
                line.count_from_0();
                Some(line)
            }
        }
    }

    #[inline(always)]
    fn with_numbers<C: ByteClassifier, const COUNT: usize>(
        cpu: C,
        buffer: &'a [u8],
        start: usize,
        classes: &Classes,
    ) -> Option<Self> {
        let (numbers, tabs, at) = integers::<COUNT>(buffer, start, classes)?;
        let mut scores = [0; SCORES_MAX];
        let (score_count, tab) = match first_score(buffer, start, at, tabs, classes.digits) {
            Some((score, tab)) => {
                scores[0] = score;
                (1, tab)
            }
            None => score_list(buffer, at, &mut scores)?,
        };
        let end = next_break(cpu, buffer, tab + 1)?;
        let mask = &buffer[tab + 1..end];
        let (next, notation) = match (buffer[end], buffer[end + 1]) {
            (b'\n', _) => (end + 1, Notation::Canonical),
            (b'\r', b'\n') => (end + 2, Notation::Foreign),
            _ => return None,
        };
        Some(Self { numbers, scores, score_count, mask, notation, next })
    }

    /// Converts a version-3 line: it counts genes and clusters from 0, and omits numbers that
    /// follow from the mask.
    #[inline(never)]
    fn count_from_0(&mut self) {
        self.notation = Notation::Foreign;
        self.numbers[..3].iter_mut().for_each(|number| *number += 1);
        for (number, symbol) in self.numbers[V3..].iter_mut().zip(*b"9876") {
            *number = self.mask.iter().map(|&byte| u32::from(byte == symbol)).sum();
        }
    }
}

/// Returns the genes of the line at `start`, if they are in KINC's notation.
#[inline(always)]
pub fn genes<C: ByteClassifier>(cpu: C, buffer: &[u8], start: usize) -> Option<(u32, u32)> {
    let classes = cpu.classes(window(buffer, start)?);
    integers::<2>(buffer, start, &classes).map(|(numbers, _, _)| (numbers[0], numbers[1]))
}

#[inline(always)]
fn window(buffer: &[u8], start: usize) -> Option<&[u8; WIDTH]> {
    buffer.get(start..start + WIDTH)?.try_into().ok()
}

/// Returns the first numbers of a line, the tabs of its first bytes after them, and the next
/// position.
#[inline(always)]
fn integers<const COUNT: usize>(
    buffer: &[u8],
    start: usize,
    classes: &Classes,
) -> Option<([u32; V1], u64, usize)> {
    let mut tabs = classes.tabs;
    if (tabs.count_ones() as usize) < COUNT {
        return None;
    }
    let mut numbers = [0; V1];
    let (mut at, mut fits) = (start, true);
    for number in &mut numbers[..COUNT] {
        let tab = start + tabs.trailing_zeros() as usize;
        tabs &= tabs - 1;
        fits &= (1..=DIGITS_MAX).contains(&(tab - at));
        *number = integer(buffer, tab, tab - at);
        at = tab + 1;
    }
    // All bytes before the last tab must be digits or tabs, and no number starts with a 0 that
    // another digit follows.
    let front = (1u64 << (at - 1 - start)) - 1;
    let known = (classes.tabs | classes.digits) & front == front;
    let starts = (classes.tabs << 1) | 1;
    let leading = classes.zeros & starts & (classes.digits >> 1) & front;
    (fits && known && leading == 0).then_some((numbers, tabs, at))
}

/// Returns the number whose `length` digits end at `end`.
#[inline(always)]
fn integer(buffer: &[u8], end: usize, length: usize) -> u32 {
    let word = word_before(buffer, end) & 0x0F0F_0F0F_0F0F_0F0F;
    // The bytes before the number become zeros.
    digits_of(word & (u64::MAX << ((8 * (8 - length.min(8))) & 63)))
}

#[inline(always)]
fn word_before(buffer: &[u8], end: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&buffer[end - 8..end]);
    u64::from_le_bytes(word)
}

/// Converts eight digits, one in each byte, the first one in the lowest byte.
#[inline(always)]
fn digits_of(word: u64) -> u32 {
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_FFFF_0000_FFFF;
    (fours.wrapping_mul(10_000).wrapping_add(fours >> 32)) as u32
}

/// Reads the only score of a line, `[-]D.DDDDDD`, if its tab is among the first bytes.
#[inline(always)]
fn first_score(
    buffer: &[u8],
    start: usize,
    at: usize,
    tabs: u64,
    digits: u64,
) -> Option<(Micro, usize)> {
    if tabs == 0 {
        return None;
    }
    let tab = start + tabs.trailing_zeros() as usize;
    let negative = buffer[at] == b'-';
    if tab - at != 8 + usize::from(negative) || buffer[tab - 7] != b'.' {
        return None;
    }
    if (digits >> (tab - 8 - start)) & 0xFF != 0b1111_1101 {
        return None;
    }
    let word = word_before(buffer, tab) & 0x0F0F_0F0F_0F0F_0F0F;
    let size = (word as u8 as Micro) * 1_000_000 + digits_of(word & !0xFFFF) as Micro;
    // KINC never writes minus zero.
    (!negative || size != 0).then_some((if negative { -size } else { size }, tab))
}

/// Reads the scores of a comma list at `at`; returns their number and the position of the next tab.
#[inline(never)]
fn score_list(
    buffer: &[u8],
    at: usize,
    scores: &mut [Micro; SCORES_MAX],
) -> Option<(usize, usize)> {
    let (mut start, mut count) = (at, 0);
    loop {
        let rest = &buffer[start..];
        let length = rest.iter().position(|&byte| matches!(byte, b',' | b'\t' | b'\n'))?;
        *scores.get_mut(count)? = canonical_score(&rest[..length])?;
        count += 1;
        match rest[length] {
            b',' => start += length + 1,
            b'\t' => return Some((count, start + length)),
            _ => return None,
        }
    }
}

/// Parses a score as `%f` writes it: six decimals, or `nan`.
pub fn canonical_score(text: &[u8]) -> Option<Micro> {
    if text == b"nan" {
        return Some(NAN);
    }
    let size = text.strip_prefix(b"-").unwrap_or(text);
    let (integer, fraction) = size.split_at_checked(size.len().checked_sub(7)?)?;
    let fraction = fraction.strip_prefix(b".")?;
    if !matches!(integer.len(), 1..=4) || (integer[0] == b'0' && integer.len() > 1) {
        return None;
    }
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0, |sum, &byte| {
            byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0'))
        })
    };
    let value = number(integer)? * 1_000_000 + number(fraction)?;
    let negative = size.len() < text.len();
    let value = Micro::try_from(if negative { -value } else { value }).ok()?;
    (value != 0 || !negative).then_some(value)
}

/// Returns the first position from `at` on of a byte that ends a field or cannot be in a field.
#[inline(always)]
fn next_break<C: ByteClassifier>(cpu: C, buffer: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let breaks = cpu.breaks(window(buffer, at)?);
        if breaks != 0 {
            return Some(at + breaks.trailing_zeros() as usize);
        }
        at += WIDTH;
    }
}

/// Line in any other notation, read by the plain reader.
pub struct Plain<'a> {
    row: PlainRow,
    line: &'a [u8],
    canonical: Vec<u8>,
}

impl<'a> Plain<'a> {
    /// Reads a line without its line feed; `None` for a comment or a blank line.
    ///
    /// # Errors
    /// A sentence continuing "line N of FILE ...".
    pub fn read(line: &'a [u8]) -> Result<Option<Self>, String> {
        let text = std::str::from_utf8(line).map_err(|_| "is not UTF-8".to_owned())?;
        let Some(row) = PlainRow::read(text)? else { return Ok(None) };
        let mut canonical = Vec::new();
        row.row().append_kinc_v1(&mut canonical);
        Ok(Some(Self { row, line, canonical }))
    }

    /// Returns the row.
    pub fn written_row(&self) -> WrittenRow<'_> {
        let fields = self.line.iter().filter(|&&byte| byte == b'\t').count() + 1;
        let written_anew = self.line.ends_with(b"\r") || fields != V1 + 2;
        let notation = match self.canonical.strip_suffix(b"\n") == Some(self.line) {
            true => Notation::Canonical,
            false if written_anew => Notation::Foreign,
            false => Notation::Other(self.line),
        };
        WrittenRow { row: self.row.row(), notation }
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
