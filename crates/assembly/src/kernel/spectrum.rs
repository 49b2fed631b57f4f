//! Spectrum of k-mer counts, and what it shows of genome size and errors.

use serde::{Deserialize, Serialize};

/// Largest count with an entry of its own.
pub const COUNTS: usize = 10_000;
/// Cutoff where the spectrum has no valley.
const MIN_COUNT_DEFAULT: u32 = 2;
/// Largest count at which the unsmoothed spectrum is searched for a valley, and the standard
/// deviations by which it must rise after it.
const EARLY_MAX: usize = 4;
const DEVIATIONS: f64 = 6.0;
/// Fewest distinct k-mers for which a spectrum is fitted.
const KMERS_MIN: u64 = 1000;
/// Largest part of the genome's k-mers that the cutoff may lose by chance alone.
const LOST_PART_MAX: f64 = 1e-6;

/// Numbers of distinct k-mers by count; the last entry has all k-mers with higher counts.
#[derive(Clone, Debug)]
pub struct Spectrum(Vec<u64>);

impl Default for Spectrum {
    fn default() -> Self {
        Self(vec![0; COUNTS + 1])
    }
}

/// Parameters fitted to a spectrum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Least count of a k-mer that is taken for real: where errors end and the genome begins.
    pub min_count: u32,
    /// Mean count of the k-mers that occur once in the genome; 0 where there is no peak.
    pub depth: f64,
    /// Standard deviation of their counts.
    pub deviation: f64,
    /// Estimated size of the genome, in k-mers.
    pub genome_size: u64,
    /// Estimated rate of wrong bases.
    pub error_rate: f64,
}

impl Spectrum {
    /// Counts a distinct k-mer.
    #[inline(always)]
    pub fn add(&mut self, count: u32) {
        self.0[(count as usize).min(COUNTS)] += 1;
    }

    /// Counts many k-mers of one count.
    pub fn add_many(&mut self, count: u32, kmers: u64) {
        let all = &mut self.0[(count as usize).min(COUNTS)];
        *all = all.saturating_add(kmers);
    }

    /// Adds another spectrum.
    pub fn merge(&mut self, other: &Self) {
        let counts = self.0.iter_mut().zip(&other.0);
        counts.for_each(|(sum, more)| *sum = sum.saturating_add(*more));
    }

    /// Returns the numbers of k-mers by count, from 0 on.
    pub fn kmers(&self) -> &[u64] {
        &self.0
    }

    /// Returns the number of distinct k-mers with at least this count.
    pub fn distinct(&self, min_count: u32) -> u64 {
        self.0.iter().skip(min_count as usize).sum()
    }

    /// Fits the valley between errors and genome, and the peak after it.
    pub fn fit(&self, k: usize) -> Fit {
        let smooth = self.smoothed();
        let valley = (2..COUNTS / 2).find(|&count| {
            let ahead = smooth[count + 1..(2 * count + 4).min(COUNTS)].iter();
            smooth[count] <= smooth[count - 1] && ahead.clone().any(|&next| next > smooth[count])
        });
        let peak = match self.early_valley() {
            Some(early) => Some((early, highest(&self.exact_entries(), early))),
            None => valley.map(|valley| (valley, highest(&smooth, valley))),
        };
        let Some((valley, peak)) = peak.filter(|_| self.distinct(1) >= KMERS_MIN) else {
            return self.without_peak();
        };
        let (depth, deviation) = self.moments_around(valley, peak);
        let occurrences = |range: std::ops::Range<usize>| -> f64 {
            range.map(|count| count as f64 * self.0[count] as f64).sum()
        };
        let (wrong, right) = (occurrences(1..valley), occurrences(valley..COUNTS + 1));
        let clean = right / (wrong + right);
        Fit {
            min_count: (valley as u32).min(thin_cutoff(depth)),
            depth,
            deviation,
            genome_size: (right / depth).round() as u64,
            error_rate: 1.0 - clean.powf(1.0 / k as f64),
        }
    }

    /// Finds the valley of a thinly read genome: the count from which the entries rise by more than
    /// chance. Smoothing would hide it behind the many errors next to it.
    fn early_valley(&self) -> Option<usize> {
        let numbers = self.exact_entries();
        (2..=EARLY_MAX).find(|&count| {
            let (here, next) = (numbers[count], numbers[count + 1]);
            here < numbers[count - 1] && next - here > DEVIATIONS * (here + next).sqrt()
        })
    }

    /// Returns the numbers of k-mers whose counts are exact.
    fn exact_entries(&self) -> Vec<f64> {
        self.0[..COUNTS].iter().map(|&kmers| kmers as f64).collect()
    }

    fn without_peak(&self) -> Fit {
        let min_count = MIN_COUNT_DEFAULT;
        let genome_size = self.distinct(min_count);
        Fit { min_count, depth: 0.0, deviation: 0.0, genome_size, error_rate: 0.0 }
    }

    /// Returns the means of three neighbours.
    fn smoothed(&self) -> Vec<f64> {
        let at = |count: usize| self.0[count.clamp(1, COUNTS - 1)] as f64;
        (0..=COUNTS).map(|count| at(count.max(1) - 1) + at(count) + at(count + 1)).collect()
    }

