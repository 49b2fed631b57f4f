//! Answer file: measures of each image, and counts of all.

use std::fmt::Write;

use cuesta_core::digest::{Digest, Tag};
use serde::{Deserialize, Serialize};

/// Name of the answer file.
pub const FEATURES_FILE: &str = "features.tsv";
/// Columns of the answer file.
pub const HEADER: [&str; 9] =
    ["image", "file", "page", "height", "width", "threshold", "pixels", "objects", "largest"];
/// Image name of the last line.
pub const ALL: &str = "all";
/// Field of the last line for a column that all images together do not have.
const NONE: &str = "-";
/// Image number in the digest record of all images.
const ALL_IMAGES: u64 = u64::MAX;

/// Measures of an image: a line of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Number of the image.
    pub image: u64,
    /// Name of the file that contains the image.
    pub file: String,
    /// Number of the image within its file.
    pub page: u64,
    /// Rows of pixels.
    pub height: u64,
    /// Pixels of a row.
    pub width: u64,
    /// Threshold between objects and background.
    pub threshold: f64,
    /// Counts of the image.
    pub counts: Counts,
}

/// Counts of an image, or of all images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Pixels of all objects.
    pub pixels: u64,
    /// Number of objects.
    pub objects: u64,
    /// Pixels of the largest object.
    pub largest: u64,
}

impl Counts {
    /// Adds the counts of further images.
    pub fn add(&mut self, more: &Self) {
        self.pixels += more.pixels;
        self.objects += more.objects;
        self.largest = self.largest.max(more.largest);
    }

    /// Appends the last line, with these counts.
    pub fn append_all(&self, out: &mut String) {
        let Self { pixels, objects, largest } = self;
        // Writing to a string cannot fail.
        let nothing = [NONE; 5].join("\t");
        let _ = writeln!(out, "{ALL}\t{nothing}\t{pixels}\t{objects}\t{largest}");
    }

    /// Adds the digest record of all images.
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

    /// Adds the digest record of the row, which omits the name of the file.
    pub fn add(&self, digest: &mut Digest) {
        let Counts { pixels, objects, largest } = self.counts;
        // Adding zero turns minus zero into zero.
        let threshold = (self.threshold + 0.0).to_bits();
        let words = [self.image, self.page, self.height, self.width, threshold];
        digest.add(Tag::Images, &[&words[..], &[pixels, objects, largest]].concat());
    }

    /// Parses a line.
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

/// Parses the last line.
pub fn parse_all(line: &str) -> Option<Counts> {
    let mut fields = line.split('\t');
    let is_all = fields.next() == Some(ALL) && fields.by_ref().take(5).all(|field| field == NONE);
    if is_all { Counts::parse(fields) } else { None }
}

/// Returns the name of a file as a field of a line.
pub fn field(name: &std::path::Path) -> String {
    name.display().to_string().replace(['\t', '\n', '\r'], " ")
}

/// Formats a number as the shortest decimal that parses to it.
fn decimal(value: f64) -> String {
    // At most some twenty characters, and no exponent where it is not customary.
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
