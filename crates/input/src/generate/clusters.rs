//! Synthetic KINC version-1 text: gene pairs with modules, clusters, outliers and missing samples.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use cuesta_core::fixed::Micro;
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_core::{Error, Result};
use serde::Deserialize;

use crate::limits::{CLUSTERS_MAX, GENES_MAX, SAMPLES_MAX};
use crate::row::Row;
use cuesta_runtime::ordered::OrderedFile;
use cuesta_runtime::parallel;

/// Genes of one module: their pairs score higher.
const MODULE_GENES: u64 = 40;
/// Pairs of one task.
const TASK_PAIRS: u64 = 8192;

/// Parameters of the generated gene pairs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The file, or with `tree` the folder, to write.
    pub output: PathBuf,
    /// Genes, at least 2.
    pub genes: u32,
    /// Samples, i.e. symbols of a mask.
    pub samples: usize,
    /// Gene pairs, spread evenly over the triangle; all of them when absent.
    pub pairs: Option<u64>,
    /// Most clusters of a pair.
    #[serde(default = "single_cluster")]
    pub clusters: u32,
    /// Version of the same matrix: 0 is the first; others lack one pair in twenty and have
    /// scores that moved a little.
    #[serde(default)]
    pub variant: u64,
    /// Seed of all random numbers.
    #[serde(default)]
    pub seed: u64,
    /// Write a `clusters-sc/NNN/` tree instead of one file.
    #[serde(default)]
    pub tree: bool,
    /// Threads.
    #[serde(default = "single_thread")]
    pub threads: usize,
}

fn single_cluster() -> u32 {
    1
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
        let refuse = |text: String| Err(Error::input("data make clusters", text));
        if !(2..=GENES_MAX).contains(&self.genes) {
            return refuse(format!("--genes is {}, give 2 to {GENES_MAX}", self.genes));
        }
        if !(1..=SAMPLES_MAX).contains(&self.samples) {
            return refuse(format!("--samples is {}, give 1 to {SAMPLES_MAX}", self.samples));
        }
        if !(1..=CLUSTERS_MAX).contains(&self.clusters) {
            return refuse(format!("--clusters is {}, give 1 to {CLUSTERS_MAX}", self.clusters));
        }
        let all = pairs_of(self.genes);
        match self.pairs {
            Some(pairs) if pairs == 0 || pairs > all => {
                refuse(format!("--pairs is {pairs}, {} genes have 1 to {all}", self.genes))
            }
            _ => Ok(()),
        }
    }
}

/// Pairs of `genes` genes.
pub fn pairs_of(genes: u32) -> u64 {
    u64::from(genes) * u64::from(genes).saturating_sub(1) / 2
}

/// Writes the text; returns rows and bytes.
///
/// # Errors
/// `Input` for bad parameters; `System`.
pub fn write(params: &Params, progress: &Progress) -> Result<(u64, u64)> {
    params.check()?;
    if params.tree { write_tree(params, progress) } else { write_file(params, progress) }
}

fn write_file(params: &Params, progress: &Progress) -> Result<(u64, u64)> {
    let maker = Maker::new(params);
    let out = OrderedFile::create(&params.output)?;
    let tasks = maker.pairs.div_ceil(TASK_PAIRS) as usize;
    progress.expect(maker.pairs);
    let work = |worker: &mut (u64, Vec<u8>), task: usize| {
        let first = task as u64 * TASK_PAIRS;
        let last = (first + TASK_PAIRS).min(maker.pairs);
        for index in first..last {
            worker.0 += maker.append_pair(index, |row| row.append_kinc_v1(&mut worker.1));
        }
        out.finish_task(task, &mut worker.1)?;
        progress.advance(last - first)
    };
    let workers =
        parallel::run(params.threads, tasks, || (0, Vec::new()), work, |task| out.fail(task))?;
    Ok((workers.iter().map(|worker| worker.0).sum(), out.close()?))
}

