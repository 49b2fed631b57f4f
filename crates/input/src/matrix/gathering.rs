//! Assembly of a matrix from blocks of its lines, on all threads.

use std::hash::{BuildHasher, RandomState};
use std::thread;

use cuesta_core::{Error, Result};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::room::Room;
use super::summaries::is_summary;
use super::table::{Table, TableLines, TableRow, form_error, shown, split_at_line};
use super::{ExpressionMatrix, OPERATION, Options, join};
use crate::edges::kind_of_pairs;
use crate::table::matrix::{MatrixForm, MatrixKind, recognise};
use crate::table::{TableLine, TableParams};

/// Bytes of a gene in a list of names, and the number of its line.
const GENE_BYTES: u64 = (size_of::<String>() + size_of::<usize>()) as u64;
/// Bytes of the memory of a short name.
const NAME_BYTES: u64 = 32;
/// Bytes of a sample while the header is read: its field, its name and the memory of the name.
const SAMPLE_BYTES: u64 = 16 + 24 + 32;
/// Bytes of a field of a line that is recognised, at most, for each byte of the line.
const FIELD_BYTES: u64 = 2;
/// Bytes of a gene in the table that detects duplicate names: a number and a mark, and room to
/// grow.
const UNIQUE_BYTES: u64 = 24;
/// Size from which growing does not copy values: the system remaps their pages.
const MAPPED_BYTES: u64 = 64 << 20;
/// Divisor of the size of the values by which their memory grows at least.
const GROWTH_PARTS: usize = 8;

/// A matrix under construction, whose first lines were read.
pub struct Gathering<'a> {
    table: Table<'a>,
    room: &'a Room<'a>,
    matrix: ExpressionMatrix,
    /// The number of the line of each gene.
    numbers: Vec<usize>,
    /// Number of lines so far.
    number: usize,
    begins_at: usize,
    /// Whether rows are samples.
    is_turned: bool,
    /// Whether the mark at the end of a table was read.
    has_ended: bool,
    parts: Vec<Part>,
}

/// Genes that a thread parsed.
#[derive(Default)]
struct Part {
    names: Vec<String>,
    numbers: Vec<usize>,
    values: Vec<f64>,
    has_ended: bool,
    /// Line of a row after the end of the table.
    row_behind: Option<usize>,
}

/// Lines that a thread parses.
struct Share<'t> {
    bytes: &'t [u8],
    /// Number of lines before.
    number: usize,
    genes: usize,
}

impl<'a> Gathering<'a> {
    /// Begins with the first lines of a text, at least two non-empty ones if the text has them.
    ///
    /// # Errors
    /// `Input`.
    pub fn begin(options: &'a Options, room: &'a Room<'a>, bytes: &[u8]) -> Result<Self> {
        let name = room.name();
        // Fields of two lines while they are recognised; names of samples from then on.
        let fields = bytes.split(|&byte| byte == b'\n').take(2).map(|line| line.len() as u64);
        let meanwhile = FIELD_BYTES * fields.sum::<u64>();
        room.take(meanwhile)?;
        if options.table == TableParams::default()
            && let Some(kind) = kind_of_pairs(bytes)
        {
            let text = format!(
                "{name} is {kind}, which holds gene pairs and no expression; give it to scan, \
                 join, degrees or communities, and a matrix of genes and samples here"
            );
            return Err(Error::input(OPERATION, text));
        }
        let form = recognise(bytes, &options.table, &options.missing)
            .map_err(|error| form_error(name, &error))?;
        room.release(meanwhile);
        let sizes = form.samples.iter().map(|name| SAMPLE_BYTES + name.len() as u64);
        room.take(sizes.sum())?;
        let (begins_at, number) = form.begins_at;
        let samples = form.samples.clone();
        let matrix = ExpressionMatrix { samples, ..ExpressionMatrix::default() };
        let parts = (0..options.threads.max(1)).map(|_| Part::default()).collect();
        let (table, is_turned) = (Table::new(name, form), options.transpose);
        let numbers = Vec::new();
        let has_ended = false;
        Ok(Self { table, room, matrix, numbers, number, begins_at, is_turned, has_ended, parts })
    }

