//! Synthetic expression matrices: modules of genes that follow a common factor, and missing values.

use std::path::PathBuf;

use cuesta_core::fixed::{self, Micro};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_core::{Error, Result};
use serde::Deserialize;

use crate::limits::{GENES_MAX, SAMPLES_MAX};
use crate::matrix::ExpressionMatrix;
use cuesta_runtime::ordered::OrderedFile;
use cuesta_runtime::parallel;

/// Genes of one task.
const TASK_GENES: usize = 64;

/// Parameters of the generated matrix.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The file to write.
    pub output: PathBuf,
    /// Genes, at least 2.
    pub genes: u32,
    /// Samples, at least 1.
    pub samples: usize,
    /// Modules; half of the genes belong to one, drawn at random. The correlation of two genes of a
    /// module is 0.64 to 1, or its negative, spread about evenly.
    #[serde(default = "default_modules")]
    pub modules: u32,
    /// Fraction of values that are missing, 0 to below 1.
    #[serde(default)]
    pub missing: f64,
    /// Seed of everything random.
    #[serde(default)]
    pub seed: u64,
    /// Threads.
    #[serde(default = "single_thread")]
    pub threads: usize,
}

fn default_modules() -> u32 {
    20
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
        let refuse = |text: String| Err(Error::input("data make matrix", text));
        if !(2..=GENES_MAX).contains(&self.genes) {
            return refuse(format!("--genes is {}, give 2 to {GENES_MAX}", self.genes));
        }
        if !(1..=SAMPLES_MAX).contains(&self.samples) {
            return refuse(format!("--samples is {}, give 1 to {SAMPLES_MAX}", self.samples));
        }
        if !(0.0..1.0).contains(&self.missing) {
            return refuse(format!("--missing is {}, give 0 to below 1", self.missing));
        }
        Ok(())
    }
}

/// Writes the text: a header of sample names, one field shorter than the lines of genes, and a line
/// a gene with six decimals a value. Returns genes and bytes.
///
/// # Errors
/// `Input` for bad parameters; `System`; `Cancelled`.
pub fn write(params: &Params, progress: &Progress) -> Result<(u64, u64)> {
    params.check()?;
    let maker = Maker::new(params);
    let genes = params.genes as usize;
    let tasks = genes.div_ceil(TASK_GENES);
    let out = OrderedFile::create(&params.output)?;
    progress.expect(u64::from(params.genes));
    let work = |text: &mut Vec<u8>, task: usize| {
        let first = task * TASK_GENES;
        let last = genes.min(first + TASK_GENES);
        if task == 0 {
            text.extend_from_slice(sample_names(params.samples).join("\t").as_bytes());
            text.push(b'\n');
        }
        (first..last).for_each(|gene| maker.append_line(gene, text));
        out.finish_task(task, text)?;
        progress.advance((last - first) as u64)
    };
    parallel::run(params.threads, tasks, Vec::new, work, |task| out.fail(task))?;
    Ok((u64::from(params.genes), out.close()?))
}

/// The matrix that [`write()`] writes.
///
/// # Errors
/// `Input` for bad parameters.
pub fn matrix(params: &Params) -> Result<ExpressionMatrix> {
    params.check()?;
    let maker = Maker::new(params);
    let genes = params.genes as usize;
    // A quotient of integers is the double nearest to the decimal that is written.
    let value = |micro| if micro == fixed::NAN { f64::NAN } else { f64::from(micro) / 1e6 };
    Ok(ExpressionMatrix {
        genes: (0..genes).map(gene_name).collect(),
        samples: sample_names(params.samples),
        values: (0..genes).flat_map(|gene| maker.values(gene)).map(value).collect(),
        left_out: 0,
    })
}

fn gene_name(gene: usize) -> String {
    format!("gene{}", gene + 1)
}

fn sample_names(samples: usize) -> Vec<String> {
    (1..=samples).map(|sample| format!("sample{sample}")).collect()
}

