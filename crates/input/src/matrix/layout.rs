//! Reader of the names of the genes of a matrix, line by line, without its values.

use cuesta_core::{Error, Result};

use super::OPERATION;
use super::summaries::is_summary;
use super::table::{Table, form_error};
use crate::table::matrix::{MatrixForm, MatrixKind, recognise};
use crate::table::{Role, TableLine, TableLines, TableParams, fields};

/// Layout of the lines of a matrix, for reading only the names of the genes.
#[derive(Clone, Debug)]
pub(crate) struct LineLayout {
    form: MatrixForm,
}

impl LineLayout {
    /// The layout of a matrix that begins with these bytes; `None` if they are not of a matrix.
    ///
    /// # Errors
    /// `Input` if the first line may be a header or a gene, and for a damaged GCT or series.
    pub(crate) fn of(name: &str, first: &[u8]) -> Result<Option<Self>> {
        let form = match recognise(first, &TableParams::default(), &[]) {
            Ok(form) => form,
            Err(error) if error.what.starts_with("may be a header") => {
                let line = error.line.unwrap_or(1);
                let text = format!(
                    "line {line} of {name} may be a header or a gene, its values are numbers; give \
                     a list of names, one a line"
                );
                return Err(Error::input(OPERATION, text));
            }
            Err(error) if first.starts_with(b"#1.") || first.starts_with(b"!") => {
                return Err(form_error(name, &error));
            }
            Err(_) => return Ok(None),
        };
        let row = TableLines::new(&first[form.begins_at.0..], 0).next();
        let has_number = row.is_some_and(|row| {
            let texts = fields::fields(row.text, form.signs.delimiter);
            let values = texts.iter().zip(&form.roles).filter(|(_, role)| **role == Role::Value);
            values.into_iter().any(|(text, _)| form.number(text).is_some())
        });
        Ok(has_number.then_some(Self { form }))
    }

    /// Lines before the first gene.
    pub(crate) fn lines_before(&self) -> usize {
        self.form.begins_at.1
    }

    /// The name of the gene in a line that is not empty; `None` for a line of no gene.
    ///
    /// # Errors
    /// `Input` for a ragged line or a name that cannot be.
    pub(crate) fn gene(&self, name: &str, number: usize, text: &[u8]) -> Result<Option<String>> {
        let table = Table::new(name, self.form.clone());
        let line = TableLine { number, text };
        let is_end = self.form.kind == MatrixKind::Series && text.starts_with(b"!");
        if is_end || table.is_blank(&line) {
            return Ok(None);
        }
        let name = table.name_of(&line)?;
        Ok(Some(name).filter(|name| !is_summary(name)))
    }
}
