//! The answer file: sums and averages of every block, and of all.

use std::fmt::Write;

/// The answer file.
pub const AVERAGES_FILE: &str = "averages.tsv";
/// Its columns. Sums are in units of 2^-16.
pub const HEADER: [&str; 8] =
    ["block", "vectors", "sum_x", "sum_y", "sum_z", "mean_x", "mean_y", "mean_z"];
/// What the last line has for a block number: the sums of all blocks.
pub const ALL: &str = "all";
/// Decimals of a mean.
const DECIMALS: u32 = 6;

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

/// The mean of `vectors` coordinates, rounded to the nearest decimal, half away from zero.
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