struct Maker {
    samples: usize,
    modules: u64,
    missing: f64,
    shape: Stream,
    factor: Stream,
    noise: Stream,
    gap: Stream,
}

impl Maker {
    fn new(params: &Params) -> Self {
        Self {
            samples: params.samples,
            modules: u64::from(params.modules),
            missing: params.missing,
            shape: Stream::new(params.seed, 1),
            factor: Stream::new(params.seed, 2),
            noise: Stream::new(params.seed, 3),
            gap: Stream::new(params.seed, 4),
        }
    }

    /// The values of a gene in millionths, `NAN` where missing.
    fn values(&self, gene: usize) -> impl Iterator<Item = Micro> + '_ {
        let (gene, samples) = (gene as u64, self.samples as u64);
        let draw = |number: u64| self.shape.uniform(8 * gene + number);
        let in_module = self.modules > 0 && draw(0) < 0.5;
        let module = self.shape.below(8 * gene + 1, self.modules.max(1));
        let level = 4.0 + 8.0 * draw(2);
        let spread = 0.3 + draw(3);
        let sign = if draw(4) < 0.5 { -1.0 } else { 1.0 };
        let load = if in_module { 0.8 + 0.2 * draw(5) } else { 0.0 };
        let rest = (1.0 - load * load).sqrt();
        (0..samples).map(move |sample| {
            let index = gene * samples + sample;
            if self.missing > 0.0 && self.gap.uniform(index) < self.missing {
                return fixed::NAN;
            }
            let common = self.factor.normal(module * samples + sample);
            let score = sign * load * common + rest * self.noise.normal(index);
            // At most 12 + 1.3 x 12: it always fits.
            fixed::from_f64(level + spread * score).unwrap_or(fixed::NAN)
        })
    }

    fn append_line(&self, gene: usize, text: &mut Vec<u8>) {
        text.extend_from_slice(gene_name(gene).as_bytes());
        for micro in self.values(gene) {
            text.push(b'\t');
            match micro {
                fixed::NAN => text.extend_from_slice(b"NA"),
                value => fixed::append_text(value, text),
            }
        }
        text.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Options, read};

    fn params(folder: &std::path::Path, threads: usize) -> Params {
        let output = folder.join(format!("{threads}.txt"));
        Params { output, genes: 150, samples: 30, modules: 3, missing: 0.1, seed: 7, threads }
    }

    #[test]
    fn the_text_holds_the_matrix_whatever_the_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        for threads in [1, 3] {
            let params = params(folder.path(), threads);
            let (genes, bytes) = write(&params, &Progress::default()).unwrap();
            assert_eq!((genes, bytes), (150, std::fs::metadata(&params.output).unwrap().len()));
            let (text, memory) =
                (read(&params.output, &Options::default()).unwrap(), matrix(&params).unwrap());
            assert_eq!((&text.genes, &text.samples), (&memory.genes, &memory.samples));
            let bits = |matrix: &ExpressionMatrix| -> Vec<u64> {
                matrix.values.iter().map(|value| value.to_bits()).collect()
            };
            assert_eq!(bits(&text), bits(&memory));
        }
    }

    #[test]
    fn missing_values_are_as_frequent_as_requested() {
        let matrix = matrix(&params(std::path::Path::new("."), 1)).unwrap();
        let missing = matrix.values.iter().filter(|value| value.is_nan()).count();
        assert!((350..550).contains(&missing), "{missing} of 4500");
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let good = params(std::path::Path::new("."), 1);
        for (bad, expected) in [
            (Params { genes: 1, ..good.clone() }, "--genes is 1"),
            (Params { samples: 0, ..good.clone() }, "--samples is 0"),
            (Params { missing: 1.0, ..good.clone() }, "--missing is 1"),
        ] {
            let error = matrix(&bad).unwrap_err();
            assert!(error.message().contains(expected), "{}", error.message());
        }
    }
}
