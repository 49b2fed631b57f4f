//! Input or answer, read one piece at a time on all threads.

use std::path::Path;

use cuesta_core::Result;
use cuesta_core::digest::{COLUMNS, Digest, Record as Words, Tag};
use cuesta_core::fingerprint::{Fingerprint, Key};
use cuesta_input::records::{RECORD_BYTES, Record, RecordFiles};

use crate::disk::{Disk, DiskFile};
use crate::kernel::key;

/// Records of a task: they fit in the cache of a core.
pub const TASK_RECORDS: u64 = 1 << 12;
const OPERATION: &str = "verify";
/// Words of a record, the last one padded.
const RECORD_WORDS: usize = RECORD_BYTES.div_ceil(8);

/// Reader of the records of a dataset, with the buffer and the open file of a thread.
pub struct DatasetReader<'a> {
    files: &'a RecordFiles,
    disk: &'a Disk,
    open: Option<(&'a Path, DiskFile<'a>)>,
    buffer: Vec<Record>,
}

impl<'a> DatasetReader<'a> {
    /// Creates a reader.
    pub fn new(files: &'a RecordFiles, disk: &'a Disk) -> Self {
        Self { files, disk, open: None, buffer: Vec::new() }
    }

    /// Returns the records of a task, after the record before them if there is one and `before` is
    /// set.
    ///
    /// # Errors
    /// `System`.
    pub fn read(&mut self, task: usize, before: bool) -> Result<(Option<Record>, &[Record])> {
        let start = task as u64 * TASK_RECORDS;
        let extra = u64::from(before && task > 0);
        let count = TASK_RECORDS.min(self.files.records() - start) + extra;
        self.fill(start - extra, count as usize)?;
        let (before, records) = self.buffer.split_at(extra as usize);
        Ok((before.first().copied(), records))
    }

    /// Returns how many of the first `end` records have a key below `wanted`, if keys ascend.
    ///
    /// # Errors
    /// `System`.
    pub fn below(&mut self, wanted: u128, end: u64) -> Result<u64> {
        let (mut low, mut high) = (0, end);
        while low < high {
            let middle = (low + high) / 2;
            self.fill(middle, 1)?;
            if key(&self.buffer[0]) < wanted { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    fn fill(&mut self, first: u64, count: usize) -> Result<()> {
        self.buffer.resize(count, [0; RECORD_BYTES]);
        for piece in self.files.pieces(first, count) {
            let open = match self.open.take() {
                Some((path, file)) if path == piece.path => (path, file),
                _ => (piece.path, self.disk.open(OPERATION, piece.path)?),
            };
            let (_, file) = self.open.insert(open);
            file.read(self.buffer[piece.range].as_flattened_mut(), piece.offset)?;
        }
        Ok(())
    }
}

/// Adds a record with its rank: the number of earlier records with its key.
#[inline]
pub fn add(prints: &mut Fingerprint, secret: &Key, record: &Record, earlier: u64) {
    let mut row = [0; RECORD_WORDS + 1];
    words(record, &mut row);
    row[RECORD_WORDS] = earlier;
    prints.add_words(secret, &row);
}

/// Adds records at positions from `first` on, as the digest of an answer requires.
pub fn add_places(digest: &mut Digest, records: &[Record], first: u64) {
    let (batches, rest) = records.as_chunks::<COLUMNS>();
    let mut places = first;
    let mut columns = [[0; COLUMNS]; RECORD_WORDS + 1];
    for batch in batches {
        columns[0] = std::array::from_fn(|index| places + index as u64);
        let mut rows = [[0; RECORD_WORDS]; COLUMNS];
        for (row, record) in rows.iter_mut().zip(batch) {
            words(record, row);
        }
        for (word, column) in columns[1..].iter_mut().enumerate() {
            *column = std::array::from_fn(|index| rows[index][word]);
        }
        digest.add_columns(Tag::Sort, &columns);
        places += COLUMNS as u64;
    }
    for (record, place) in rest.iter().zip(places..) {
        let mut words = Words::new(Tag::Sort);
        words.push(place);
        words.push_bytes(record);
        digest.add_record(&words);
    }
}

/// Writes the words of a record, as the digest takes them.
#[inline(always)]
fn words(record: &Record, row: &mut [u64]) {
    let (chunks, rest) = record.as_chunks::<8>();
    for (word, bytes) in row.iter_mut().zip(chunks) {
        *word = u64::from_le_bytes(*bytes);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    row[RECORD_WORDS - 1] = u64::from_le_bytes(last);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_added_together_have_the_digest_of_records_added_singly() {
        let records: Vec<Record> = (0..21u8)
            .map(|seed| std::array::from_fn(|place| seed ^ (place as u8).wrapping_mul(3)))
            .collect();
        for count in [0, 1, 7, 8, 21] {
            let (mut found, mut expected) = (Digest::default(), Digest::default());
            add_places(&mut found, &records[..count], 5);
            for (record, place) in records[..count].iter().zip(5..) {
                let mut words = Words::new(Tag::Sort);
                words.push(place);
                words.push_bytes(record);
                expected.add_record(&words);
            }
            assert_eq!(found, expected, "{count}");
        }
    }
}