    /// Returns mean and standard deviation of the counts from the valley to equally far beyond the
    /// peak, or to where chance reaches.
    fn moments_around(&self, valley: usize, peak: usize) -> (f64, f64) {
        let chance = (3.0 * (peak as f64).sqrt()) as usize;
        let end = (2 * peak - valley).max(peak + chance).min(COUNTS - 1);
        let (mut kmers, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for count in valley..=end {
            let (here, count) = (self.0[count] as f64, count as f64);
            kmers += here;
            sum += here * count;
            squares += here * count * count;
        }
        let mean = sum / kmers;
        (mean, (squares / kmers - mean * mean).max(0.0).sqrt())
    }
}

/// Returns the highest cutoff that loses few k-mers of a genome of this depth, if chance alone
/// varies the counts (Poisson). In a thinly read genome a lost k-mer ends a contig, and the graph
/// around them shows which k-mers are wrong.
fn thin_cutoff(depth: f64) -> u32 {
    let mut count = 0;
    let mut here = (-depth).exp();
    let mut below = here;
    while below <= LOST_PART_MAX && (count as usize) < COUNTS {
        count += 1;
        here *= depth / f64::from(count);
        below += here;
    }
    count.max(MIN_COUNT_DEFAULT)
}

/// Returns the position of the highest value after the valley.
fn highest(smooth: &[f64], valley: usize) -> usize {
    let mut best = valley;
    for (count, &height) in smooth.iter().enumerate().take(COUNTS).skip(valley) {
        if height > smooth[best] {
            best = count;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spectrum(values: impl Fn(f64) -> f64) -> Spectrum {
        let mut spectrum = Spectrum::default();
        for count in 1..=COUNTS {
            spectrum.0[count] = values(count as f64).round() as u64;
        }
        spectrum
    }

    #[test]
    fn a_spectrum_has_a_valley_and_a_peak() {
        let bell = |x: f64| 90_000.0 * (-(x - 35.0).powi(2) / (2.0 * 36.0)).exp();
        let spectrum = spectrum(|x| 1e7 / x.powi(5) + bell(x));
        let fit = spectrum.fit(31);
        assert!((5..=20).contains(&fit.min_count), "{fit:?}");
        assert!((fit.depth - 35.0).abs() < 0.5 && (fit.deviation - 6.0).abs() < 0.7, "{fit:?}");
        let genome = 90_000.0 * 6.0 * (2.0 * std::f64::consts::PI).sqrt();
        assert!((fit.genome_size as f64 / genome - 1.0).abs() < 0.02, "{fit:?} {genome}");
        assert!(fit.error_rate > 0.001 && fit.error_rate < 0.02, "{fit:?}");
    }

    #[test]
    fn a_thinly_read_genome_has_its_peak_next_to_the_errors() {
        // E. coli, 7.5x of reads of 100 bases with 1 % errors, and as many repeats at 27.
        let first = [6_905_942, 763_166, 948_083, 937_855, 740_740, 493_707, 280_241, 140_504];
        let more = [63_603, 26_611, 10_684, 4_739, 2_221, 1_165, 662, 443, 390, 351, 408, 357, 414];
        let mut spectrum = Spectrum::default();
        for (count, kmers) in (1..).zip(first.into_iter().chain(more).chain([500; 9])) {
            spectrum.0[count] = kmers;
        }
        let fit = spectrum.fit(31);
        assert_eq!(fit.min_count, 2);
        assert!((3.5..5.0).contains(&fit.depth), "{fit:?}");
        assert!((4_000_000..5_500_000).contains(&fit.genome_size), "{fit:?}");
        assert!((0.005..0.02).contains(&fit.error_rate), "{fit:?}");
    }

    #[test]
    fn a_thin_genome_loses_no_kmers_to_the_cutoff() {
        // One in a million is below in Poisson's distribution; the cutoff is never less than two.
        for (depth, cutoff) in [(1.0, 2), (11.9, 2), (18.0, 2), (20.0, 3), (25.0, 5), (700.0, 578)]
        {
            assert_eq!(thin_cutoff(depth), cutoff, "{depth}");
        }
        let poisson = |x: f64| {
            let each = (1..=x.min(99.0) as u32).map(|count| (11.9 / f64::from(count)).ln());
            300_000.0 * (each.sum::<f64>() - 11.9).exp()
        };
        let fit = spectrum(|x| 900_000.0 / x.powi(7) + poisson(x)).fit(31);
        assert_eq!(fit.min_count, 2, "{fit:?}");
        assert!((fit.depth - 11.9).abs() < 0.3, "{fit:?}");
        assert!((fit.genome_size as f64 / 300_000.0 - 1.0).abs() < 0.03, "{fit:?}");
    }

    #[test]
    fn without_a_peak_two_is_the_cutoff() {
        assert_eq!(spectrum(|x| 1e7 / x.powi(4)).fit(31).min_count, 2);
        assert_eq!(Spectrum::default().fit(31).min_count, 2);
    }
}
