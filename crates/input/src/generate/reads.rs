//! Synthetic reads of a synthetic genome, as FASTQ: what a sequencing machine with a known error
//! rate makes of chance, with repeats if asked.

use std::io::{self, Write};
use std::path::PathBuf;

use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_core::{Error, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Deserialize;

use cuesta_runtime::ordered::OrderedFile;
use cuesta_runtime::parallel;

/// Reads, or pairs of them, of one task.
const TASK_READS: u64 = 4096;
/// Bases of the genome that are written by one task.
const TASK_BASES: u64 = 1 << 20;
/// Most bases of the genome.
pub const BASES_MAX: u64 = 1 << 40;
/// Most bases of a read.
pub const READ_MAX: u64 = 10_000;
/// Bases of a repeat.
const REPEAT_BASES: u64 = 1000;
/// Repeats that differ.
const FAMILIES: u64 = 16;
/// Bases of a line of FASTA.
const LINE_BASES: u64 = 80;
/// The standard deviation of the length of a fragment, in parts of its mean.
const SPREAD: f64 = 0.1;
const LETTERS: &[u8; 4] = b"ACGT";

/// Parameters of the generated reads.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The FASTQ file to write; gzipped where its name ends in `.gz`, a member for each
    /// [`TASK_READS`], so that any of them can be unpacked alone.
    pub output: PathBuf,
    /// Bases of the genome, which is one linear sequence.
    pub bases: u64,
    /// Bases of all reads over those of the genome.
    #[serde(default = "default_coverage")]
    pub coverage: f64,
    /// Bases of a read, 1 to [`READ_MAX`].
    #[serde(default = "default_length")]
    pub length: u64,
    /// Chance that a base of a read is another than that of the genome.
    #[serde(default = "default_errors")]
    pub errors: f64,
    /// Part of the genome that is copies of one of a few repeats of 1,000 bases.
    #[serde(default)]
    pub repeats: f64,
    /// Mean bases of a fragment, of which both ends are read, one after the other; 0 for single
    /// reads.
    #[serde(default)]
    pub fragment: u64,
    /// Path where the genome is written as FASTA, too.
    #[serde(default)]
    pub reference: Option<PathBuf>,
    /// Seed of everything random.
    #[serde(default)]
    pub seed: u64,
    /// Threads.
    #[serde(default = "single_thread")]
    pub threads: usize,
}

fn default_coverage() -> f64 {
    30.0
}

fn default_length() -> u64 {
    100
}

fn default_errors() -> f64 {
    0.005
}

fn single_thread() -> usize {
    1
}

impl Params {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<()> {
        let refuse = |text: String| Err(Error::input("data make reads", text));
        if !(1..=READ_MAX).contains(&self.length) {
            return refuse(format!("--length is {}, give 1 to {READ_MAX}", self.length));
        }
        if !(self.length..=BASES_MAX).contains(&self.bases) {
            let least = self.length;
            return refuse(format!("--bases is {}, give {least} (a read) to 2^40", self.bases));
        }
        if !(0.0..=1e6).contains(&self.coverage) {
            return refuse(format!("--coverage is {}, give 0 to 1000000", self.coverage));
        }
        for (option, part) in [("--errors", self.errors), ("--repeats", self.repeats)] {
            if !(0.0..=1.0).contains(&part) {
                return refuse(format!("{option} is {part}, give 0 to 1"));
            }
        }
        if self.fragment > 0 && !(self.length..=self.bases).contains(&self.fragment) {
            return refuse(format!(
                "--fragment is {}, give {} (a read) to {} (the genome), or 0 for single reads",
                self.fragment, self.length, self.bases
            ));
        }
        Ok(())
    }

    /// Number of reads of a fragment.
    fn reads_per_fragment(&self) -> u64 {
        if self.fragment > 0 { 2 } else { 1 }
    }

    /// Number of fragments, or of single reads.
    fn fragments(&self) -> u64 {
        let bases = self.bases as f64 * self.coverage;
        (bases / (self.length * self.reads_per_fragment()) as f64).round() as u64
    }
}

/// Bases of the genome and what is drawn of it, each from a stream of its own.
struct Genome<'a> {
    params: &'a Params,
    plain: Stream,
    families: Stream,
    blocks: Stream,
    places: Stream,
    errors: Stream,
}

impl<'a> Genome<'a> {
    fn new(params: &'a Params) -> Self {
        let stream = |number| Stream::new(params.seed, number);
        Self {
            params,
            plain: stream(1),
            families: stream(2),
            blocks: stream(3),
            places: stream(4),
            errors: stream(5),
        }
    }

    /// The base at a place: 0 to 3 for A, C, G, T.
    fn base(&self, place: u64) -> u8 {
        let block = place / REPEAT_BASES;
        let is_copy =
            self.params.repeats > 0.0 && self.blocks.uniform(2 * block) < self.params.repeats;
        let (stream, index) = if is_copy {
            let family = self.blocks.below(2 * block + 1, FAMILIES);
            (&self.families, family * REPEAT_BASES + place % REPEAT_BASES)
        } else {
            (&self.plain, place)
        };
        (stream.bits(index / 32) >> (2 * (index % 32))) as u8 & 3
    }

