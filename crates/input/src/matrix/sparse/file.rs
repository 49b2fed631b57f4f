//! Reader of files of sparse matrices: one pass checks all bytes and counts the nonzeros of each
//! gene, a second one puts them in their places.

use std::collections::HashSet;
use std::path::Path;

use cuesta_core::{Error, Result};
use flate2::Crc;

use super::super::room::Room;
use super::super::summaries::is_summary;
use super::bytes::{CHUNK_ENTRIES, HEADER_BYTES, MAGIC, NonzeroOrder, SUM_BYTES, VERSION};
use super::{SparseMatrix, size_bytes_of};
use crate::storage::Input;

const OPERATION: &str = "input.sparse";
/// Largest number of entries: places of nonzeros have 32 bits.
const ENTRIES_MAX: u64 = u32::MAX as u64;

/// Whether a file begins as one of a sparse matrix; not if it cannot be read.
pub fn is_sparse(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    Input::open(path).is_ok_and(|file| file.read_exact_at(&mut start, 0).is_ok()) && start == *MAGIC
}

/// Returns a sentence on the sizes of a sparse matrix.
///
/// # Errors
/// As [`read`], as far as the header shows.
pub fn describe(path: &Path) -> Result<String> {
    let file =
        Input::open(path).map_err(|error| Error::system(OPERATION, "reading", path, &error))?;
    let Header { genes, samples, entries, .. } = Reader { path, file }.header()?;
    let name = path.display();
    Ok(format!("{name}: {genes} genes, {samples} samples, a sparse matrix of {entries} entries"))
}

/// Reads a sparse matrix; its nonzeros and names take at most `memory_bytes`. Explicit zeros are
/// left out. Cost: two passes over the file.
///
/// # Errors
/// `System` when the file cannot be read; `Input` for a file that is damaged or beyond the memory
/// limit.
pub fn read(path: &Path, memory_bytes: u64) -> Result<SparseMatrix> {
    let file =
        Input::open(path).map_err(|error| Error::system(OPERATION, "reading", path, &error))?;
    let reader = Reader { path, file };
    let header = reader.header()?;
    let name = path.display().to_string();
    let room = Room::new(&name, memory_bytes, Box::new(|| 1.0));
    room.take(header.names_bytes + 8 * (header.lines() + header.genes))?;
    let mut sum = Crc::new();
    let mut bytes = vec![0; HEADER_BYTES];
    reader.read_at(&mut bytes, 0)?;
    sum.update(&bytes);
    let (genes, samples) = reader.names(&header, &mut sum)?;
    let starts = reader.starts(&header, &mut sum)?;
    let mut counts = vec![0usize; header.genes as usize];
    reader.each_entry(&header, &starts, Some(&mut sum), |gene, _, value| {
        counts[gene] += usize::from(value != 0.0);
    })?;
    reader.check_sum(&header, &sum)?;
    let mut firsts = vec![0; counts.len() + 1];
    for (gene, count) in counts.iter().enumerate() {
        firsts[gene + 1] = firsts[gene] + count;
    }
    let nonzeros = firsts[counts.len()];
    room.take_for_matrix(size_bytes_of(genes.len(), nonzeros))?;
    let (mut places, mut values) = (vec![0u32; nonzeros], vec![0.0; nonzeros]);
    let mut next = firsts.clone();
    reader.each_entry(&header, &starts, None, |gene, sample, value| {
        if value != 0.0 && next[gene] < firsts[gene + 1] {
            places[next[gene]] = sample;
            values[next[gene]] = value;
            next[gene] += 1;
        }
    })?;
    let mut matrix = SparseMatrix { genes, samples, left_out: 0, starts: firsts, places, values };
    reader.sort(&mut matrix)?;
    reader.without_summaries(matrix)
}

/// Sizes of a file.
struct Header {
    order: NonzeroOrder,
    value_bytes: usize,
    genes: u64,
    samples: u64,
    entries: u64,
    names_bytes: u64,
}

impl Header {
    /// Number of genes or samples, by which the entries are in order.
    fn lines(&self) -> u64 {
        match self.order {
            NonzeroOrder::Genes => self.genes,
            NonzeroOrder::Samples => self.samples,
        }
    }

    fn starts_at(&self) -> u64 {
        HEADER_BYTES as u64 + self.names_bytes
    }

    fn entries_at(&self) -> u64 {
        self.starts_at() + 8 * (self.lines() + 1)
    }

