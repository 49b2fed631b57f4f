//! Parameters of `assemble`, with their ranges.

use std::path::PathBuf;

use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::kernel::simplify::Rules;
use crate::kernel::spectrum::Fit;
use crate::kernel::supersteps::control::{Paper, Program};
use crate::kernel::table::COUNT_MAX;
use cuesta_input::reads::{PairLayout, Pairing};

/// Asks for sizes of k-mers chosen from the reads.
const AUTO: &str = "auto";
/// Largest length that may be asked of a contig, in bases.
const CONTIG_MAX: u64 = 1_000_000_000;
/// Shortest k-mer.
pub const K_MIN: usize = 15;
/// Longest k-mer.
pub const K_MAX: usize = 127;
/// First k-mer size that is chosen from the reads, how far later ones are at least apart, and how
/// many steps there are at most.
const K_FIRST: usize = 31;
const K_STEP_MIN: usize = 12;
const K_STEPS_MAX: usize = 4;
/// From so many bases of the longest read on the first size is that, and all sizes are known.
const READ_BASES_FIRST: usize = 54;
const READ_BASES_KNOWN: usize = 155;
/// The size of the paper's k-mers, its jobs, and what the paper does not say: the edits between the
/// sides of a bubble.
const PAPER_K: usize = 31;
const PAPER_JOBS: u64 = 15;
const PAPER_EDITS: f64 = 0.1;
/// The last k-mer size chosen leaves so many parts in 100 of a read for counting.
const READ_PART: usize = 82;

/// Smallest count of a solid k-mer of many genomes, the thinnest of which has no valley.
const METAGENOME_MIN_COUNT: u32 = 2;
/// Where k-mers of the first size were seen less often on average, contigs end where reads are too
/// few, so that reads alone are asked for bridges.
const THIN_DEPTH: f64 = 20.0;

/// What is taken for an error in the graph.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Tips, bubbles and weak connections of one genome, by relative coverage.
    #[default]
    Default,
    /// The same of many genomes, none of which is as deep as another.
    Metagenome,
    /// The method of the paper: its reads, its vertex program, its rules.
    Paper,
    /// Nothing: contigs are unitigs.
    None,
}

/// How the fragments of buckets become unitigs, and who takes errors out of the graph.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Joining {
    /// As [`Joining::Buckets`].
    #[default]
    Auto,
    /// One machine joins them and has the graph.
    Buckets,
    /// Vertex programs join them by list ranking, and have the graph.
    Ranking,
}

/// Parameters as they come from the command line.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default)]
pub struct AssembleParams {
    /// Sizes of k-mers, ascending, separated by commas; where absent or `auto`, by the reads.
    pub kmer_sizes: Option<String>,
    /// Count from which on a k-mer is taken for real; from the spectrum where absent.
    pub min_count: Option<u32>,
    /// What is taken for an error.
    pub profile: Profile,
    /// How fragments become unitigs.
    pub chains: Joining,
    /// Leaves out reads with letters that stand for more than one base.
    pub drop_reads_with_n: bool,
    /// Shortest contig that is written, in bases.
    pub min_contig: u64,
    /// The files hold read pairs, two files at a time.
    pub pairs: bool,
    /// Reads that follow one another are pairs.
    pub interleaved: bool,
    /// Number of files of single reads, the last ones, alongside pairs.
    pub singles: usize,
    /// The names of pairs are not compared.
    pub unchecked_mates: bool,
    /// The folder in which a run is kept to go on from.
    pub resume: Option<PathBuf>,
    /// Most rounds of the coin toss in a job of the paper; until chains are whole where absent.
    pub paper_rounds: Option<u64>,
    /// Most jobs of the paper.
    pub paper_jobs: Option<u64>,
    /// Most edits between the sides of a bubble of the paper, as a part of the longer one.
    pub paper_edits: Option<f64>,
}