    /// First base and bases of a fragment, and whether it is read from the other strand.
    fn fragment(&self, number: u64) -> (u64, u64, bool) {
        let params = self.params;
        let mean = params.fragment as f64;
        let bases = match params.fragment {
            0 => params.length,
            // Numbers of a normal take three places each.
            _ => ((mean * (1.0 + SPREAD * self.errors.normal(u64::MAX / 4 - number))) as u64)
                .clamp(params.length, params.bases),
        };
        let first = self.places.below(2 * number, params.bases - bases + 1);
        (first, bases, self.places.bits(2 * number + 1) & 1 == 1)
    }

    /// Appends the reads of a fragment.
    fn append(&self, number: u64, bytes: &mut Vec<u8>) {
        let length = self.params.length;
        let (first, bases, is_other) = self.fragment(number);
        for mate in 0..self.params.reads_per_fragment() {
            let from_end = is_other != (mate == 1);
            bytes.push(b'@');
            bytes.extend_from_slice(format!("read{number}").as_bytes());
            if self.params.reads_per_fragment() == 2 {
                bytes.extend_from_slice(if mate == 0 { b"/1" } else { b"/2" });
            }
            bytes.push(b'\n');
            let read = number * self.params.reads_per_fragment() + mate;
            for at in 0..length {
                let true_base = match from_end {
                    true => 3 - self.base(first + bases - 1 - at),
                    false => self.base(first + at),
                };
                let index = read * length + at;
                let is_wrong = self.errors.uniform(2 * index) < self.params.errors;
                let shift =
                    if is_wrong { 1 + self.errors.below(2 * index + 1, 3) as u8 } else { 0 };
                bytes.push(LETTERS[usize::from((true_base + shift) & 3)]);
            }
            bytes.extend_from_slice(b"\n+\n");
            bytes.resize(bytes.len() + length as usize, b'I');
            bytes.push(b'\n');
        }
    }
}

/// Writes the file, and the genome if that is asked for. Returns reads and bytes.
///
/// # Errors
/// `Input` for bad parameters; `System`; `Cancelled`.
pub fn write(params: &Params, progress: &Progress) -> Result<(u64, u64)> {
    params.check()?;
    let genome = Genome::new(params);
    let fragments = params.fragments();
    let reads = fragments * params.reads_per_fragment();
    progress.expect(reads);
    if let Some(reference) = &params.reference {
        write_genome(&genome, reference)?;
    }
    let out = OrderedFile::create(&params.output)?;
    let is_gzipped = params.output.extension().is_some_and(|extension| extension == "gz");
    let work = |(bytes, member): &mut (Vec<u8>, Vec<u8>), task: usize| {
        let first = task as u64 * TASK_READS;
        let last = fragments.min(first + TASK_READS);
        (first..last).for_each(|number| genome.append(number, bytes));
        if is_gzipped {
            gzip(bytes, member).map_err(|cause| Error::defect("data make reads", cause))?;
            bytes.clear();
        }
        out.finish_task(task, if is_gzipped { member } else { bytes })?;
        progress.advance((last - first) * params.reads_per_fragment())
    };
    let tasks = fragments.div_ceil(TASK_READS) as usize;
    parallel::run(params.threads, tasks, Default::default, work, |task| out.fail(task))?;
    Ok((reads, out.close()?))
}