fn write_tree(params: &Params, progress: &Progress) -> Result<(u64, u64)> {
    let maker = Maker::new(params);
    let mut files: BTreeMap<u32, (PathBuf, BufWriter<File>)> = BTreeMap::new();
    let (mut rows, mut bytes) = (0, 0);
    progress.expect(maker.pairs);
    let mut lines: Vec<(u32, Vec<u8>)> = Vec::new();
    for index in 0..maker.pairs {
        rows += maker.append_pair(index, |row| {
            let mut line = Vec::new();
            row.append_kinc_v1(&mut line);
            lines.push((row.scores[0].unsigned_abs() / 10_000, line));
        });
        for (zone, line) in lines.drain(..) {
            if let std::collections::btree_map::Entry::Vacant(entry) = files.entry(zone) {
                entry.insert(open_zone(&params.output, zone)?);
            }
            if let Some((path, file)) = files.get_mut(&zone) {
                file.write_all(&line).map_err(|cause| written(path, &cause))?;
            }
            bytes += line.len() as u64;
        }
        progress.advance(1)?;
    }
    for (path, file) in files.values_mut() {
        file.write_all(b"#Done\n").map_err(|cause| written(path, &cause))?;
        file.flush().map_err(|cause| written(path, &cause))?;
    }
    Ok((rows, bytes))
}

fn open_zone(root: &Path, zone: u32) -> Result<(PathBuf, BufWriter<File>)> {
    let folder = root.join("clusters-sc").join(format!("{zone:03}"));
    fs::create_dir_all(&folder).map_err(|cause| written(&folder, &cause))?;
    let path = folder.join(format!("synthetic.clusters.{zone:03}.00001.txt"));
    let file = File::create(&path).map_err(|cause| written(&path, &cause))?;
    Ok((path, BufWriter::new(file)))
}

fn written(path: &Path, cause: &std::io::Error) -> Error {
    Error::system("data make clusters", "writing", path, cause)
}

struct Maker {
    pairs: u64,
    all_pairs: u64,
    samples: usize,
    clusters: u64,
    modules: u64,
    variant: u64,
    shape: Stream,
    score: Stream,
    mask: Stream,
    change: Stream,
}

impl Maker {
    fn new(params: &Params) -> Self {
        let all_pairs = pairs_of(params.genes);
        Self {
            pairs: params.pairs.unwrap_or(all_pairs),
            all_pairs,
            samples: params.samples,
            clusters: u64::from(params.clusters),
            modules: (u64::from(params.genes) / MODULE_GENES).max(1),
            variant: params.variant,
            shape: Stream::new(params.seed, 1),
            score: Stream::new(params.seed, 2),
            mask: Stream::new(params.seed, 3),
            change: Stream::new(params.seed, 3 + params.variant),
        }
    }

