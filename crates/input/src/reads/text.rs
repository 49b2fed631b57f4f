//! The text of a file of reads: decompressed, without bytes before the first record, and with four
//! lines per record if FASTQ is wrapped or has blank lines.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use memchr::memchr;

use super::mates;
use crate::table::kinds;
use crate::unpack;

/// Bytes at the beginning of a file that determine its format.
pub(super) const START_BYTES: usize = 64 << 10;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The text of a file, from its first record on.
pub struct ReadText {
    /// The text.
    pub text: Box<dyn Read + Send>,
    /// Its first byte; `None` if the file has no record.
    pub first: Option<u8>,
    /// The name of its first record.
    pub first_name: Vec<u8>,
    /// Whether the first record is in SOLiD's colour space.
    pub is_in_colours: bool,
}

/// Line ends that may follow the last record: its own, that of a line without qualities, and one
/// more.
const LINE_ENDS_MAX: usize = 3;
/// Fewest colours of a read in colour space.
const COLOURS_MIN: usize = 4;

/// The records of a text, which may have a byte order mark and blank lines before them.
///
/// # Errors
/// Errors of reading.
pub fn records(mut text: impl Read + Send + 'static) -> io::Result<ReadText> {
    let mut start = Vec::new();
    (&mut text).take(START_BYTES as u64).read_to_end(&mut start)?;
    let skipped = leading_bytes(&start);
    let first = start.get(skipped).copied();
    let is_irregular = is_irregular(&start[skipped..]);
    start.drain(..skipped);
    let line = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let first_name = mates::name(line.get(1..).unwrap_or_default()).text.to_vec();
    let is_in_colours = is_in_colours(&start);
    let text = TrimmedEnd::new(Cursor::new(start).chain(text));
    let text: Box<dyn Read + Send> =
        if is_irregular { Box::new(FourLines::new(text)) } else { Box::new(text) };
    Ok(ReadText { text, first, first_name, is_in_colours })
}

/// Whether a first record has a base and colours from 0 to 3, as SOLiD writes.
fn is_in_colours(start: &[u8]) -> bool {
    let line = start.split(|&byte| byte == b'\n').nth(1).unwrap_or_default();
    let [base, colours @ ..] = trimmed(line) else { return false };
    b"ACGTacgt".contains(base)
        && colours.len() >= COLOURS_MIN
        && colours.iter().all(|colour| b"0123.".contains(colour))
        && colours.iter().any(u8::is_ascii_digit)
}

/// Text without blank lines at its end, however many: parsers read a few, and not more.
pub(super) struct TrimmedEnd<R> {
    text: R,
    /// Line ends that were read, and are only passed on if text follows.
    held: Vec<u8>,
    /// Bytes of which those from `position` on are passed on next.
    ready: Vec<u8>,
    position: usize,
    is_ended: bool,
}

impl<R: Read> TrimmedEnd<R> {
    /// Removes blank lines at the end of a text that parsers do not read.
    pub(super) fn new(text: R) -> Self {
        Self { text, held: Vec::new(), ready: Vec::new(), position: 0, is_ended: false }
    }

    /// Holds line ends back; of more than a buffer of them, the rest is dropped.
    fn hold(&mut self, line_ends: &[u8]) {
        let room = START_BYTES.saturating_sub(self.held.len());
        self.held.extend_from_slice(&line_ends[..room.min(line_ends.len())]);
    }

    /// Passes on as many of the line ends before the end of the text as parsers read.
    fn end(&mut self) {
        self.is_ended = true;
        let ends = self.held.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let length = ends.take(LINE_ENDS_MAX).last().map_or(0, |(place, _)| place + 1);
        self.held.truncate(length);
        self.ready = std::mem::take(&mut self.held);
        self.position = 0;
    }
}

impl<R: Read> Read for TrimmedEnd<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let rest = &self.ready[self.position..];
            if !rest.is_empty() || self.is_ended || into.is_empty() {
                let count = rest.len().min(into.len());
                into[..count].copy_from_slice(&rest[..count]);
                self.position += count;
                return Ok(count);
            }
            let count = self.text.read(into)?;
            if count == 0 {
                self.end();
                continue;
            }
            let is_text = |byte: &u8| !b"\r\n".contains(byte);
            let end = into[..count].iter().rposition(is_text).map_or(0, |place| place + 1);
            if end > 0 && !self.held.is_empty() {
                self.ready = std::mem::take(&mut self.held);
                self.ready.extend_from_slice(&into[..end]);
                self.position = 0;
            }
            self.hold(&into[end..count]);
            if end > 0 && self.ready.len() == self.position {
                return Ok(end);
            }
        }
    }
}

/// Bytes of a byte order mark and of blank lines at the beginning of a text.
pub(super) fn leading_bytes(start: &[u8]) -> usize {
    let mark = if start.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let blank = start[mark..].iter().take_while(|byte| b"\r\n".contains(byte)).count();
    mark + blank
}

