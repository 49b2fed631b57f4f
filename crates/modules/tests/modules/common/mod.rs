//! Fixtures of R, as `tools/modules_oracle.py` writes them.
#![allow(dead_code, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

use cuesta_modules::params::NetworkType;

/// Input of R and its stages; NaN where a number is missing.
pub struct Fixture {
    pub name: String,
    pub values: Vec<f64>,
    pub samples: usize,
    pub power: u32,
    pub min_size: usize,
    pub stages: BTreeMap<String, Vec<f64>>,
}

impl Fixture {
    /// Numbers of a stage as labels.
    pub fn labels(&self, stage: &str) -> Vec<u32> {
        self.stages[stage].iter().map(|label| *label as u32).collect()
    }

    /// Stages whose names begin with `prefix`, which is cut off.
    pub fn below(&self, prefix: &str) -> impl Iterator<Item = (&str, &[f64])> {
        self.stages
            .iter()
            .filter_map(move |(name, values)| Some((name.strip_prefix(prefix)?, &values[..])))
    }
}

/// Reads all fixtures, from the folder `MODULES_FIXTURES` if it is set.
pub fn fixtures() -> Vec<Fixture> {
    let ours = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/modules/fixtures");
    let folder = std::env::var_os("MODULES_FIXTURES").map_or(ours, PathBuf::from);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths.into_iter().map(read).collect()
}

fn read(path: PathBuf) -> Fixture {
    let file = std::fs::File::open(&path).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let number = |text: &str| text.parse().unwrap_or(f64::NAN);
    let mut stages: BTreeMap<String, Vec<f64>> = text
        .lines()
        .map(|line| {
            let mut fields = line.split('\t');
            (fields.next().unwrap().to_owned(), fields.map(number).collect())
        })
        .collect();
    let sizes = stages.remove("sizes").unwrap();
    Fixture {
        name: path.file_name().unwrap().to_string_lossy().into_owned(),
        values: stages.remove("values").unwrap(),
        samples: sizes[0] as usize,
        power: sizes[1] as u32,
        min_size: sizes[2] as usize,
        stages,
    }
}

/// Network of a name in R.
pub fn network(name: &str) -> NetworkType {
    match name {
        "unsigned" => NetworkType::Unsigned,
        "signed" => NetworkType::Signed,
        _ => NetworkType::SignedHybrid,
    }
}

/// Asserts that numbers agree within `tolerance`, and are missing together; `expected` may hold
/// evenly spaced ones only.
pub fn assert_near(actual: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    let step = (1..=actual.len().max(1))
        .find(|step| actual.len().div_ceil(*step) == expected.len())
        .unwrap_or_else(|| panic!("{what}: {} for {}", actual.len(), expected.len()));
    for (place, (actual, expected)) in actual.iter().step_by(step).zip(expected).enumerate() {
        let is_near = (actual - expected).abs() <= tolerance;
        let both_missing = actual.is_nan() && expected.is_nan();
        assert!(is_near || both_missing, "{what}, {place}: {actual}, R has {expected}");
    }
}
