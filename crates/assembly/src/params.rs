//! Parameters of `assemble`, and their ranges.

use std::path::PathBuf;

use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::kernel::simplify::Rules;
use crate::kernel::spectrum::Fit;
use crate::kernel::table::COUNT_MAX;
use crate::sampling::SampledReads;
use cuesta_input::reads::{PairLayout, Pairing, Sampling};

/// Value that requests sizes of k-mers chosen from the reads.
const AUTO: &str = "auto";
/// Largest `min_contig`, in bases.
const CONTIG_MAX: u64 = 1_000_000_000;
/// Shortest k-mer.
pub const K_MIN: usize = 15;
/// Longest k-mer.
pub const K_MAX: usize = 127;
/// First size of k-mers that is chosen from the reads, least difference between sizes, and most
/// further sizes.
const K_FIRST: usize = 31;
const K_STEP_MIN: usize = 12;
const K_STEPS_MAX: usize = 4;
/// Lengths of the longest read from which on the first size, and all sizes, no longer change.
const READ_BASES_FIRST: usize = 54;
const READ_BASES_KNOWN: usize = 155;
/// Length of the last chosen k-mer, in percent of a read: the rest gives k-mers to count.
const READ_PART: usize = 82;

/// Cutoff for many genomes, the thinnest of which has no valley in the spectrum.
const METAGENOME_MIN_COUNT: u32 = 2;
/// Depth of the first size of k-mers below which contigs end where reads are few, so that single
/// reads are placed to find bridges.
const THIN_DEPTH: f64 = 20.0;

/// Rules for errors in the graph.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Tips, bubbles and weak connections of one genome, by relative coverage.
    #[default]
    Default,
    /// Tips, bubbles and weak connections of many genomes of different depths.
    Metagenome,
    /// No removal of errors: contigs are unitigs.
    None,
}

/// Method that joins the fragments of buckets to unitigs and removes errors from the graph.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Joining {
    /// Like [`Joining::Buckets`].
    #[default]
    Auto,
    /// A single machine joins them and simplifies the graph.
    Buckets,
    /// Vertex programs join them by list ranking, and simplify the graph.
    Ranking,
}

/// Trimming of the reads.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Trim {
    /// Adapters, tails of G and tails of low quality are cut off.
    Auto,
    /// Reads are taken as they are.
    None,
}

/// Parameters as given on the command line.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default)]
pub struct AssembleParams {
    /// Sizes of k-mers, ascending, separated by commas; chosen from the reads where absent or
    /// `auto`.
    pub kmer_sizes: Option<String>,
    /// Least count of a k-mer that is taken for real; from the spectrum where absent.
    pub min_count: Option<u32>,
    /// Rules for errors.
    pub profile: Profile,
    /// Method that joins fragments to unitigs.
    pub chains: Joining,
    /// Whether to drop reads with letters that stand for more than one base.
    pub drop_reads_with_n: bool,
    /// Length of the shortest contig that is written, in bases.
    pub min_contig: u64,
    /// Whether the files contain read pairs, two files at a time.
    pub pairs: bool,
    /// Whether consecutive reads are pairs.
    pub interleaved: bool,
    /// Number of files of single reads, the last ones, in addition to pairs.
    pub singles: usize,
    /// Whether to skip the comparison of the names of pairs.
    pub unchecked_mates: bool,
    /// Trimming of the reads; where absent, ends are cut off unless the profile takes reads as they
    /// are.
    pub trim: Option<Trim>,
    /// Depth to which deeper reads are sampled, in bases for each base of the genome.
    pub depth: Option<u64>,
    /// Reads that are taken, once their depth is known.
    #[serde(skip)]
    pub sampling: Sampling,
    /// Folder for checkpoints, from which a run resumes.
    pub resume: Option<PathBuf>,
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
            trim: None,
            depth: None,
            sampling: Sampling::ALL,
            resume: None,
        }
    }
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Sizes of k-mers, ascending. Where they are chosen, those after the first are final once all
    /// reads have been read: see [`Plan::choose`].
    pub kmer_sizes: Vec<usize>,
    /// Whether the sizes are chosen by the longest read.
    pub is_chosen: bool,
    /// Options, completed with defaults.
    pub options: AssembleParams,
    /// Facts of the reads, where they are sampled to a depth.
    pub sampled: Option<SampledReads>,
}