    /// Rows so far, except counts of reads that are in no gene.
    pub fn rows(&self) -> u64 {
        let genes = self.matrix.genes.iter();
        genes.filter(|name| self.is_turned || !is_summary(name)).count() as u64
    }

    /// Layout of the text.
    pub fn form(&self) -> &MatrixForm {
        &self.table.form
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
            let first = part.numbers.first().copied().filter(|_| self.has_ended);
            if let Some(number) = part.row_behind.or(first) {
                let line = TableLine { number, text: &[] };
                return Err(self.table.error(&line, "is behind the end of the table"));
            }
            self.has_ended |= part.has_ended;
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
        self.check_complete()?;
        if !self.is_turned {
            self.leave_out_summaries();
        }
        self.matrix.values.shrink_to_fit();
        if self.is_turned {
            let size_bytes = 8 * self.matrix.values.len() as u64;
            self.room.take(size_bytes)?;
            self.matrix.turn();
            self.room.release(size_bytes);
            self.numbers = vec![self.table.form.begins_at.1; self.matrix.genes.len()];
            self.leave_out_summaries();
        }
        if self.matrix.genes.is_empty() {
            let what = "has no gene, only counts of reads that are in none; give a line a gene";
            return Err(Error::input(OPERATION, format!("{} {what}", self.table.name)));
        }
        self.room.take(self.matrix.genes.len() as u64 * UNIQUE_BYTES)?;
        self.check_unique()?;
        Ok(self.matrix)
    }

    /// Removes counts of reads that are in no gene.
    fn leave_out_summaries(&mut self) {
        let ExpressionMatrix { genes, samples, values, left_out } = &mut self.matrix;
        let count = samples.len();
        let mut retained = 0;
        for gene in 0..genes.len() {
            if is_summary(&genes[gene]) {
                continue;
            }
            if retained < gene {
                values.copy_within(gene * count..(gene + 1) * count, retained * count);
                genes.swap(retained, gene);
                self.numbers.swap(retained, gene);
            }
            retained += 1;
        }
        *left_out = (genes.len() - retained) as u64;
        genes.truncate(retained);
        self.numbers.truncate(retained);
        values.truncate(retained * count);
    }

    /// Refuses a file that has no gene, or fewer lines than it says.
    fn check_complete(&self) -> Result<()> {
        let (form, rows) = (&self.table.form, self.matrix.genes.len() as u64);
        let refuse =
            |what: String| Err(Error::input(OPERATION, format!("{} {what}", self.table.name)));
        match form.rows {
            Some(claimed) if claimed != rows => refuse(format!(
                "has {rows} rows, its second line says {claimed}; obtain the file again"
            )),
            _ if form.kind == MatrixKind::Series && !self.has_ended => refuse(
                "has no !series_matrix_table_end, so it was cut short; obtain the file again"
                    .to_owned(),
            ),
            _ if rows == 0 => refuse("has no gene, expected a line a gene".to_owned()),
            _ => Ok(()),
        }
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
                    let text = match self.is_turned {
                        true => format!("names two genes {name}; make their names different"),
                        false => format!(
                            "names gene {name}, which line {before} has already; leave one of the \
                             lines out, add them up, or make the names different"
                        ),
                    };
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
        (self.has_ended, self.row_behind) = (false, None);
        for line in TableLines::new(share.bytes, share.number) {
            match table.line(&line, &mut self.values)? {
                TableRow::Row(name) => {
                    if self.has_ended {
                        self.row_behind = self.row_behind.or(Some(line.number));
                    }
                    self.names.push(name);
                    self.numbers.push(line.number);
                }
                TableRow::Blank => {}
                TableRow::End => self.has_ended = true,
            }
        }
        Ok(())
    }
}
