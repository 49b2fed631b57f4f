//! Tables that programs write for a single sample, by their headers.

use super::super::{columns, fields};

/// Programs that write a sample a file: name, first labels of their columns in lower case, and
/// whether there are no others.
const SINGLE_SAMPLES: [(&str, &[&str], bool); 5] = [
    ("salmon (quant.sf)", &["name", "length", "effectivelength", "tpm", "numreads"], true),
    ("kallisto", &["target_id", "length", "eff_length", "est_counts", "tpm"], true),
    (
        "RSEM (genes.results)",
        &["gene_id", "transcript_id(s)", "length", "effective_length", "expected_count"],
        false,
    ),
    (
        "RSEM (isoforms.results)",
        &["transcript_id", "gene_id", "length", "effective_length", "expected_count"],
        false,
    ),
    (
        "StringTie",
        &["gene id", "gene name", "reference", "strand", "start", "end", "coverage", "fpkm", "tpm"],
        true,
    ),
];
/// First columns of Cufflinks.
const CUFFLINKS: [&str; 5] =
    ["tracking_id", "class_code", "nearest_ref_id", "gene_id", "gene_short_name"];

/// The fault of a header that a program writes for a single sample, or with more than values.
pub fn fault(labels: &[&[u8]], list: Option<&str>) -> Option<String> {
    let labels: Vec<String> = labels
        .iter()
        .map(|label| String::from_utf8_lossy(fields::bare(label)).to_lowercase())
        .collect();
    let starts = |known: &[&str]| {
        labels.len() >= known.len() && labels.iter().zip(known).all(|(label, known)| label == known)
    };
    let is_output = |(_, known, is_all): &&(&str, &[&str], bool)| {
        starts(known) && (!is_all || labels.len() == known.len())
    };
    if let Some((program, ..)) = SINGLE_SAMPLES.iter().find(is_output) {
        return Some(single(program));
    }
    if !starts(&CUFFLINKS) {
        return None;
    }
    let is_value = |column: &usize| labels[*column].ends_with("fpkm");
    let values: Vec<usize> = (0..labels.len()).filter(is_value).collect();
    match values.len() {
        0 => None,
        1 => Some(single("Cufflinks")),
        _ if list.is_some() => None,
        _ => Some(format!(
            "names columns of Cufflinks, of which some are no samples; give --columns {}, those of \
             FPKM",
            columns::ranges(&values)
        )),
    }
}

fn single(program: &str) -> String {
    format!(
        "is the header of {program}, which has a single sample a file; join one column of each \
         sample into a table, as tximport does in R"
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::TableParams;
    use super::super::recognise;

    fn refusal(text: &str, list: Option<&str>) -> Option<String> {
        let params = TableParams { columns: list.map(str::to_owned), ..TableParams::default() };
        recognise(text.as_bytes(), &params, &[]).err().map(|error| error.what)
    }

    /// Columns of a single sample were offered as samples: lengths and units of one quantity.
    #[test]
    fn outputs_of_a_sample_are_no_matrix() {
        for (header, program) in [
            ("Name\tLength\tEffectiveLength\tTPM\tNumReads", "salmon"),
            ("target_id\tlength\teff_length\test_counts\ttpm", "kallisto"),
            ("gene_id\ttranscript_id(s)\tlength\teffective_length\texpected_count", "RSEM"),
        ] {
            let text = format!("{header}\na\t1\t2\t3\t4\nb\t5\t6\t7\t8\n");
            for list in [None, Some("4-5")] {
                let what = refusal(&text, list).unwrap();
                assert!(what.contains(program) && what.contains("single sample"), "{what}");
            }
        }
    }

    #[test]
    fn the_columns_offered_for_cufflinks_are_read() {
        let front = "tracking_id\tclass_code\tnearest_ref_id\tgene_id\tgene_short_name\tlocus";
        let text = |samples: &[&str]| {
            let of = |end: &str| samples.iter().map(|s| format!("\t{s}{end}")).collect::<String>();
            let header = samples.iter().map(|s| format!("\t{s}_FPKM\t{s}_status"));
            let header = header.collect::<String>();
            let row = of("").replace(samples[0], "1.5\tOK").replace(samples[1], "2.5\tOK");
            let rows =
                ["X1", "X2", "X3"].map(|name| format!("{name}\t-\t-\t{name}\tg\tc:1{row}\n"));
            format!("{front}{header}\n{}", rows.concat())
        };
        let text = text(&["q1", "q2"]);
        let what = refusal(&text, None).unwrap();
        assert!(what.contains("--columns 7-7,9-9, those of FPKM"), "{what}");
        assert_eq!(refusal(&text, Some("7-7,9-9")), None);
    }
}
