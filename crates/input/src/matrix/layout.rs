//! Reads the names of the genes of a matrix, line by line, without its values.

use cuesta_core::Result;

use super::Options;
use super::table::{Table, TableLine, delimiter};

/// How the lines of a matrix are read of which only the names of the genes are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineLayout {
    /// Whether the first line names the samples.
    pub has_header: bool,
    delimiter: u8,
    fields: usize,
}

impl LineLayout {
    /// The layout of a matrix whose first lines, with their numbers, are these; `None` where they
    /// are none of a matrix.
    ///
    /// # Errors
    /// `Input` where the first line may be a header or a gene.
    pub(crate) fn of(name: &str, first: &[(usize, Vec<u8>)]) -> Result<Option<Self>> {
        let lines: Vec<TableLine> =
            first.iter().map(|(number, text)| TableLine { number: *number, text }).collect();
        let Some(delimiter) = delimiter(&lines) else { return Ok(None) };
        let options = Options::default();
        let table = Table { name, options: &options, delimiter };
        let (is_header, _) = table.is_header(&lines);
        let Some(gene) = lines.get(usize::from(is_header == Some(true))) else { return Ok(None) };
        let fields = table.fields(gene.text);
        if !fields[1..].iter().any(|field| table.number(field).is_some()) {
            return Ok(None);
        }
        match is_header {
            Some(has_header) => Ok(Some(Self { has_header, delimiter, fields: fields.len() })),
            None => Err(table.error(
                gene,
                "may be a header or a gene, its values are numbers; give a list of names, one a \
                 line",
            )),
        }
    }

    /// The name of the gene in a line that is not empty.
    ///
    /// # Errors
    /// `Input` for a ragged line or a name that cannot be.
    pub(crate) fn gene(&self, name: &str, number: usize, text: &[u8]) -> Result<String> {
        let options = Options::default();
        let table = Table { name, options: &options, delimiter: self.delimiter };
        let line = TableLine { number, text };
        let count = table.count(text);
        if count != self.fields {
            let what = format!("has {count} fields, expected {}", self.fields);
            return Err(table.error(&line, &what));
        }
        table.gene_name(&line, table.split(text).0)
    }
}
