//! A range of the records of a text.

use std::io::{self, BufRead, BufReader, Read};

const FASTQ_LINES: u64 = 4;

/// Text of some records of another text, which is FASTQ with four lines a record, or FASTA.
pub(super) struct RecordRange {
    lines: BufReader<Box<dyn Read + Send>>,
    is_fasta: bool,
    /// Number of the first record, and of the first after the range.
    range: (u64, u64),
    /// Lines so far, of FASTA those with names.
    count: u64,
    line: Vec<u8>,
    position: usize,
}

impl RecordRange {
    /// The `count` records after the first `skipped` of a text whose first letter is `first`.
    pub(super) fn new(
        text: Box<dyn Read + Send>,
        first: Option<u8>,
        (skipped, count): (u64, u64),
    ) -> Self {
        let range = (skipped, skipped.saturating_add(count));
        let (lines, line) = (BufReader::with_capacity(1 << 16, text), Vec::new());
        Self { lines, is_fasta: first == Some(b'>'), range, count: 0, line, position: 0 }
    }

    /// Reads the next line of the range; none is left at its end.
    fn next_line(&mut self) -> io::Result<()> {
        self.position = 0;
        loop {
            self.line.clear();
            if self.lines.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(());
            }
            self.count += u64::from(!self.is_fasta || self.line.starts_with(b">"));
            let lines = if self.is_fasta { 1 } else { FASTQ_LINES };
            // Lines before the first name belong to the record before.
            let Some(record) = self.count.checked_sub(1).map(|count| count / lines) else {
                continue;
            };
            if record >= self.range.1 {
                self.line.clear();
                return Ok(());
            }
            if record >= self.range.0 {
                return Ok(());
            }
        }
    }
}

impl Read for RecordRange {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position == self.line.len() {
            self.next_line()?;
        }
        let mut rest = &self.line[self.position..];
        let count = rest.read(buffer)?;
        self.position += count;
        Ok(count)
    }
}