/// Whether a text that begins with a record of FASTQ has a record of more or fewer than four lines,
/// or blank lines between records.
pub(super) fn is_irregular(start: &[u8]) -> bool {
    if !start.starts_with(b"@") {
        return false;
    }
    let mut lines = start.split_inclusive(|&byte| byte == b'\n').map(trimmed).peekable();
    let mut is_irregular = false;
    while let Some(header) = lines.next() {
        if header.is_empty() {
            // At the end of a file there may be some.
            is_irregular |= lines.peek().is_some_and(|next| !next.is_empty());
            continue;
        }
        if !header.starts_with(b"@") {
            return false;
        }
        let (mut bases, mut base_lines) = (0, 0);
        loop {
            let Some(line) = lines.next() else { return is_irregular };
            if line.starts_with(b"+") {
                break;
            }
            if !line.iter().all(|byte| byte.is_ascii_alphabetic() || b"*-.".contains(byte)) {
                return false;
            }
            (bases, base_lines) = (bases + line.len(), base_lines + 1);
        }
        is_irregular |= base_lines != 1;
        let (mut qualities, mut quality_lines) = (0, 0);
        if bases == 0 && lines.next_if(|next| next.is_empty()).is_some() {
            quality_lines = 1;
        }
        while qualities < bases {
            let Some(line) = lines.next() else { return is_irregular };
            (qualities, quality_lines) = (qualities + line.len(), quality_lines + 1);
        }
        if qualities != bases {
            return false;
        }
        is_irregular |= quality_lines != 1 && lines.peek().is_some();
    }
    is_irregular
}

fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Converts FASTQ whose records have any number of lines to four lines per record. A text that is
/// not FASTQ is passed on.
struct FourLines<R> {
    lines: BufReader<R>,
    record: Vec<u8>,
    position: usize,
    line: Vec<u8>,
}

impl<R: Read> FourLines<R> {
    fn new(text: R) -> Self {
        let lines = BufReader::with_capacity(START_BYTES, text);
        Self { lines, record: Vec::new(), position: 0, line: Vec::new() }
    }

    /// Reads a line without its line end; `false` at the end.
    fn next_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        let count = self.lines.read_until(b'\n', &mut self.line)?;
        let length = trimmed(&self.line).len();
        self.line.truncate(length);
        Ok(count > 0)
    }

    /// Reads the next record into four lines; a truncated record as far as it exists.
    fn next_record(&mut self) -> io::Result<()> {
        self.record.clear();
        self.position = 0;
        loop {
            if !self.next_line()? {
                return Ok(());
            }
            if !self.line.is_empty() {
                break;
            }
        }
        self.put_line();
        let bases_start = self.record.len();
        loop {
            if !self.next_line()? {
                return Ok(());
            }
            if self.line.starts_with(b"+") {
                break;
            }
            self.record.extend_from_slice(&self.line);
        }
        let bases = self.record.len() - bases_start;
        self.record.push(b'\n');
        self.put_line();
        let mut qualities = 0;
        while qualities < bases && self.next_line()? {
            qualities += self.line.len();
            self.record.extend_from_slice(&self.line);
        }
        self.record.push(b'\n');
        Ok(())
    }

    fn put_line(&mut self) {
        self.record.extend_from_slice(&self.line);
        self.record.push(b'\n');
    }
}

impl<R: Read> Read for FourLines<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.position == self.record.len() {
            self.next_record()?;
        }
        let rest = &self.record[self.position..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.position += count;
        Ok(count)
    }
}