impl Default for AssembleParams {
    fn default() -> Self {
        Self {
            kmer_sizes: None,
            min_count: None,
            profile: Profile::Default,
            chains: Joining::Auto,
            drop_reads_with_n: false,
            min_contig: 200,
            pairs: false,
            interleaved: false,
            singles: 0,
            unchecked_mates: false,
            resume: None,
            paper_rounds: None,
            paper_jobs: None,
            paper_edits: None,
        }
    }
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Sizes of k-mers, ascending. Where they are chosen, those after the first are known once all
    /// reads are: see [`Plan::choose`].
    pub kmer_sizes: Vec<usize>,
    /// They are chosen by the longest read.
    pub is_chosen: bool,
    /// Options, completed with defaults.
    pub options: AssembleParams,
}

impl Plan {
    /// Chooses the sizes of k-mers, where they are to be chosen, by the longest of all reads. The
    /// first size stays.
    pub fn choose(&mut self, longest_read: u64) {
        if self.is_chosen {
            let first = self.kmer_sizes[0];
            let known = longest_read.min(READ_BASES_KNOWN as u64) as usize;
            self.kmer_sizes = chosen(known);
            debug_assert_eq!(self.kmer_sizes[0], first);
        }
    }
}

impl AssembleParams {
    /// Which reads are pairs.
    pub fn pairing(&self) -> Pairing {
        let layout = match (self.pairs, self.interleaved) {
            (true, _) => PairLayout::InTwoFiles,
            (false, true) => PairLayout::InTurn,
            (false, false) => PairLayout::None,
        };
        let singles = if layout == PairLayout::None { 0 } else { self.singles };
        Pairing { layout, singles, is_unchecked: self.unchecked_mates }
    }

    /// Whether reads are placed on the graph as pairs.
    pub fn places_pairs(&self) -> bool {
        self.pairing().has_pairs() && matches!(self.profile, Profile::Default | Profile::Metagenome)
    }

    /// Whether reads that are no pairs are placed on the graph, by what the spectrum says where
    /// that is of the first size of k-mers.
    pub fn bridges_by_reads(&self, first: Option<&Fit>) -> bool {
        let is_thin = |fit: &Fit| fit.depth > 0.0 && fit.depth < THIN_DEPTH;
        !self.pairing().has_pairs()
            && match self.profile {
                Profile::Default => first.is_some_and(is_thin),
                Profile::Metagenome => first.is_some(),
                Profile::Paper | Profile::None => false,
            }
    }

    /// What is taken for an error by relative coverage, if anything is.
    pub fn rules(&self, k: usize) -> Option<Rules> {
        match self.profile {
            Profile::Default => Some(Rules::for_isolate(k)),
            Profile::Metagenome => Some(Rules::for_metagenome(k)),
            Profile::Paper | Profile::None => None,
        }
    }

    /// With what the profile says.
    #[must_use]
    pub fn completed(mut self) -> Self {
        match self.profile {
            Profile::Paper => {
                self.drop_reads_with_n = true;
                self.min_count.get_or_insert(1);
            }
            Profile::Metagenome => _ = self.min_count.get_or_insert(METAGENOME_MIN_COUNT),
            Profile::Default | Profile::None => {}
        }
        self
    }

    /// The program of vertices that makes unitigs of what the buckets have, if one does.
    pub fn joining(&self, k: usize) -> Option<Program> {
        match (self.profile, self.chains) {
            (Profile::Paper, _) => Some(Program::Compress(self.paper(k))),
            (_, Joining::Ranking) => Some(Program::Glue),
            _ => None,
        }
    }

    /// The program of vertices that takes errors out of the graph, if one does.
    pub fn simplifying(&self, k: usize) -> Option<Program> {
        match (self.profile, self.chains) {
            (Profile::Paper, _) => Some(Program::Jobs(self.paper(k))),
            (_, Joining::Ranking) => self.rules(k).map(Program::Simplify),
            _ => None,
        }
    }

