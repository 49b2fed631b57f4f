//! The text of files of reads.

/// FASTA with two lines of bases a read, or FASTQ, of bases with at least as many qualities; its
/// lines end as Unix or Windows ends them.
pub fn reads_text(reads: &[(String, String)], is_fasta: bool, is_windows: bool) -> String {
    let end = if is_windows { "\r\n" } else { "\n" };
    let mut text = String::new();
    for (index, (bases, qualities)) in reads.iter().enumerate() {
        if is_fasta {
            let (one, two) = bases.split_at(bases.len() / 2);
            text += &format!(">r{index}{end}{one}{end}{two}{end}");
        } else {
            let qualities = &qualities[..bases.len()];
            text += &format!("@r{index}{end}{bases}{end}+{end}{qualities}{end}");
        }
    }
    text
}