/// Appends some bytes as a member of a gzipped file.
fn gzip(bytes: &[u8], member: &mut Vec<u8>) -> io::Result<()> {
    let mut encoder = GzEncoder::new(member, Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish().map(drop)
}

/// Writes the genome as FASTA.
fn write_genome(genome: &Genome<'_>, path: &std::path::Path) -> Result<()> {
    let params = genome.params;
    let out = OrderedFile::create(path)?;
    let work = |bytes: &mut Vec<u8>, task: usize| {
        if task == 0 {
            bytes.extend_from_slice(b">genome\n");
        }
        let first = task as u64 * TASK_BASES;
        for place in first..params.bases.min(first + TASK_BASES) {
            bytes.push(LETTERS[usize::from(genome.base(place))]);
            if (place + 1) % LINE_BASES == 0 || place + 1 == params.bases {
                bytes.push(b'\n');
            }
        }
        out.finish_task(task, bytes)
    };
    let tasks = params.bases.div_ceil(TASK_BASES) as usize;
    parallel::run(params.threads, tasks, Vec::new, work, |task| out.fail(task))?;
    out.close().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::{GzDecoder, MultiGzDecoder};
    use std::io::Read;

    fn made(options: &str, threads: usize) -> (Params, Vec<u8>, String) {
        let folder = tempfile::tempdir().unwrap();
        let (output, reference) = (folder.path().join("x.fq"), folder.path().join("x.fa"));
        let places = format!(r#""output": {output:?}, "reference": {reference:?}"#);
        let text = format!(r#"{{{places}, "threads": {threads}, {options}}}"#);
        let params: Params = serde_json::from_str(&text).unwrap();
        let (_, bytes) = write(&params, &Progress::default()).unwrap();
        let content = std::fs::read(&output).unwrap();
        assert_eq!(bytes, content.len() as u64);
        let genome = std::fs::read_to_string(&reference).unwrap();
        (params, content, genome.lines().skip(1).collect())
    }

    fn other_strand(bases: &str) -> String {
        let pair = |base| match base {
            'A' => 'T',
            'C' => 'G',
            'G' => 'C',
            _ => 'A',
        };
        bases.chars().rev().map(pair).collect()
    }

    #[test]
    fn the_same_seed_makes_the_same_reads_for_any_threads() {
        let options = r#""bases": 30000, "coverage": 40, "fragment": 300, "seed": 1"#;
        let (_, one, genome) = made(options, 1);
        let (_, three, _) = made(options, 3);
        assert_eq!(genome.len(), 30_000);
        assert!(one == three);
        assert!(one != made(&options.replace("\"seed\": 1", "\"seed\": 2"), 1).1);
    }

    #[test]
    fn gzipped_reads_are_the_same_in_many_members_for_any_threads() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, threads: usize| {
            let output = folder.path().join(name);
            let text = format!(r#"{{"output": {output:?}, "bases": 50000, "threads": {threads}}}"#);
            let params: Params = serde_json::from_str(&text).unwrap();
            super::write(&params, &Progress::default()).unwrap();
            std::fs::read(&output).unwrap()
        };
        let (plain, one_thread, three_threads) =
            (write("x.fq", 1), write("x.fq.gz", 1), write("y.fq.gz", 3));
        assert!(one_thread == three_threads);
        let mut unpacked = Vec::new();
        MultiGzDecoder::new(&one_thread[..]).read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == plain);
        let mut first = Vec::new();
        GzDecoder::new(&one_thread[..]).read_to_end(&mut first).unwrap();
        assert_eq!(first.iter().filter(|&&byte| byte == b'\n').count() as u64, 4 * TASK_READS);
    }

    #[test]
    fn reads_without_errors_are_parts_of_the_genome_from_both_strands() {
        let (params, content, genome) =
            made(r#""bases": 5000, "coverage": 20, "errors": 0, "fragment": 400"#, 2);
        let other = other_strand(&genome);
        let text = String::from_utf8(content).unwrap();
        let reads: Vec<&str> = text.lines().skip(1).step_by(4).collect();
        assert_eq!(reads.len(), 1000);
        let forward = reads.iter().filter(|read| genome.contains(*read)).count();
        assert!(reads.iter().all(|read| read.len() as u64 == params.length));
        assert!(reads.iter().all(|read| genome.contains(read) || other.contains(read)));
        // Of each pair one read is of this strand and one of the other.
        assert_eq!(forward, 500);
    }

    #[test]
    fn errors_and_repeats_are_as_many_as_requested() {
        let (_, content, genome) = made(r#""bases": 20000, "coverage": 50, "errors": 0.02"#, 2);
        let other = other_strand(&genome);
        let text = String::from_utf8(content).unwrap();
        let reads: Vec<&str> = text.lines().skip(1).step_by(4).collect();
        let clean = reads.iter().filter(|read| genome.contains(*read) || other.contains(*read));
        let part = clean.count() as f64 / reads.len() as f64;
        // 0.98 to the power of 100 is 0.133.
        assert!((part - 0.133).abs() < 0.02, "{part}");
        let (_, _, genome) = made(r#""bases": 400000, "coverage": 1, "repeats": 0.5"#, 2);
        let blocks: Vec<&[u8]> = genome.as_bytes().chunks(1000).collect();
        let mut sorted = blocks.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let copies = blocks.len() + FAMILIES as usize - sorted.len();
        assert!((150..250).contains(&copies), "{copies}");
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        for (text, expected) in [
            (r#"{"output": "x", "bases": 99}"#, "--bases is 99"),
            (r#"{"output": "x", "bases": 1000, "length": 0}"#, "--length is 0"),
            (r#"{"output": "x", "bases": 1000, "coverage": -1}"#, "--coverage is -1"),
            (r#"{"output": "x", "bases": 1000, "errors": 2}"#, "--errors is 2"),
            (r#"{"output": "x", "bases": 1000, "repeats": -0.1}"#, "--repeats is -0.1"),
            (r#"{"output": "x", "bases": 1000, "fragment": 50}"#, "--fragment is 50"),
        ] {
            let params: Params = serde_json::from_str(text).unwrap();
            assert!(params.check().unwrap_err().message().contains(expected), "{text}");
        }
    }
}
