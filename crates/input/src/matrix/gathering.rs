//! Gathers a matrix from blocks of its lines, on all threads.

use std::hash::{BuildHasher, RandomState};
use std::thread;

use cuesta_core::{Error, Result};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::room::Room;
use super::table::{Table, TableLine, TableLines, delimiter, shown, split_at_line};
use super::{ExpressionMatrix, OPERATION, Options, join};

/// Bytes of a gene in a list of names, and the number of its line.
const GENE_BYTES: u64 = (size_of::<String>() + size_of::<usize>()) as u64;
/// Bytes of the memory of a short name.
const NAME_BYTES: u64 = 32;
/// Bytes of a gene in the table that finds names that are there twice: a number and a mark, and
/// room to grow.
const UNIQUE_BYTES: u64 = 24;
/// From here on, values stay where they are when more come: the system maps their pages anew.
const MAPPED_BYTES: u64 = 64 << 20;
/// Values have room for at least so many more parts of themselves when there is none.
const GROWTH_PARTS: usize = 8;

/// A matrix whose first lines were read.
pub struct Gathering<'a> {
    table: Table<'a>,
    room: &'a Room<'a>,
    matrix: ExpressionMatrix,
    /// The number of the line of each gene.
    numbers: Vec<usize>,
    /// TableLines so far.
    number: usize,
    begins_at: usize,
    parts: Vec<Part>,
}

/// Genes that a thread parsed.
#[derive(Default)]
struct Part {
    names: Vec<String>,
    numbers: Vec<usize>,
    values: Vec<f64>,
}

/// TableLines that a thread parses.
struct Share<'t> {
    bytes: &'t [u8],
    /// TableLines before.
    number: usize,
    genes: usize,
}

impl<'a> Gathering<'a> {
    /// Begins with the lines of a text, two of which are not empty unless there are fewer.
    ///
    /// # Errors
    /// `Input`.
    pub fn begin(options: &'a Options, room: &'a Room<'a>, bytes: &[u8]) -> Result<Self> {
        let name = room.name();
        let mut lines = TableLines::new(bytes, 0);
        let Some(first) = lines.next() else {
            return Err(Error::input(
                OPERATION,
                format!("{name} is empty, expected a line a gene"),
            ));
        };
        let after = (lines.place, lines.number);
        let lines: Vec<TableLine> = [first].into_iter().chain(lines.next()).collect();
        let delimiter = delimiter(&lines).ok_or_else(|| {
            let line = first.number;
            let text = format!("line {line} of {name} has neither a tab nor a comma");
            Error::input(OPERATION, text)
        })?;
        let table = Table { name, options, delimiter };
        let header = table.header(&lines, room)?;
        let (begins_at, number) = if header.is_line { after } else { (0, 0) };
        let matrix = ExpressionMatrix { samples: header.samples, ..ExpressionMatrix::default() };
        let parts = (0..options.threads.max(1)).map(|_| Part::default()).collect();
        Ok(Self { table, room, matrix, numbers: Vec::new(), number, begins_at, parts })
    }

    /// Offset of the first line of a gene in the text.
    pub fn begins_at(&self) -> usize {
        self.begins_at
    }

    /// Adds the genes in some lines.
    ///
    /// # Errors
    /// `Input`, of the first line that is wrong.
    pub fn add(&mut self, bytes: &[u8]) -> Result<()> {
        let shares = self.shares(bytes);
        let genes: usize = shares.iter().map(|share| share.genes).sum();
        let samples = self.matrix.samples.len();
        // Ragged lines are refused at the first one, so that no more values come than bytes.
        let count = genes.saturating_mul(samples).min(bytes.len());
        // Names are no longer than the text.
        let meanwhile = 8 * count as u64 + genes as u64 * GENE_BYTES + bytes.len() as u64;
        self.room.take(meanwhile)?;
        // Lists that grow are there twice.
        self.room.take_for_matrix(genes as u64 * (2 * GENE_BYTES + NAME_BYTES))?;
        self.make_room(count)?;
        let table = &self.table;
        let outcomes: Vec<Result<()>> = thread::scope(|scope| {
            let work = shares.iter().zip(&mut self.parts);
            let workers: Vec<_> = work
                .map(|(share, part)| scope.spawn(move || part.parse(table, share, samples)))
                .collect();
            workers.into_iter().map(join).collect()
        });
        for (outcome, part) in outcomes.into_iter().zip(&mut self.parts) {
            outcome?;
            let sizes = part.names.iter().map(|name| name.capacity() as u64);
            self.room.take_for_matrix(sizes.filter(|&size| size + 8 > NAME_BYTES).sum())?;
            self.matrix.values.append(&mut part.values);
            self.matrix.genes.append(&mut part.names);
            self.numbers.append(&mut part.numbers);
        }
        self.room.release(meanwhile);
        Ok(())
    }

