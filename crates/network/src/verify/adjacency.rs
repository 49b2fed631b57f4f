//! Edges of a network, stored for methods that read them many times.

use std::ops::Range;

use cuesta_core::Result;
use cuesta_core::job::Context;
use cuesta_input::row::Row;

use super::levels::NetworkArrays;
use super::rows::RowScan;
use super::store::{PartitionOptions, RecordStore};

/// Edges, in memory if they fit, else on disk; genes from 0.
pub struct EdgeStore<'a> {
    store: RecordStore<'a, 8>,
    last_gene: u32,
}

/// Neighbours of consecutive genes, with an entry for each end of an edge.
pub struct NeighbourLists {
    /// Range of the genes.
    pub genes: Range<usize>,
    /// Starts of the lists: `list[starts[i]..starts[i + 1]]` belong to gene `genes.start + i`.
    pub starts: Vec<usize>,
    /// Neighbours of all genes.
    pub list: Vec<u32>,
}

impl<'a> EdgeStore<'a> {
    /// Reads the edges; they may take a third of the memory.
    ///
    /// # Errors
    /// `Input` for an input that cannot be read; `System`; `Cancelled`.
    pub fn read(context: &Context<'a>, rows: &RowScan<'_>) -> Result<Self> {
        let record = |row: &Row<'_>| {
            let edge = u64::from(row.gene1 - 1) << 32 | u64::from(row.gene2 - 1);
            edge.to_le_bytes()
        };
        let (store, last_gene) = stored(context, rows, record)?;
        Ok(Self { store, last_gene })
    }

    /// Returns the largest gene of an edge, from 1; 0 without edges.
    pub fn last_gene(&self) -> u32 {
        self.last_gene
    }

    /// Returns the degree of each of `genes` genes.
    ///
    /// # Errors
    /// `System`.
    pub fn degrees(&self, genes: usize) -> Result<Vec<usize>> {
        let mut degrees = vec![0; genes];
        self.each(|gene, _| degrees[gene] += 1)?;
        Ok(degrees)
    }

    /// Returns the neighbours of a range of genes.
    ///
    /// # Errors
    /// `System`.
    pub fn neighbours(&self, degrees: &[usize], genes: Range<usize>) -> Result<NeighbourLists> {
        let mut starts = Vec::with_capacity(genes.len() + 1);
        let mut sum = 0;
        for &degree in &degrees[genes.clone()] {
            starts.push(sum);
            sum += degree;
        }
        let mut list = vec![0; sum];
        self.each(|gene, neighbour| {
            if genes.contains(&gene) {
                let next = &mut starts[gene - genes.start];
                list[*next] = neighbour as u32;
                *next += 1;
            }
        })?;
        // Each start has moved to the start of the next gene.
        starts.insert(0, 0);
        Ok(NeighbourLists { genes, starts, list })
    }

    /// Cuts the genes into ranges whose neighbours take at most `buffer_bytes`, or single genes.
    pub fn ranges(degrees: &[usize], buffer_bytes: u64) -> Vec<Range<usize>> {
        let entries_max = (buffer_bytes / size_of::<u32>() as u64) as usize;
        let (mut ranges, mut start, mut sum) = (Vec::new(), 0, 0);
        for (gene, &degree) in degrees.iter().enumerate() {
            if sum + degree > entries_max && gene > start {
                ranges.push(start..gene);
                (start, sum) = (gene, 0);
            }
            sum += degree;
        }
        ranges.push(start..degrees.len());
        ranges
    }

    /// Calls `take(gene, neighbour)` for both ends of each edge.
    fn each(&self, mut take: impl FnMut(usize, usize)) -> Result<()> {
        self.store.each(0, |record| {
            let edge = u64::from_le_bytes(*record);
            let (gene1, gene2) = ((edge >> 32) as usize, edge as u32 as usize);
            take(gene1, gene2);
            take(gene2, gene1);
        })
    }
}

/// Stores a record of each row, and returns the largest gene too, from 1; 0 without rows. Records
/// may take a third of the memory.
///
/// # Errors
/// `Input` for an input that cannot be read; `System`; `Cancelled`.
fn stored<'a, const N: usize>(
    context: &Context<'a>,
    rows: &RowScan<'_>,
    record: impl Fn(&Row<'_>) -> [u8; N] + Sync,
) -> Result<(RecordStore<'a, N>, u32)> {
    let options = PartitionOptions {
        budget: context.budget,
        memory_bytes: context.budget.limit_bytes() / 3,
        scratch: &context.request.scratch,
        threads: context.request.threads,
    };
    let store = RecordStore::new(options, 1);
    let make = || (store.sink(), 0, Ok(()));
    let states = rows.each(make, |(sink, last, stored), written| {
        *last = written.row.gene1.max(*last);
        if stored.is_ok() {
            *stored = store.add(sink, 0, record(&written.row));
        }
        Ok(())
    })?;
    let mut last_gene = 0;
    for (mut sink, last, stored) in states {
        stored?;
        store.finish(&mut sink)?;
        last_gene = last_gene.max(last);
    }
    Ok((store, last_gene))
}

/// Edges with weights, in memory if they fit, else on disk; genes from 0.
pub struct WeightedStore<'a> {
    store: RecordStore<'a, 12>,
    last_gene: u32,
}

