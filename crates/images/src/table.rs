//! The answer file: what was found in every image, and in all.

use std::fmt::Write;

use cuesta_core::digest::{Digest, Tag};
use serde::{Deserialize, Serialize};

/// The answer file.
pub const FEATURES_FILE: &str = "features.tsv";
/// Its columns.
pub const HEADER: [&str; 9] =
    ["image", "file", "page", "height", "width", "threshold", "pixels", "objects", "largest"];
/// What the last line has for an image.
pub const ALL: &str = "all";
/// What it has for what all images together do not have.
const NONE: &str = "-";
/// What stands for an image in the record of all images.
const ALL_IMAGES: u64 = u64::MAX;

/// What was found in an image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its number.
    pub image: u64,
    /// Its file.
    pub file: String,
    /// Which of the file's images it is.
    pub page: u64,
    /// Rows of pixels.
    pub height: u64,
    /// Pixels of a row.
    pub width: u64,
    /// The threshold.
    pub threshold: f64,
    /// What was counted.
    pub counts: Counts,
}

/// Counts of an image, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Pixels of features.
    pub pixels: u64,
    /// Objects.
    pub objects: u64,
    /// Pixels of the largest object.
    pub largest: u64,
}

impl Counts {
    /// Adds those of other images.
    pub fn add(&mut self, other: &Self) {
        self.pixels += other.pixels;
        self.objects += other.objects;
        self.largest = self.largest.max(other.largest);
    }

    /// Appends the last line.
    pub fn append_all(&self, out: &mut String) {
        let Self { pixels, objects, largest } = self;
        // Writing to a string cannot fail.
        let nothing = [NONE; 5].join("\t");
        let _ = writeln!(out, "{ALL}\t{nothing}\t{pixels}\t{objects}\t{largest}");
    }

    /// Adds the record of all images.
    pub fn add_all(&self, digest: &mut Digest) {
        digest.add(Tag::Images, &[ALL_IMAGES, 0, 0, 0, 0, self.pixels, self.objects, self.largest]);
    }

    fn parse<'a>(mut fields: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut next = || fields.next()?.parse().ok();
        let counts = Self { pixels: next()?, objects: next()?, largest: next()? };
        fields.next().is_none().then_some(counts)
    }
}

impl Row {
    /// Appends the line.
    pub fn append(&self, out: &mut String) {
        let Self { image, file, page, height, width, .. } = self;
        let Counts { pixels, objects, largest } = self.counts;
        let threshold = decimal(self.threshold);
        let _ = write!(out, "{image}\t{file}\t{page}\t{height}\t{width}\t{threshold}");
        let _ = writeln!(out, "\t{pixels}\t{objects}\t{largest}");
    }

    /// Adds the record, which the name of the file is no part of.
    pub fn add(&self, digest: &mut Digest) {
        let Counts { pixels, objects, largest } = self.counts;
        // Minus zero is zero.
        let threshold = (self.threshold + 0.0).to_bits();
        let words = [self.image, self.page, self.height, self.width, threshold];
        digest.add(Tag::Images, &[&words[..], &[pixels, objects, largest]].concat());
    }

    /// Reads a line.
    pub fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let image = fields.next()?.parse().ok()?;
        let file = fields.next()?.to_owned();
        let mut next = || fields.next()?.parse().ok();
        let (page, height, width) = (next()?, next()?, next()?);
        let threshold = fields.next()?.parse().ok()?;
        let counts = Counts::parse(fields)?;
        Some(Self { image, file, page, height, width, threshold, counts })
    }
}

/// Reads the last line.
pub fn parse_all(line: &str) -> Option<Counts> {
    let mut fields = line.split('\t');
    let is_all = fields.next() == Some(ALL) && fields.by_ref().take(5).all(|field| field == NONE);
    if is_all { Counts::parse(fields) } else { None }
}

/// A file's name as a field of a line.
pub fn field(name: &std::path::Path) -> String {
    name.display().to_string().replace(['\t', '\n', '\r'], " ")
}

/// The shortest decimal that is read back as this number.
fn decimal(value: f64) -> String {
    // Not more than some twenty characters, and no exponent where people write none.
    if value == 0.0 || (1e-5..1e15).contains(&value.abs()) {
        format!("{}", value + 0.0)
    } else {
        format!("{value:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_back() {
        let counts = Counts { pixels: 9, objects: 2, largest: 8 };
        for threshold in [0.0, -0.0, 107.0, 0.1, 1e-7, -3.5e20, 1.0 / 3.0] {
            let file = "a b/c.tif".to_owned();
            let row = Row { image: 3, file, page: 1, height: 4, width: 5, threshold, counts };
            let mut line = String::new();
            row.append(&mut line);
            assert_eq!(Row::parse(line.trim_end()), Some(row), "{line}");
        }
        let mut line = String::new();
        counts.append_all(&mut line);
        assert_eq!(line, "all\t-\t-\t-\t-\t-\t9\t2\t8\n");
        assert_eq!(parse_all(line.trim_end()), Some(counts));
        for bad in ["", "all", "all\t-\t-\t-\t-\t1\t9\t2\t8", "all\t-\t-\t-\t-\t-\t9\t2\t8\t1"] {
            assert_eq!((Row::parse(bad), parse_all(bad)), (None, None), "{bad}");
        }
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(decimal(107.0), "107");
        assert_eq!(decimal(-0.0), "0");
        assert_eq!(decimal(1e-7), "1e-7");
        assert_eq!(decimal(1e100), "1e100");
    }
}