impl Plan {
    /// Chooses the sizes of k-mers, if they are to be chosen, by the longest of all reads, and by
    /// the stretches that half of all bases are in where these are shorter than a size would be:
    /// see [`Plan::common_stretch`]. The first size does not change.
    ///
    /// # Errors
    /// `Input` where fewer than half of the bases are in k-mers of the first size.
    pub fn choose(&mut self, longest_read: u64, common_stretch: Option<u64>) -> Result<()> {
        if !self.is_chosen {
            return Ok(());
        }
        let first = self.kmer_sizes[0];
        let sizes = chosen(read_bases(longest_read));
        debug_assert_eq!(sizes[0], first);
        self.kmer_sizes = match common_stretch {
            None => sizes,
            Some(common) => {
                let common = read_bases(common);
                if common < first {
                    return Err(too_short(common, first));
                }
                let fewer = common.max(READ_BASES_FIRST);
                let sizes = if first == K_FIRST { chosen(fewer) } else { sizes };
                sizes.into_iter().filter(|&k| k <= common).collect()
            }
        };
        Ok(())
    }

    /// Returns the length of the stretches without ambiguous letters that half of all bases are in,
    /// if it is less than a size of k-mers that the longest read would choose.
    pub fn common_stretch(&self, longest_read: u64, half: usize) -> Option<u64> {
        let last = chosen(read_bases(longest_read)).last().copied();
        let is_beyond = self.is_chosen && last.is_some_and(|last| last > half);
        is_beyond.then_some(half as u64)
    }

    /// Returns whether the contigs are those of this size of k-mers.
    pub fn is_last(&self, k: usize) -> bool {
        !self.options.places_pairs() && self.kmer_sizes.last() == Some(&k)
    }

    /// Returns the rules that identify sequencing errors at a size of k-mers; `None` if the profile
    /// removes none.
    pub fn rules(&self, k: usize) -> Option<Rules> {
        let real_min = if self.is_last(k) { self.options.min_contig as usize } else { 0 };
        self.options.rules(k).map(|rules| Rules { real_min, ..rules })
    }
}

impl AssembleParams {
    /// Returns the pairing of the reads.
    pub fn pairing(&self) -> Pairing {
        let layout = match (self.pairs, self.interleaved) {
            (true, _) => PairLayout::InTwoFiles,
            (false, true) => PairLayout::InTurn,
            (false, false) => PairLayout::None,
        };
        let singles = if layout == PairLayout::None { 0 } else { self.singles };
        Pairing {
            layout,
            singles,
            is_unchecked: self.unchecked_mates,
            is_trimmed: self.trims(),
            sampling: self.sampling,
        }
    }

    /// Returns whether reads are trimmed.
    pub fn trims(&self) -> bool {
        self.trim != Some(Trim::None)
    }

    /// Returns whether reads are placed on the graph as pairs.
    pub fn places_pairs(&self) -> bool {
        self.pairing().has_pairs() && matches!(self.profile, Profile::Default | Profile::Metagenome)
    }

    /// Returns whether single reads are placed on the graph, by the fit to the spectrum if it is of
    /// the first size of k-mers.
    pub fn bridges_by_reads(&self, first: Option<&Fit>) -> bool {
        let is_thin = |fit: &Fit| fit.depth > 0.0 && fit.depth < THIN_DEPTH;
        !self.pairing().has_pairs()
            && match self.profile {
                Profile::Default => first.is_some_and(is_thin),
                Profile::Metagenome => first.is_some(),
                Profile::None => false,
            }
    }

    /// Returns the rules by which relative coverage identifies sequencing errors; `None` if the
    /// profile removes none.
    fn rules(&self, k: usize) -> Option<Rules> {
        match self.profile {
            Profile::Default => Some(Rules::for_isolate(k)),
            Profile::Metagenome => Some(Rules::for_metagenome(k)),
            Profile::None => None,
        }
    }

    /// Completes parameters with the defaults of the profile.
    #[must_use]
    pub fn completed(mut self) -> Self {
        if self.profile == Profile::Metagenome {
            self.min_count.get_or_insert(METAGENOME_MIN_COUNT);
        }
        self
    }