impl<'a> WeightedStore<'a> {
    /// Reads the edges, with the weight of their score; they may take a third of the memory.
    ///
    /// # Errors
    /// `Input` for an input that cannot be read; `System`; `Cancelled`.
    pub fn read(
        context: &Context<'a>,
        rows: &RowScan<'_>,
        weight: impl Fn(i32) -> u32 + Sync,
    ) -> Result<Self> {
        let record = |row: &Row<'_>| {
            let mut record = [0; 12];
            let numbers = [row.gene1 - 1, row.gene2 - 1, weight(rows.wanted.score(row))];
            for (bytes, number) in record.as_chunks_mut().0.iter_mut().zip(numbers) {
                *bytes = number.to_le_bytes();
            }
            record
        };
        let (store, last_gene) = stored(context, rows, record)?;
        Ok(Self { store, last_gene })
    }

    /// Returns the largest gene of an edge, from 1; 0 without edges.
    pub fn last_gene(&self) -> u32 {
        self.last_gene
    }

    /// Returns the network of `genes` genes, neighbours ascending and once, without weights of 0,
    /// its masses the degrees; and whether each gene has an edge, of any weight.
    ///
    /// # Errors
    /// `System`.
    pub fn network(&self, genes: usize) -> Result<(NetworkArrays, Vec<bool>)> {
        let mut places = vec![0usize; genes + 1];
        self.each(|gene, _| places[gene + 1] += 1)?;
        let touched = places[1..].iter().map(|&edges| edges > 0).collect();
        for gene in 0..genes {
            places[gene + 1] += places[gene];
        }
        let mut ends = vec![(0u32, 0u32); places[genes]];
        let mut next = places.clone();
        self.each(|gene, end| {
            ends[next[gene]] = end;
            next[gene] += 1;
        })?;
        let mut arrays = NetworkArrays { starts: vec![0], ..NetworkArrays::default() };
        for gene in 0..genes {
            let row = &mut ends[places[gene]..places[gene + 1]];
            row.sort_unstable_by_key(|end| end.0);
            let mut degree = 0;
            for &(neighbour, weight) in row.iter().filter(|end| end.1 > 0) {
                let weight = u64::from(weight);
                degree += weight;
                let start = arrays.starts[gene];
                match arrays.near[start..].last() {
                    Some(&last) if last == neighbour => {
                        *arrays.weights.last_mut().unwrap_or(&mut 0) += weight;
                    }
                    _ => {
                        arrays.near.push(neighbour);
                        arrays.weights.push(weight);
                    }
                }
            }
            arrays.starts.push(arrays.near.len());
            arrays.masses.push(degree);
        }
        Ok((arrays, touched))
    }

    /// Calls `take(gene, (neighbour, weight))` for both ends of each edge.
    fn each(&self, mut take: impl FnMut(usize, (u32, u32))) -> Result<()> {
        self.store.each(0, |record| {
            let mut numbers = [0; 3];
            for (number, bytes) in numbers.iter_mut().zip(record.as_chunks().0) {
                *number = u32::from_le_bytes(*bytes);
            }
            let [gene1, gene2, weight] = numbers;
            take(gene1 as usize, (gene2, weight));
            take(gene2 as usize, (gene1, weight));
        })
    }
}

impl NeighbourLists {
    /// Returns the neighbours of a gene.
    #[inline(always)]
    pub fn of(&self, gene: usize) -> &[u32] {
        let place = gene - self.genes.start;
        &self.list[self.starts[place]..self.starts[place + 1]]
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use cuesta_core::budget::Budget;

    /// Stores the edges of a list.
    pub fn edges_of<'a>(list: &[(u32, u32)], options: PartitionOptions<'a>) -> EdgeStore<'a> {
        let store = RecordStore::new(options, 1);
        let mut sink = store.sink();
        for &(a, b) in list {
            let edge = u64::from(a) << 32 | u64::from(b);
            store.add(&mut sink, 0, edge.to_le_bytes()).unwrap();
        }
        store.finish(&mut sink).unwrap();
        let last_gene = list.iter().map(|edge| edge.0.max(edge.1) + 1).max().unwrap_or(0);
        EdgeStore { store, last_gene }
    }

    #[test]
    fn both_ends_of_all_edges_are_stored_once_in_any_ranges() {
        let list = [(3, 1), (3, 1), (2, 0), (4, 3), (4, 0)];
        for memory_bytes in [0, 1 << 20] {
            let folder = tempfile::tempdir().unwrap();
            let budget = Budget::new(memory_bytes);
            let options = PartitionOptions {
                budget: &budget,
                memory_bytes,
                scratch: folder.path(),
                threads: 1,
            };
            let edges = edges_of(&list, options);
            let degrees = edges.degrees(6).unwrap();
            assert_eq!(degrees, [2, 2, 1, 3, 2, 0]);
            for room_bytes in [0, 16, 1000] {
                let ranges = EdgeStore::ranges(&degrees, room_bytes);
                let mut neighbours = vec![Vec::new(); 6];
                for genes in ranges {
                    let near = edges.neighbours(&degrees, genes.clone()).unwrap();
                    genes.for_each(|gene| neighbours[gene] = near.of(gene).to_vec());
                }
                neighbours.iter_mut().for_each(|list| list.sort());
                let expected: [&[u32]; 6] = [&[2, 4], &[3, 3], &[0], &[1, 1, 4], &[0, 3], &[]];
                assert_eq!(neighbours, expected);
            }
        }
    }
}