    fn paper(&self, k: usize) -> Paper {
        Paper {
            tip: 2 * k,
            bubble: 5 * k,
            edits: self.paper_edits.unwrap_or(PAPER_EDITS),
            rounds_max: self.paper_rounds,
            jobs_max: self.paper_jobs.unwrap_or(PAPER_JOBS),
        }
    }

    /// Refuses parameters that do not go together.
    fn check_profile(&self) -> Result<()> {
        let of_paper = [
            ("--paper-rounds", self.paper_rounds.is_some()),
            ("--paper-jobs", self.paper_jobs.is_some()),
            ("--paper-edits", self.paper_edits.is_some()),
        ];
        if self.profile != Profile::Paper {
            return match of_paper.iter().find(|(_, given)| *given) {
                Some((name, _)) => Err(refusal(&format!("{name} is for --profile paper alone"))),
                None => Ok(()),
            };
        }
        if self.chains != Joining::Auto {
            return Err(refusal(
                "--profile paper has its own --chains, the coin toss; leave it out",
            ));
        }
        if self.paper_rounds == Some(0) || self.paper_jobs == Some(0) {
            return Err(refusal("--paper-rounds and --paper-jobs are at least 1"));
        }
        if self.paper_edits.is_some_and(|edits| !(0.0..=1.0).contains(&edits)) {
            return Err(refusal("--paper-edits is a part of a length, from 0 to 1"));
        }
        Ok(())
    }

