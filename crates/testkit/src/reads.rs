//! Text of read files.

/// Formats reads as FASTA with two lines of bases a read, or as FASTQ; each read has at least as
/// many qualities as bases; lines end as in Unix or Windows.
pub fn reads_text(reads: &[(String, String)], is_fasta: bool, is_windows: bool) -> String {
    let end = if is_windows { "\r\n" } else { "\n" };
    let mut text = String::new();
    for (index, (bases, qualities)) in reads.iter().enumerate() {
        if is_fasta {
            let (first, second) = bases.split_at(bases.len() / 2);
            text += &format!(">r{index}{end}{first}{end}{second}{end}");
        } else {
            let qualities = &qualities[..bases.len()];
            text += &format!("@r{index}{end}{bases}{end}+{end}{qualities}{end}");
        }
    }
    text
}