    /// Checks the ranges of parameters that do not depend on the reads.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check_ranges(&self) -> Result<()> {
        if let Some(count) = self.min_count
            && !(1..=COUNT_MAX).contains(&count)
        {
            return Err(refusal(&format!("--min-count is {count}, give 1 to {COUNT_MAX}")));
        }
        if self.min_contig > CONTIG_MAX {
            let min_contig = self.min_contig;
            return Err(refusal(&format!("--min-contig is {min_contig}, give up to {CONTIG_MAX}")));
        }
        if self.singles > 0 && !self.pairs && !self.interleaved {
            return Err(refusal(
                "--singles counts files beside those of pairs; give --pairs or --interleaved, or \
                 leave it out",
            ));
        }
        if self.depth == Some(0) {
            return Err(refusal("--depth is 0, give 1 or more; without it all reads are taken"));
        }
        if self.depth.is_some() && self.profile == Profile::Metagenome {
            return Err(refusal(
                "--depth is that of one genome, --profile metagenome has many of different depths; \
                 leave one out",
            ));
        }
        if self.pairs && self.interleaved {
            return Err(refusal(
                "--pairs takes read pairs in two files, --interleaved in one; give one",
            ));
        }
        Ok(())
    }

    /// Returns the sizes of k-mers; `None` where they are chosen from the reads.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn sizes(&self) -> Result<Option<Vec<usize>>> {
        match self.kmer_sizes.as_deref().map_or(AUTO, str::trim) {
            AUTO => Ok(None),
            text => parse(text).map(Some),
        }
    }

    /// Checks the ranges; `read_bases` is the length of the longest read, or of one that has all
    /// sizes of k-mers.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(self, read_bases: usize) -> Result<Plan> {
        self.check_ranges()?;
        let sizes = self.sizes()?;
        let is_chosen = sizes.is_none();
        let kmer_sizes = sizes.unwrap_or_else(|| chosen(read_bases));
        let beyond: Vec<String> =
            kmer_sizes.iter().filter(|&&k| k > read_bases).map(usize::to_string).collect();
        if !beyond.is_empty() {
            let remedy = if read_bases < K_MIN {
                format!("give reads of at least {K_MIN} bases, the smallest k")
            } else if beyond.len() == kmer_sizes.len() {
                "give a smaller -k".to_owned()
            } else {
                let them = if beyond.len() == 1 { "it" } else { "them" };
                format!("leave {them} out of -k")
            };
            let sizes = beyond.join(",");
            let text = format!("k is {sizes}, but reads have {read_bases} bases; {remedy}");
            return Err(refusal(&text));
        }
        Ok(Plan { kmer_sizes, is_chosen, options: self.completed(), sampled: None })
    }

    /// Returns the length of a read beyond which longer ones change nothing before all reads have
    /// been read: one in which all sizes of k-mers fit, or the first if they are chosen.
    pub fn read_bases_wanted(&self) -> usize {
        let last = self.sizes().ok().flatten().and_then(|sizes| sizes.last().copied());
        last.unwrap_or(READ_BASES_FIRST)
    }
}

/// Returns the length of a read as far as it matters for the sizes of k-mers.
fn read_bases(letters: u64) -> usize {
    letters.min(READ_BASES_KNOWN as u64) as usize
}

/// Returns the error for reads of which fewer than half have k-mers of the first size.
fn too_short(common: usize, first: usize) -> Error {
    let smaller = (common * 3 / 4).saturating_sub(1) | 1;
    let remedy = if smaller < K_MIN {
        format!("give reads of at least {K_MIN} bases, the smallest k")
    } else {
        format!("give a smaller -k, such as {smaller}")
    };
    let text = format!(
        "k is {first}, but more than half of the bases of the reads are in stretches of at most \
         {common} bases without N; {remedy}"
    );
    refusal(&text)
}

/// Chooses sizes of k-mers from 31 on in even steps, as long as a read contains many k-mers.
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