/// The kind of a text that does not hold reads, by its beginning, with a remedy.
pub(super) fn other_form(start: &[u8]) -> Option<String> {
    if let Some(kind) = kinds::kind_of(start, &kinds::OTHER_READS) {
        return Some(format!("is {}; {}", kind.name, kind.remedy));
    }
    let form = match unpack::CompressionFormat::of(start) {
        unpack::CompressionFormat::Gzip | unpack::CompressionFormat::Bgzip => {
            "is packed by gzip once more inside; give what `gzip -dc FILE` writes"
        }
        format if format.is_packed() => {
            "is packed twice; unpack it once, and give what that writes"
        }
        _ if start.get(257..262) == Some(b"ustar") => {
            "is an archive of tar; unpack it with `tar -xf FILE`"
        }
        _ if memchr(b'\n', start).is_none() && memchr(b'\r', start).is_some() => {
            "ends its lines in carriage returns alone; give what `tr '\\r' '\\n' < FILE` writes"
        }
        _ => return None,
    };
    Some(form.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &[u8]) -> (Vec<u8>, Option<u8>) {
        let mut read_text = records(Cursor::new(text.to_vec())).unwrap();
        let mut all = Vec::new();
        read_text.text.read_to_end(&mut all).unwrap();
        (all, read_text.first)
    }

    proptest! {
        #[test]
        fn records_of_any_lines_have_four(
            reads in prop::collection::vec(("[ACGTN]{1,40}", "[@+>I]{40}"), 1..9),
            (width, blank, ending) in (1usize..50, 0usize..3, any::<bool>()),
            [has_mark, windows] in any::<[bool; 2]>(),
        ) {
            let end = if windows { "\r\n" } else { "\n" };
            let wrapped = |text: &str| -> String {
                let lines = text.as_bytes().chunks(width).map(String::from_utf8_lossy);
                lines.map(|line| format!("{line}{end}")).collect()
            };
            let (mut text, mut expected) = (String::new(), String::new());
            if has_mark {
                text.push('\u{feff}');
            }
            for (index, (bases, qualities)) in reads.iter().enumerate() {
                let qualities = &qualities[..bases.len()];
                text += &end.repeat(blank);
                text += &format!("@r{index}{end}{}+{end}{}", wrapped(bases), wrapped(qualities));
                expected += &format!("@r{index}\n{bases}\n+\n{qualities}\n");
            }
            if ending {
                text.truncate(text.trim_end_matches(['\r', '\n']).len());
            }
            let (converted, first) = all(text.as_bytes());
            prop_assert_eq!(first, Some(b'@'));
            let converted = String::from_utf8(converted).unwrap().replace('\r', "");
            prop_assert_eq!(converted.trim_end(), expected.trim_end());
        }

        #[test]
        fn four_lines_stay_as_they_are(
            reads in prop::collection::vec(("[ACGTN]{0,40}", "[@+>I]{40}"), 1..9),
        ) {
            let text: String = (0..).zip(&reads).map(|(index, (bases, qualities))| {
                format!("@r{index}\n{bases}\n+r{index}\n{}\n", &qualities[..bases.len()])
            }).collect();
            prop_assert!(!is_irregular(text.as_bytes()));
            prop_assert_eq!(all(text.as_bytes()).0, text.into_bytes());
        }
    }

    #[test]
    fn a_read_without_bases_may_have_no_line_for_them() {
        for text in ["@a\n+\n@b\nAC\nGT\n+\nII\nII\n", "@a\n\n+\n\n@b\nAC\nGT\n+\nIIII\n"] {
            assert_eq!(all(text.as_bytes()).0, b"@a\n\n+\n\n@b\nACGT\n+\nIIII\n");
        }
    }

    /// Three blank lines at the end were a record, and refused.
    #[test]
    fn any_number_of_blank_lines_ends_a_text() {
        for end in ["\n", "\r\n"] {
            for count in [1, 2, 3, 4, 9, 70_000] {
                for record in ["@a\nAC\n+\nII", ">a\nAC"] {
                    let text = record.replace('\n', end) + &end.repeat(count);
                    let (read, _) = all(text.as_bytes());
                    let expected = record.replace('\n', end) + &end.repeat(count.min(3));
                    assert_eq!(String::from_utf8(read).unwrap(), expected);
                }
            }
        }
        let text = b">a\nAC\n\n\n\n\n>b\nAC";
        assert_eq!(all(text).0, text);
    }

    #[test]
    fn reads_in_colours_are_recognised() {
        for (text, expected) in [
            (&b"@a\nT0123.\n+\nIIIII\n"[..], true),
            (b">a\nG00122\n", true),
            (b">a\nGATTACA\n", false),
            (b">a\nG....\n", false),
        ] {
            let text = records(Cursor::new(text.to_vec())).unwrap();
            assert_eq!(text.is_in_colours, expected);
        }
    }

    #[test]
    fn an_archive_of_tar_is_named() {
        let mut header = b"reads.fq".to_vec();
        header.resize(512, 0);
        assert_eq!(other_form(&header), None);
        header[257..262].copy_from_slice(b"ustar");
        assert_eq!(
            other_form(&header),
            Some("is an archive of tar; unpack it with `tar -xf FILE`".to_owned())
        );
    }

    #[test]
    fn other_files_are_named() {
        for (start, name) in [
            (&b"@HD\tVN:1.6\n@SQ\tSN:c\tLN:5\n"[..], "(SAM)"),
            (b"NCBI.sra\x05\x03\x19\x88", "fasterq-dump"),
            (b"LOCUS       NC_000913  4641652 bp\n", "annotated sequence"),
            (b"\x04\x22\x4d\x18\x64\x40", "lz4"),
            (b"<!DOCTYPE html><html>", "web page"),
        ] {
            assert!(other_form(start).is_some_and(|form| form.contains(name)), "{name}");
        }
        assert_eq!(other_form(b"@HD7:1\nACGT\n+\nIIII\n"), None);
    }

    #[test]
    fn text_that_is_not_fastq_is_unchanged() {
        for text in [
            "@a\nAC\nGT\n@b\nAC\n+\nII\n",
            "@a\nAC\n+\nIII\n",
            "@a\nAC\nII\n@b\nAC\nII\n",
            "hello\n",
        ] {
            assert_eq!(all(text.as_bytes()).0, text.as_bytes());
        }
    }
}
