//! Doubts about a matrix: counts of what a user may not have meant.

use super::{ExpressionMatrix, GeneMatrix};

/// Largest value that expression on a logarithmic scale does not reach, if it is a whole number.
const WHOLE_MAX: f64 = 1000.0;
/// Value that at most one in a hundred logarithms exceeds (the rule of GEO2R).
const LOGARITHM_MAX: f64 = 100.0;
/// Largest value of a matrix that has logarithms already.
const LOGGED_MAX: f64 = 50.0;
/// Months as spreadsheets write them.
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

impl GeneMatrix {
    /// Returns the counts of a run that say what is doubtful, those over 0, by name.
    ///
    /// - `summary_rows`, `repeated_samples`: rows of no gene; samples with the name of another.
    /// - `names_like_dates`: genes such as `1-Mar`, which a spreadsheet has changed.
    /// - `value_largest_raw_count`: the largest value where all are whole numbers from 0, as raw
    ///   counts.
    /// - `value_largest_unlogged`: the largest value where many are over 100 and none is negative.
    /// - `value_largest_logged`: the largest value, rounded up, where `log2` takes logarithms of
    ///   values that look like logarithms already.
    pub fn doubts(&self, log2: bool) -> impl Iterator<Item = (&'static str, u64)> {
        let (values, zeros) = match self {
            Self::Dense(matrix) => (&matrix.values[..], 0),
            Self::Sparse(matrix) => {
                let all = matrix.genes.len() * matrix.samples.len();
                (matrix.values(), all - matrix.values().len())
            }
        };
        of(self.genes(), (self.left_out(), self.repeated_samples()), scale(values, zeros, log2))
    }
}

impl ExpressionMatrix {
    /// Returns the same as [`GeneMatrix::doubts`].
    pub fn doubts(&self, log2: bool) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = (self.left_out, self.repeated_samples());
        of(&self.genes, counts, scale(&self.values, 0, log2))
    }
}

type Doubt = (&'static str, u64);

fn of(
    genes: &[String],
    (left_out, repeated_samples): (u64, u64),
    scale: Option<Doubt>,
) -> impl Iterator<Item = Doubt> + use<> {
    let dates = genes.iter().filter(|name| is_date(name)).count() as u64;
    [
        ("summary_rows", left_out),
        ("repeated_samples", repeated_samples),
        ("names_like_dates", dates),
    ]
    .into_iter()
    .chain(scale)
    .filter(|(_, count)| *count > 0)
}

/// Returns the doubt about the scale of values, beside which there are `zeros`, if there is any.
fn scale(values: &[f64], zeros: usize, log2: bool) -> Option<Doubt> {
    let present = || values.iter().filter(|value| !value.is_nan());
    let largest = present().fold(0.0_f64, |largest, value| largest.max(*value));
    if present().any(|value| *value < 0.0) {
        return None;
    }
    let is_integral = present().all(|value| value.fract() == 0.0);
    if log2 {
        let is_logged = !is_integral && largest <= LOGGED_MAX;
        return is_logged.then_some(("value_largest_logged", largest.ceil() as u64));
    }
    if is_integral {
        return (largest > WHOLE_MAX).then_some(("value_largest_raw_count", largest as u64));
    }
    let over = present().filter(|value| **value > LOGARITHM_MAX).count();
    let is_unlogged = 100 * over > present().count() + zeros;
    is_unlogged.then_some(("value_largest_unlogged", largest as u64))
}

/// Whether a name is a day and a month as spreadsheets write them: `1-Mar`, `Mar-01`, `2-SEP`.
fn is_date(name: &str) -> bool {
    let Some((first, second)) = name.split_once('-') else { return false };
    let is_day = |text: &str| matches!(text.parse::<u8>(), Ok(1..=31)) && text.len() <= 2;
    let is_month = |text: &str| MONTHS.contains(&text.to_ascii_lowercase().as_str());
    is_day(first) && is_month(second) || is_month(first) && is_day(second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_doubted_by_its_values() {
        let counts = vec![0.0, 5.0, 1001.0, f64::NAN];
        let rates = vec![0.5, 0.0, 101.5];
        let logarithms = vec![0.5, 14.5];
        for (values, log2, expected) in [
            (&counts, false, Some(("value_largest_raw_count", 1001))),
            (&counts, true, None),
            (&vec![0.0, 5.0, 1000.0], false, None),
            (&rates, false, Some(("value_largest_unlogged", 101))),
            (&rates, true, None),
            (&vec![-0.5, 101.5], false, None),
            (&logarithms, false, None),
            (&logarithms, true, Some(("value_largest_logged", 15))),
            (&vec![1.0, 14.0], true, None),
            (&vec![], false, None),
        ] {
            let matrix = ExpressionMatrix { values: values.clone(), ..ExpressionMatrix::default() };
            assert_eq!(matrix.doubts(log2).next(), expected, "{values:?} {log2}");
        }
    }

    #[test]
    fn days_of_months_are_names_like_dates() {
        for name in ["1-Mar", "2-SEP", "Dec-01", "10-Oct", "Mar-9"] {
            assert!(is_date(name), "{name}");
        }
        for name in ["MARCH1", "1-Marx", "32-Mar", "HLA-A", "NKX2-1", "001-Mar", "-Mar", "Mar"] {
            assert!(!is_date(name), "{name}");
        }
    }
}