    /// Checks the ranges; `read_bases` is the length of a typical read.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(self, read_bases: usize) -> Result<Plan> {
        if let Some(count) = self.min_count
            && !(1..=COUNT_MAX).contains(&count)
        {
            return Err(refusal(&format!("--min-count is {count}, give 1 to {COUNT_MAX}")));
        }
        if self.min_contig > CONTIG_MAX {
            let given = self.min_contig;
            return Err(refusal(&format!("--min-contig is {given}, give up to {CONTIG_MAX}")));
        }
        if self.singles > 0 && !self.pairs && !self.interleaved {
            return Err(refusal(
                "--singles counts files beside those of pairs; give --pairs or --interleaved, or \
                 leave it out",
            ));
        }
        if self.pairs && self.interleaved {
            return Err(refusal(
                "--pairs takes read pairs in two files, --interleaved in one; give one",
            ));
        }
        self.check_profile()?;
        let is_paper = self.profile == Profile::Paper;
        let sizes = self.kmer_sizes.as_deref().map_or(AUTO, str::trim);
        let is_chosen = sizes == AUTO && !is_paper;
        let kmer_sizes = match sizes {
            AUTO if is_paper => vec![PAPER_K],
            AUTO => chosen(read_bases),
            text => parse(text)?,
        };
        if is_paper && kmer_sizes.len() > 1 {
            return Err(refusal("--profile paper takes one size of k-mers; give -k 31"));
        }
        if kmer_sizes[0] > read_bases {
            let k = kmer_sizes[0];
            let text = format!("k is {k}, but reads have {read_bases} bases; give a smaller -k");
            return Err(refusal(&text));
        }
        Ok(Plan { kmer_sizes, is_chosen, options: self.completed() })
    }

    /// The length of a read from which on longer ones change nothing before all reads are known: of
    /// one that the first size of k-mers fits in.
    pub fn read_bases_wanted(&self) -> usize {
        let first = match self.kmer_sizes.as_deref().map_or(AUTO, str::trim) {
            AUTO if self.profile == Profile::Paper => Some(PAPER_K),
            AUTO => None,
            text => parse(text).ok().map(|sizes| sizes[0]),
        };
        first.unwrap_or(READ_BASES_FIRST)
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
            "-k is {text:?}, give auto or odd numbers from {K_MIN} to {K_MAX}, ascending and \
             separated by commas, such as 31,55,79"
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
    fn all_reads_choose_the_sizes_after_the_first() {
        for bases in 15..300 {
            let sizes = chosen(bases);
            let is_known = sizes[0] == K_FIRST && sizes.len() > 1;
            assert!(is_known || bases < READ_BASES_FIRST, "{bases}");
            assert_eq!(chosen(bases) == chosen(1000), bases >= READ_BASES_KNOWN, "{bases}");
        }
        let mut plan = AssembleParams::default().check(60).unwrap();
        plan.choose(100);
        assert_eq!(plan.kmer_sizes, [31, 43, 55, 67, 79]);
        let kmer_sizes = Some("21,33".to_owned());
        let mut plan = AssembleParams { kmer_sizes, ..Default::default() }.check(60).unwrap();
        plan.choose(100);
        assert_eq!(plan.kmer_sizes, [21, 33]);
    }

    #[test]
    fn auto_says_what_is_done_when_nothing_is_said() {
        let sizes = |kmer_sizes: Option<&str>| {
            let kmer_sizes = kmer_sizes.map(str::to_owned);
            let params = AssembleParams { kmer_sizes, ..Default::default() };
            params.check(150).unwrap().kmer_sizes
        };
        assert_eq!(sizes(Some("auto")), sizes(None));
        assert_eq!(sizes(Some(" auto ")), [31, 53, 75, 97, 119]);
    }

    #[test]
    fn the_paper_has_its_own_reads_counts_and_size() {
        let paper = AssembleParams { profile: Profile::Paper, ..Default::default() };
        let plan = paper.clone().check(100).unwrap();
        assert_eq!(plan.kmer_sizes, [31]);
        assert_eq!((plan.options.min_count, plan.options.drop_reads_with_n), (Some(1), true));
        let asked = AssembleParams { min_count: Some(3), ..paper.clone() };
        assert_eq!(asked.check(100).unwrap().options.min_count, Some(3));
        let refused = |params: AssembleParams| params.check(100).unwrap_err().message;
        let sizes = Some("31,55".to_owned());
        assert!(refused(AssembleParams { kmer_sizes: sizes, ..paper.clone() }).contains("-k 31"));
        let chains = AssembleParams { chains: Joining::Buckets, ..paper.clone() };
        assert!(refused(chains).contains("--chains"));
        let edits = AssembleParams { paper_edits: Some(1.5), ..paper.clone() };
        assert!(refused(edits).contains("from 0 to 1"));
        assert!(refused(AssembleParams { paper_jobs: Some(0), ..paper }).contains("at least 1"));
        let other = AssembleParams { paper_rounds: Some(3), ..Default::default() };
        assert!(refused(other).contains("--paper-rounds is for --profile paper alone"));
    }

    #[test]
    fn a_metagenome_has_no_cutoff_but_two_and_rules_of_its_own() {
        let many = AssembleParams { profile: Profile::Metagenome, ..Default::default() };
        assert_eq!(many.clone().check(100).unwrap().options.min_count, Some(2));
        let rules = many.rules(31).unwrap();
        assert!(!rules.is_even && (rules.tip, rules.weak_tip, rules.island) == (62, 0, 0));
        let asked = AssembleParams { min_count: Some(4), interleaved: true, ..many };
        assert!(asked.places_pairs());
        assert_eq!(asked.check(100).unwrap().options.min_count, Some(4));
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        let refused = |kmer_sizes: &str| {
            let kmer_sizes = Some(kmer_sizes.to_owned());
            let params = AssembleParams { kmer_sizes, ..Default::default() };
            params.check(100).unwrap_err().message
        };
        for bad in ["", "30", "13", "129", "55,31", "31,31", "31;55", "x", "auto,31", "AUTO"] {
            assert!(refused(bad).contains("odd numbers from 15 to 127"), "{bad}");
        }
        assert!(refused("101").contains("reads have 100 bases"));
        let zero = AssembleParams { min_count: Some(0), ..Default::default() };
        assert!(zero.check(100).unwrap_err().message.contains("--min-count is 0"));
    }
}