/// Returns the error for a parameter.
pub fn refusal(text: &str) -> Error {
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
        plan.choose(100, None).unwrap();
        assert_eq!(plan.kmer_sizes, [31, 43, 55, 67, 79]);
        let kmer_sizes = Some("21,33".to_owned());
        let mut plan = AssembleParams { kmer_sizes, ..Default::default() }.check(60).unwrap();
        plan.choose(100, None).unwrap();
        assert_eq!(plan.kmer_sizes, [21, 33]);
    }

    #[test]
    fn no_size_is_chosen_that_fewer_than_half_of_the_bases_have() {
        // By cause: the longest of all reads chose the sizes. Symptom: where one pair was of 100
        // bases and all others of 36, or each read had an N in its middle, no read had a k-mer of
        // the last size, and depths were 0 or 445. Fix: the stretches of half of the bases choose.
        let chosen_by = |longest: u64, half: usize| {
            let mut plan = AssembleParams::default().check(longest as usize).unwrap();
            let common = plan.common_stretch(longest, half);
            plan.choose(longest, common).map(|()| plan.kmer_sizes)
        };
        for (longest, half, sizes) in [
            (100, 100, &[31, 43, 55, 67, 79][..]),
            (100, 79, &[31, 43, 55, 67, 79]),
            (100, 78, &[31, 43, 55]),
            (100, 50, &[31, 43]),
            (100, 36, &[31]),
            (250, 128, &[31, 55, 79, 103, 127]),
            (50, 36, &[29]),
        ] {
            assert_eq!(chosen_by(longest, half).unwrap(), sizes, "{longest} {half}");
        }
        let error = chosen_by(100, 30).unwrap_err().message();
        assert!(error.contains("at most 30 bases") && error.contains("-k, such as 21"), "{error}");
    }

    #[test]
    fn auto_is_the_same_as_no_option() {
        let sizes = |kmer_sizes: Option<&str>| {
            let kmer_sizes = kmer_sizes.map(str::to_owned);
            let params = AssembleParams { kmer_sizes, ..Default::default() };
            params.check(150).unwrap().kmer_sizes
        };
        assert_eq!(sizes(Some("auto")), sizes(None));
        assert_eq!(sizes(Some(" auto ")), [31, 53, 75, 97, 119]);
    }

    #[test]
    fn a_metagenome_has_cutoff_two_and_separate_rules() {
        let many = AssembleParams { profile: Profile::Metagenome, ..Default::default() };
        assert_eq!(many.clone().check(100).unwrap().options.min_count, Some(2));
        let rules = many.rules(31).unwrap();
        assert!(!rules.is_even && (rules.tip, rules.weak_tip, rules.island) == (62, 0, 0));
        let with_count = AssembleParams { min_count: Some(4), interleaved: true, ..many };
        assert!(with_count.places_pairs());
        assert_eq!(with_count.check(100).unwrap().options.min_count, Some(4));
    }

    #[test]
    fn values_out_of_range_are_named() {
        let refused = |kmer_sizes: &str| {
            let kmer_sizes = Some(kmer_sizes.to_owned());
            let params = AssembleParams { kmer_sizes, ..Default::default() };
            params.check(100).unwrap_err().message()
        };
        for bad in ["", "30", "13", "129", "55,31", "31,31", "31;55", "x", "auto,31", "AUTO"] {
            assert!(refused(bad).contains("odd numbers from 15 to 127"), "{bad}");
        }
        // Of several sizes, only the smallest was compared with the reads: `-k 31,127` gave an
        // answer without a contig.
        for (sizes, message) in [
            ("101", "k is 101, but reads have 100 bases; give a smaller -k"),
            ("101,127", "k is 101,127, but reads have 100 bases; give a smaller -k"),
            ("31,127", "k is 127, but reads have 100 bases; leave it out of -k"),
            ("31,99,101,127", "k is 101,127, but reads have 100 bases; leave them out of -k"),
        ] {
            assert!(refused(sizes).contains(message), "{}", refused(sizes));
            let kmer_sizes = Some(sizes.to_owned());
            let wanted = AssembleParams { kmer_sizes, ..Default::default() }.read_bases_wanted();
            assert_eq!(wanted.to_string(), sizes.rsplit(',').next().unwrap());
        }
        let zero = AssembleParams { min_count: Some(0), ..Default::default() };
        assert!(zero.check(100).unwrap_err().message().contains("--min-count is 0"));
    }
}
