//! Sample of the keys of rows, and the cuts it determines.

use cuesta_core::Result;
use cuesta_core::progress::Progress;
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use serde::{Deserialize, Serialize};

use super::RowSelection;
use crate::kernel::join::key;
use crate::run::pairs::{Pairs, Visitor, total};
use crate::run::share::Share;

/// Maximum number of keys of a sample.
const KEYS_MAX: usize = 1 << 14;
/// Windows that a leader reads for a sample.
const WINDOWS: u64 = 512;

/// Takes a sample of the keys of a share.
#[derive(Serialize, Deserialize)]
pub struct SampleKeys(pub(super) RowSelection);

impl Operation for SampleKeys {
    const NAME: &'static str = "sample";
    type State = ();
    type Input = Share;
    type Output = KeySample;

    fn task(self, share: Share, context: TaskContext<'_, ()>) -> TaskOutcome<Self> {
        let (sample, _) = take(&self.0.of_share(share)?, context.progress)?;
        Ok(TaskResult::Output(sample))
    }
}

/// Keys of rows at even distances in the order in which they were read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySample {
    /// Keys in the order of reading.
    pub keys: Vec<u64>,
    /// Number of rows that each key represents.
    pub weight: u64,
    rows: u64,
}

impl Default for KeySample {
    fn default() -> Self {
        Self { keys: Vec::new(), weight: 1, rows: 0 }
    }
}

impl KeySample {
    fn add(&mut self, key: u64) {
        if self.rows.is_multiple_of(self.weight) {
            if self.keys.len() == KEYS_MAX {
                let mut index = 0;
                self.keys.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.weight *= 2;
            }
            if self.rows.is_multiple_of(self.weight) {
                self.keys.push(key);
            }
        }
        self.rows += 1;
    }
}

/// Takes a sample of all rows; returns it with the bytes read.
fn take(pairs: &Pairs, progress: &Progress) -> Result<(KeySample, u64)> {
    let visitor = Visitor {
        keep: &|sample: &mut KeySample, _, row| {
            let (gene1, gene2, cluster) = row.place();
            sample.add(key(gene1, gene2, cluster));
            Ok(())
        },
        flush: &|_, _, _| Ok(()),
        on_error: &|_| {},
    };
    let mut workers = pairs.visit(1, progress, KeySample::default, &visitor)?;
    let (_, bytes) = total(&workers);
    Ok((workers.pop().map(|worker| worker.state).unwrap_or_default(), bytes))
}

/// Takes a sample of windows, whose keys represent all rows; `None` if the pairs can only be read
/// from the start.
pub fn of_windows(pairs: &Pairs, progress: &Progress) -> Option<KeySample> {
    let windows = pairs.windows(WINDOWS)?;
    // A wrong line is reported by the task that reads it, in the order of the input.
    let (mut sample, bytes) = take(&windows, progress).unwrap_or_default();
    sample.weight *= pairs.size_bytes().div_ceil(bytes.max(1)).max(1);
    Some(sample)
}

/// Returns the approximate number of rows that the samples represent.
pub fn rows(samples: &[KeySample]) -> u64 {
    samples.iter().map(|sample| sample.weight * sample.keys.len() as u64).sum()
}

/// Returns keys, strictly ascending, that cut all rows into at most `parts` parts of about the same
/// size; rows with the key of a cut are in the part after it.
pub fn cuts(samples: &[KeySample], parts: usize) -> Vec<u64> {
    let weighed = |sample: &KeySample| {
        let weight = sample.weight;
        sample.keys.iter().map(move |&key| (key, weight)).collect::<Vec<_>>()
    };
    let mut keys: Vec<(u64, u64)> = samples.iter().flat_map(weighed).collect();
    keys.sort_unstable();
    let all = u128::from(rows(samples));
    let (mut cuts, mut before, mut next) = (Vec::new(), 0u128, 1);
    for (key, weight) in keys {
        if next < parts && before * parts as u128 >= all * next as u128 {
            if cuts.last() != Some(&key) {
                cuts.push(key);
            }
            while next < parts && before * parts as u128 >= all * next as u128 {
                next += 1;
            }
        }
        before += u128::from(weight);
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(keys: impl Iterator<Item = u64>) -> KeySample {
        let mut sample = KeySample::default();
        keys.for_each(|key| sample.add(key));
        sample
    }

    #[test]
    fn a_sample_is_at_even_distances_and_cuts_evenly() {
        let large = sample(0..100_000);
        assert_eq!(large.weight, 8);
        assert!(large.keys.iter().enumerate().all(|(index, &key)| key == 8 * index as u64));
        assert_eq!(rows(std::slice::from_ref(&large)), 100_000);
        let both = [large, sample((0..1000).map(|key| 100_000 + key * 100))];
        let cuts = cuts(&both, 4);
        assert_eq!(cuts.len(), 3);
        assert!(
            cuts.iter()
                .zip([25_250, 50_500, 75_750])
                .all(|(&cut, even)| { cut >= even && cut < even + 9 })
        );
    }

    #[test]
    fn the_number_of_cuts_never_exceeds_that_of_keys() {
        assert!(cuts(&[], 7).is_empty());
        assert_eq!(cuts(&[sample([5, 5, 5].into_iter())], 7), [5]);
        assert!(cuts(&[sample([5, 9].into_iter())], 1).is_empty());
        assert_eq!(cuts(&[sample([9, 5].into_iter())], 2), [9]);
    }
}