    /// Gives the rows of pair number `index`; returns how many.
    fn append_pair(&self, index: u64, mut give: impl FnMut(&Row<'_>)) -> u64 {
        let rank = (u128::from(index) * u128::from(self.all_pairs) / u128::from(self.pairs)) as u64;
        if self.variant > 0 && self.change.below(2 * rank, 20) == 0 {
            return 0;
        }
        let (x, y) = pair_of(rank);
        let count = 1 + self.shape.below(rank, self.clusters);
        let mut mask = vec![0u8; self.samples];
        for cluster in 1..=count {
            let tally = self.fill_mask(rank, cluster, count, &mut mask);
            give(&Row {
                gene1: x + 1,
                gene2: y + 1,
                cluster: cluster as u32,
                num_clusters: count as u32,
                cluster_samples: tally[1],
                missing: tally[9],
                outliers: tally[8],
                pair_outliers: tally[7],
                threshold: tally[6],
                scores: &[self.score_of(rank, cluster, x, y)],
                mask: &mask,
            });
        }
        count
    }

    fn score_of(&self, rank: u64, cluster: u64, x: u32, y: u32) -> Micro {
        let place = rank * self.clusters + cluster - 1;
        let normal = self.score.normal(place);
        let module = |gene: u32| u64::from(gene) % self.modules;
        let mean_and_spread = if module(x) == module(y) { (0.6, 0.2) } else { (0.0, 0.22) };
        let mut score = mean_and_spread.0 + mean_and_spread.1 * normal;
        if self.variant > 0 {
            score += 0.02 * self.change.normal(place + (1 << 40));
        }
        (score.clamp(-1.0, 1.0) * 1e6) as Micro
    }

    /// Fills the mask of one cluster; returns how often each symbol occurs.
    fn fill_mask(&self, rank: u64, cluster: u64, count: u64, mask: &mut [u8]) -> [u32; 10] {
        let words = self.samples.div_ceil(8) as u64;
        let mut tally = [0; 10];
        for (word, symbols) in mask.chunks_mut(8).enumerate() {
            let bits = self.mask.bits(rank * words + word as u64).to_le_bytes();
            for (symbol, byte) in symbols.iter_mut().zip(bits) {
                let code = match byte {
                    0..=5 => 9,
                    6..=7 => 8,
                    8..=9 => 7,
                    10 => 6,
                    other => u8::from(u64::from(other) % count + 1 == cluster),
                };
                tally[usize::from(code)] += 1;
                *symbol = b'0' + code;
            }
        }
        tally
    }
}

/// The 0-based genes x > y of a triangular rank x(x-1)/2 + y.
pub fn pair_of(rank: u64) -> (u32, u32) {
    let mut x = ((1.0 + (1.0 + 8.0 * rank as f64).sqrt()) / 2.0) as u64;
    while x * (x - 1) / 2 > rank {
        x -= 1;
    }
    while x * (x + 1) / 2 <= rank {
        x += 1;
    }
    (x as u32, (rank - x * (x - 1) / 2) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinc::{self, line};

    fn params(output: PathBuf) -> Params {
        Params {
            output,
            genes: 200,
            samples: 13,
            pairs: Some(9000),
            clusters: 3,
            variant: 0,
            seed: 42,
            tree: false,
            threads: 1,
        }
    }

    #[test]
    fn any_number_of_threads_makes_the_same_valid_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.txt");
        let mut texts = Vec::new();
        for threads in [1, 3] {
            let params = Params { threads, ..params(path.clone()) };
            let (rows, bytes) = write(&params, &Progress::default()).unwrap();
            let text = fs::read(&path).unwrap();
            assert_eq!(bytes, text.len() as u64);
            assert_eq!(rows as usize, text.iter().filter(|&&byte| byte == b'\n').count());
            texts.push(text);
        }
        assert_eq!(texts[0], texts[1]);
        let mut last = (0, 0, 0);
        for text in texts[0].split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let shape = kinc::shape_of(text).unwrap();
            let parsed = line::parse(text, &shape).unwrap();
            let row = parsed.row();
            assert!(last < (row.gene1, row.gene2, row.cluster));
            last = (row.gene1, row.gene2, row.cluster);
            let ones = row.mask.iter().filter(|&&symbol| symbol == b'1').count();
            assert_eq!(row.cluster_samples as usize, ones);
        }
    }

    #[test]
    fn another_variant_shares_most_pairs_but_not_all() {
        let folder = tempfile::tempdir().unwrap();
        let rows = |variant| {
            let path = folder.path().join("x.txt");
            let params = Params { variant, ..params(path) };
            write(&params, &Progress::default()).unwrap().0
        };
        let (first, second) = (rows(0), rows(1));
        assert!(second < first && second > first * 9 / 10, "{first} {second}");
    }

    #[test]
    fn ranks_and_pairs_correspond() {
        for rank in (0..10_000).chain([1_377_521_315, (1 << 46) - 3]) {
            let (x, y) = pair_of(rank);
            assert!(x > y);
            assert_eq!(u64::from(x) * (u64::from(x) - 1) / 2 + u64::from(y), rank);
        }
    }

    #[test]
    fn more_pairs_than_exist_are_refused() {
        let params = Params { pairs: Some(1_000_000), ..params(PathBuf::from("/nowhere")) };
        let error = write(&params, &Progress::default()).unwrap_err();
        assert!(error.message().contains("--pairs"), "{}", error.message());
    }
}