    /// Bytes of the file before its checksum, if that is a number.
    fn size_bytes(&self) -> Option<u64> {
        let entry_bytes = 4 + self.value_bytes as u64;
        let starts_bytes = self.lines().checked_add(1)?.checked_mul(8)?;
        (HEADER_BYTES as u64)
            .checked_add(self.names_bytes)?
            .checked_add(starts_bytes)?
            .checked_add(self.entries.checked_mul(entry_bytes)?)
    }
}

struct Reader<'a> {
    path: &'a Path,
    file: Input,
}

impl Reader<'_> {
    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<()> {
        self.file
            .read_exact_at(into, offset)
            .map_err(|error| Error::system(OPERATION, "reading", self.path, &error))
    }

    fn damaged(&self, what: &str) -> Error {
        let text = format!(
            "{} is a damaged sparse matrix: {what}; make it again from its source",
            self.path.display()
        );
        Error::input(OPERATION, text)
    }

    /// Reads the header, whose sizes are those of the file.
    fn header(&self) -> Result<Header> {
        let size_bytes = self
            .file
            .size_bytes()
            .map_err(|error| Error::system(OPERATION, "reading", self.path, &error))?;
        if size_bytes < HEADER_BYTES as u64 + SUM_BYTES {
            return Err(self.damaged("it ends in its header"));
        }
        let mut bytes = vec![0; HEADER_BYTES];
        self.read_at(&mut bytes, 0)?;
        let words: Vec<u32> = bytes[8..24].chunks(4).map(word).collect();
        let longs: Vec<u64> = bytes[24..].chunks(8).map(long).collect();
        let order = NonzeroOrder::of_number(words[1]);
        let (Some(order), 4 | 8, 0) = (order, words[2], words[3]) else {
            return Err(self.damaged("its header has values that no version has"));
        };
        if !bytes.starts_with(MAGIC) || words[0] != VERSION {
            let text = format!(
                "{} is a sparse matrix of version {}, this program reads {VERSION}; make it again",
                self.path.display(),
                words[0]
            );
            return Err(Error::input(OPERATION, text));
        }
        let header = Header {
            order,
            value_bytes: words[2] as usize,
            genes: longs[0],
            samples: longs[1],
            entries: longs[2],
            names_bytes: longs[3],
        };
        let is_complete = header.size_bytes().and_then(|size| size.checked_add(SUM_BYTES));
        if is_complete != Some(size_bytes) {
            return Err(self.damaged("its size is not that of its header"));
        }
        // A name and its line feed have at least two bytes.
        let names = header.genes.checked_add(header.samples);
        if names.is_none_or(|names| names > header.names_bytes / 2) {
            return Err(self.damaged("it has fewer names than genes and samples"));
        }
        if header.entries > ENTRIES_MAX {
            let text = format!(
                "{} has {} entries, at most {ENTRIES_MAX} can be; leave out genes or samples",
                self.path.display(),
                header.entries
            );
            return Err(Error::input(OPERATION, text));
        }
        if header.genes == 0 || header.samples == 0 || header.samples > u64::from(u32::MAX) {
            return Err(self.damaged("it has no genes, or no samples, or too many"));
        }
        Ok(header)
    }

    /// Reads the names of genes and samples.
    fn names(&self, header: &Header, sum: &mut Crc) -> Result<(Vec<String>, Vec<String>)> {
        let mut bytes = vec![0; header.names_bytes as usize];
        self.read_at(&mut bytes, HEADER_BYTES as u64)?;
        sum.update(&bytes);
        let text = String::from_utf8(bytes).map_err(|_| self.damaged("a name is not UTF-8"))?;
        let names: Vec<&str> = text.split_terminator('\n').collect();
        let count = (header.genes + header.samples) as usize;
        if names.len() != count || names.contains(&"") || !text.ends_with('\n') {
            return Err(self.damaged("it has other names than genes and samples"));
        }
        let owned = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        let (genes, samples) = names.split_at(header.genes as usize);
        if genes.iter().collect::<HashSet<_>>().len() < genes.len() {
            return Err(self.damaged("two genes have the same name"));
        }
        Ok((owned(genes), owned(samples)))
    }

    /// Reads the place of the first entry of each line, and the number of all.
    fn starts(&self, header: &Header, sum: &mut Crc) -> Result<Vec<u64>> {
        let mut bytes = vec![0; 8 * (header.lines() as usize + 1)];
        self.read_at(&mut bytes, header.starts_at())?;
        sum.update(&bytes);
        let starts: Vec<u64> = bytes.chunks_exact(8).map(long).collect();
        let is_ascending = starts.windows(2).all(|two| two[0] <= two[1]);
        if starts[0] != 0 || starts.last() != Some(&header.entries) || !is_ascending {
            return Err(self.damaged("its lines do not have all its entries"));
        }
        Ok(starts)
    }

    /// Calls `take(gene, sample, value)` for each entry, in order, and adds its bytes to `sum`.
    fn each_entry(
        &self,
        header: &Header,
        starts: &[u64],
        mut sum: Option<&mut Crc>,
        mut take: impl FnMut(usize, u32, f64),
    ) -> Result<()> {
        let width = header.value_bytes;
        let places = match header.order {
            NonzeroOrder::Genes => header.samples,
            NonzeroOrder::Samples => header.genes,
        };
        let (mut line, mut offset, mut bytes) = (0, header.entries_at(), Vec::new());
        for first in (0..header.entries).step_by(CHUNK_ENTRIES) {
            let count = (header.entries - first).min(CHUNK_ENTRIES as u64) as usize;
            bytes.resize(count * (4 + width), 0);
            self.read_at(&mut bytes, offset)?;
            offset += bytes.len() as u64;
            if let Some(sum) = sum.as_deref_mut() {
                sum.update(&bytes);
            }
            let (indices, values) = bytes.split_at(4 * count);
            let entries = indices.chunks_exact(4).zip(values.chunks_exact(width));
            for (entry, (index, value)) in (first..).zip(entries) {
                while starts[line + 1] <= entry {
                    line += 1;
                }
                let (index, value) = (word(index), number(value));
                if u64::from(index) >= places || !value.is_finite() {
                    return Err(self.damaged("an entry has no place, or its value is not finite"));
                }
                match header.order {
                    NonzeroOrder::Genes => take(line, index, value),
                    NonzeroOrder::Samples => take(index as usize, line as u32, value),
                }
            }
        }
        Ok(())
    }

    fn check_sum(&self, header: &Header, sum: &Crc) -> Result<()> {
        let mut bytes = [0; SUM_BYTES as usize];
        self.read_at(&mut bytes, header.size_bytes().unwrap_or(0))?;
        if u32::from_le_bytes(bytes) != sum.sum() {
            return Err(self.damaged("its checksum is another"));
        }
        Ok(())
    }

    /// Sorts the nonzeros of each gene by their samples, which must differ.
    fn sort(&self, matrix: &mut SparseMatrix) -> Result<()> {
        for gene in 0..matrix.genes.len() {
            let range = matrix.starts[gene]..matrix.starts[gene + 1];
            let is_ascending = |places: &[u32]| places.windows(2).all(|two| two[0] < two[1]);
            if is_ascending(&matrix.places[range.clone()]) {
                continue;
            }
            let entries = matrix.places[range.clone()].iter().zip(&matrix.values[range.clone()]);
            let mut entries: Vec<(u32, f64)> = entries.map(|(&at, &value)| (at, value)).collect();
            entries.sort_unstable_by_key(|(place, _)| *place);
            for (place, (sample, value)) in range.clone().zip(entries) {
                matrix.places[place] = sample;
                matrix.values[place] = value;
            }
            if !is_ascending(&matrix.places[range]) {
                return Err(self.damaged("a gene has two values of a sample"));
            }
        }
        Ok(())
    }

    /// Leaves out counts of reads that are in no gene.
    fn without_summaries(&self, mut matrix: SparseMatrix) -> Result<SparseMatrix> {
        let chosen: Vec<bool> = matrix.genes.iter().map(|name| !is_summary(name)).collect();
        let left_out = chosen.iter().filter(|chosen| !**chosen).count();
        if left_out == chosen.len() {
            let what = "has no gene, only counts of reads that are in none; give a line a gene";
            return Err(Error::input(OPERATION, format!("{} {what}", self.path.display())));
        }
        if left_out > 0 {
            matrix = matrix.restricted(&chosen);
        }
        matrix.left_out = left_out as u64;
        Ok(matrix)
    }
}

fn word(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_le_bytes)
}

fn long(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// Number in single or double precision.
fn number(bytes: &[u8]) -> f64 {
    match bytes.len() {
        4 => f64::from(f32::from_bits(word(bytes))),
        _ => f64::from_bits(long(bytes)),
    }
}
