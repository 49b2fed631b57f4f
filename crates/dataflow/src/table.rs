//! Answer file: sums and averages of each block, and of all blocks.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use cuesta_core::{Error, Result};

use crate::kernel::AXES;
use crate::params::Plan;
use crate::reduce::Total;

/// Name of the answer file.
pub const AVERAGES_FILE: &str = "averages.tsv";
/// Columns of the answer file. Sums are in units of 2^-16.
pub const HEADER: [&str; 8] =
    ["block", "vectors", "sum_x", "sum_y", "sum_z", "mean_x", "mean_y", "mean_z"];
/// Block name of the last line, which has the sums of all blocks.
pub const ALL: &str = "all";
/// Bytes of text written at once.
const PART_BYTES: usize = 1 << 20;
/// Decimals of a mean.
const DECIMALS: u32 = 6;

/// Writes the table of the blocks of a run into a folder; returns its size in bytes.
///
/// # Errors
/// `System`.
pub fn write(
    folder: &Path,
    plan: &Plan,
    sums: impl Fn(u64) -> [i64; AXES],
    total: Total,
) -> Result<u64> {
    let path = folder.join(AVERAGES_FILE);
    let failed = |cause| Error::system("answer", "writing", &path, &cause);
    let mut file = File::create(&path).map_err(failed)?;
    let mut bytes = 0;
    let mut text = HEADER.join("\t");
    text.push('\n');
    for block in 0..plan.blocks {
        append(&mut text, &block.to_string(), plan.vectors_of(block), sums(block).map(i128::from));
        if text.len() >= PART_BYTES {
            file.write_all(text.as_bytes()).map_err(failed)?;
            bytes += text.len() as u64;
            text.clear();
        }
    }
    append(&mut text, ALL, plan.vectors, total);
    file.write_all(text.as_bytes()).map_err(failed)?;
    Ok(bytes + text.len() as u64)
}

/// Appends a line.
pub fn append(out: &mut String, block: &str, vectors: u64, sums: [i128; 3]) {
    out.push_str(block);
    // Writing to a string cannot fail.
    let _ = write!(out, "\t{vectors}");
    for sum in sums {
        let _ = write!(out, "\t{sum}");
    }
    for sum in sums {
        out.push('\t');
        append_mean(out, sum, vectors);
    }
    out.push('\n');
}

/// Appends the mean of `vectors` coordinates, rounded to the nearest decimal, half away from zero.
fn append_mean(out: &mut String, sum: i128, vectors: u64) {
    let scale = 10u128.pow(DECIMALS);
    let divisor = u128::from(vectors) << 16;
    let rounded = (2 * sum.unsigned_abs() * scale + divisor) / (2 * divisor);
    let sign = if sum < 0 && rounded > 0 { "-" } else { "" };
    let _ = write!(out, "{sign}{}.{:06}", rounded / scale, rounded % scale);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_rounded_from_the_exact_sums() {
        let mut text = String::new();
        append(&mut text, "0", 2, [65_536, -65_536 * 3, -1]);
        assert_eq!(text, "0\t2\t65536\t-196608\t-1\t0.500000\t-1.500000\t-0.000008\n");
        let mut text = String::new();
        append(&mut text, ALL, 1 << 40, [-1, 0, 1]);
        assert!(text.ends_with("\t0.000000\t0.000000\t0.000000\n"));
    }
}
