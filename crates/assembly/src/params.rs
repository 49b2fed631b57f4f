//! Parameters of `assemble`, with their ranges.

use std::path::PathBuf;

use cuesta_core::{Error, Result};
use serde::Deserialize;

use crate::reads::Pairing;
use crate::supersteps::control::Chains;

/// Shortest k-mer.
pub const K_MIN: usize = 15;
/// Longest k-mer.
pub const K_MAX: usize = 127;
/// First k-mer size that is chosen from the reads, how far later ones are at least apart, and how
/// many steps there are at most.
const K_FIRST: usize = 31;
const K_STEP_MIN: usize = 12;
const K_STEPS_MAX: usize = 4;
/// The last k-mer size chosen leaves so many parts in 100 of a read for counting.
const READ_PART: usize = 82;

/// What is taken for an error in the graph.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Tips, bubbles and weak connections, by relative coverage.
    #[default]
    Default,
    /// Tips shorter than 2 k and bubbles shorter than 5 k.
    Paper,
    /// Nothing: contigs are unitigs.
    None,
}

/// How chains of k-mers become unitigs, and who takes errors out of the graph.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// As the profile has it: `toss` with that of the paper, else `buckets`.
    #[default]
    Auto,
    /// In the buckets of k-mers; one machine joins these and has the graph.
    Buckets,
    /// In the buckets; vertex programs join these by list ranking, and have the graph.
    Ranking,
    /// Vertex programs join k-mers by the coin toss of the paper, and have the graph.
    Toss,
}

impl How {
    /// How a vertex program compresses chains, if one does.
    pub fn program(self, profile: Profile) -> Option<Chains> {
        match self {
            Self::Auto if profile == Profile::Paper => Some(Chains::Toss),
            Self::Auto | Self::Buckets => None,
            Self::Ranking => Some(Chains::Ranking),
            Self::Toss => Some(Chains::Toss),
        }
    }
}

/// Parameters as they come from the command line.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AssembleParams {
    /// Sizes of k-mers, ascending, separated by commas; chosen from the reads where absent.
    pub kmer_sizes: Option<String>,
    /// Count from which on a k-mer is taken for real; from the spectrum where absent.
    pub min_count: Option<u32>,
    /// What is taken for an error.
    pub profile: Profile,
    /// How chains become unitigs.
    pub chains: How,
    /// Leaves out reads with letters that stand for more than one base.
    pub drop_reads_with_n: bool,
    /// Shortest contig that is written, in bases.
    pub min_contig: u64,
    /// The files are mates, two by two.
    pub pairs: bool,
    /// Reads that follow one another are mates, two by two.
    pub interleaved: bool,
    /// The folder in which a run is kept to go on from.
    pub resume: Option<PathBuf>,
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Sizes of k-mers, ascending.
    pub kmer_sizes: Vec<usize>,
    /// As given.
    pub given: AssembleParams,
}

impl AssembleParams {
    /// Which reads are mates.
    pub fn pairing(&self) -> Pairing {
        match (self.pairs, self.interleaved) {
            (true, _) => Pairing::InTwoFiles,
            (false, true) => Pairing::InTurn,
            (false, false) => Pairing::None,
        }
    }

    /// Checks the ranges; `read_bases` is the length of a typical read.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(self, read_bases: usize) -> Result<Plan> {
        if self.min_count == Some(0) {
            return Err(refusal("--min-count is 0, give at least 1"));
        }
        if self.pairs && self.interleaved {
            return Err(refusal(
                "--pairs takes mates in two files, --interleaved in one; give one",
            ));
        }
        let kmer_sizes = match &self.kmer_sizes {
            None => chosen(read_bases),
            Some(text) => parse(text)?,
        };
        if kmer_sizes[0] > read_bases {
            let k = kmer_sizes[0];
            let text = format!("k is {k}, but reads have {read_bases} bases; give a smaller -k");
            return Err(refusal(&text));
        }
        Ok(Plan { kmer_sizes, given: self })
    }
}

/// From 31 on in even steps, as far as a read still holds many k-mers.
fn chosen(read_bases: usize) -> Vec<usize> {
    let most = (read_bases * READ_PART / 100).min(K_MAX);
    let first = K_FIRST.min(((most * 3 / 4).saturating_sub(1) | 1).max(K_MIN));
    let step = (most.saturating_sub(first) / K_STEPS_MAX / 2 * 2).max(K_STEP_MIN);
    (0..).map(|index| first + index * step).take_while(|&k| k == first || k <= most).collect()
}

fn parse(text: &str) -> Result<Vec<usize>> {
    let sizes: Option<Vec<usize>> = text.split(',').map(|size| size.trim().parse().ok()).collect();
    let good = |sizes: &Vec<usize>| {
        sizes.iter().all(|k| k % 2 == 1 && (K_MIN..=K_MAX).contains(k))
            && sizes.is_sorted_by(|a, b| a < b)
    };
    sizes.filter(good).ok_or_else(|| {
        refusal(&format!(
            "-k is {text:?}, give odd numbers from {K_MIN} to {K_MAX}, ascending and separated by \
             commas, such as 31,55,79"
        ))
    })
}

fn refusal(text: &str) -> Error {
    Error::input("assemble", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_reads() {
        for (bases, expected) in [
            (36, &[21][..]),
            (76, &[31, 43, 55]),
            (100, &[31, 43, 55, 67, 79]),
            (150, &[31, 53, 75, 97, 119]),
            (250, &[31, 55, 79, 103, 127]),
        ] {
            assert_eq!(chosen(bases), expected, "{bases}");
        }
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        let refused = |kmer_sizes: &str| {
            let kmer_sizes = Some(kmer_sizes.to_owned());
            let params = AssembleParams { kmer_sizes, ..Default::default() };
            params.check(100).unwrap_err().message
        };
        for bad in ["", "30", "13", "129", "55,31", "31,31", "31;55", "x"] {
            assert!(refused(bad).contains("odd numbers from 15 to 127"), "{bad}");
        }
        assert!(refused("101").contains("reads have 100 bases"));
        let zero = AssembleParams { min_count: Some(0), ..Default::default() };
        assert!(zero.check(100).unwrap_err().message.contains("--min-count is 0"));
    }
}