    /// The matrix, whose names are all different.
    ///
    /// # Errors
    /// `Input`.
    pub fn finish(mut self) -> Result<ExpressionMatrix> {
        self.parts.clear();
        self.room.take(self.matrix.genes.len() as u64 * UNIQUE_BYTES)?;
        self.check_unique()?;
        self.matrix.values.shrink_to_fit();
        Ok(self.matrix)
    }

    /// The lines for each thread.
    fn shares<'t>(&mut self, mut bytes: &'t [u8]) -> Vec<Share<'t>> {
        let size_bytes = bytes.len().div_ceil(self.parts.len()).max(1);
        let mut shares = Vec::with_capacity(self.parts.len());
        while !bytes.is_empty() {
            let (share, rest) = split_at_line(bytes, size_bytes);
            let mut lines = TableLines::new(share, self.number);
            let genes = lines.by_ref().count();
            shares.push(Share { bytes: share, number: self.number, genes });
            self.number = lines.number;
            bytes = rest;
        }
        shares
    }

    /// Room for so many values more, and for names.
    fn make_room(&mut self, count: usize) -> Result<()> {
        let values = &mut self.matrix.values;
        let (capacity, needed) = (values.capacity(), values.len().saturating_add(count));
        if needed <= capacity {
            return Ok(());
        }
        let wanted = needed.max(capacity + capacity / GROWTH_PARTS);
        let bytes = |count: usize| (count as u64).saturating_mul(size_of::<f64>() as u64);
        let is_mapped = bytes(capacity) >= MAPPED_BYTES;
        let moved = if is_mapped { 0 } else { bytes(capacity) };
        self.room.take_for_matrix(bytes(wanted - capacity))?;
        self.room.take(moved)?;
        values.reserve_exact(wanted - values.len());
        self.room.release(moved);
        Ok(())
    }

    fn check_unique(&self) -> Result<()> {
        let genes = &self.matrix.genes;
        let state = RandomState::new();
        let hash = |&gene: &usize| state.hash_one(&genes[gene]);
        let mut unique: HashTable<usize> = HashTable::with_capacity(genes.len());
        for gene in 0..genes.len() {
            let same = |&before: &usize| genes[before] == genes[gene];
            match unique.entry(hash(&gene), same, hash) {
                Entry::Vacant(entry) => drop(entry.insert(gene)),
                Entry::Occupied(entry) => {
                    let before = self.numbers[*entry.get()];
                    let name = shown(genes[gene].as_bytes());
                    let text = format!("names gene {name}, which line {before} has already");
                    let line = TableLine { number: self.numbers[gene], text: &[] };
                    return Err(self.table.error(&line, &text));
                }
            }
        }
        Ok(())
    }
}

impl Part {
    fn parse(&mut self, table: &Table, share: &Share, samples: usize) -> Result<()> {
        let count = share.genes.saturating_mul(samples).min(share.bytes.len());
        self.names.reserve_exact(share.genes);
        self.numbers.reserve_exact(share.genes);
        self.values.reserve_exact(count);
        for line in TableLines::new(share.bytes, share.number) {
            self.names.push(table.gene(&line, samples, &mut self.values)?);
            self.numbers.push(line.number);
        }
        Ok(())
    }
}
