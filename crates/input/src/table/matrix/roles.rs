//! Columns of a matrix: the names of the genes, the samples, and what is left out.

use super::super::fit::TableFit;
use super::super::{Role, columns, fields, shown};
use super::MatrixKind;
use super::header;

/// Fields of a row, and the form of the file that they show.
pub struct ColumnRoles {
    /// Form of the file.
    pub kind: MatrixKind,
    /// Fields of a row.
    pub roles: Vec<Role>,
}

const NO_SAMPLE: &str = "give a table with a column of numbers for each sample";

/// Columns of a table that may be a matrix.
#[derive(Clone, Copy)]
pub struct MatrixColumns<'a> {
    /// First lines in fields.
    pub fit: &'a TableFit<'a>,
    /// Names of the columns; empty without a header.
    pub names: &'a [&'a [u8]],
    /// Number of columns.
    pub width: usize,
    /// Column with the names of the genes, from 0.
    pub name: usize,
}

impl MatrixColumns<'_> {
    /// The layout of a row, whose samples are those of `--columns` where it is given. The first of
    /// these names the genes if it holds text and the first of all is numbers, as an index is.
    ///
    /// # Errors
    /// A sentence continuing "line N of FILE" about a column that is no sample.
    pub fn layout(&self, list: Option<&str>) -> Result<ColumnRoles, String> {
        let is_counts = header::is_feature_counts(self.names);
        let kind = if is_counts { MatrixKind::FeatureCounts } else { MatrixKind::Delimited };
        let mut chosen: Vec<usize> = (self.name + 1..self.width).collect();
        if let Some(list) = list {
            chosen = columns::chosen(list, self.names, self.width)?;
            if let Some(&name) = chosen.first().filter(|&&column| self.may_name_genes(column)) {
                let columns = Self { name, ..*self };
                return columns.with_samples(kind, &chosen[1..]);
            }
            // An index in front of the names is no sample.
            chosen.retain(|column| *column >= self.name);
            if chosen.contains(&self.name) {
                let (number, remedy) = (self.name + 1, self.remedy(&chosen));
                return Err(format!(
                    "has the names of genes in column {number}, which --columns asks for; {remedy}"
                ));
            }
        } else if is_counts {
            chosen.retain(|column| !header::FEATURE_COUNTS_ANNOTATION.contains(column));
        } else if let Some(&column) = chosen.iter().find(|&&column| self.is_nameless(column)) {
            let (number, remedy) = (column + 1, self.remedy(&chosen));
            return Err(format!(
                "has a column {number} without a name; name it, or to leave it out, {remedy}"
            ));
        }
        self.with_samples(kind, &chosen)
    }

    /// Whether a header leaves the name of a column of numbers out.
    fn is_nameless(&self, column: usize) -> bool {
        !self.names.is_empty() && self.is_sample(column) && self.label(column).is_empty()
    }

    /// The layout of a row with these samples.
    fn with_samples(&self, kind: MatrixKind, chosen: &[usize]) -> Result<ColumnRoles, String> {
        if let Some(&column) = chosen.iter().find(|&&column| !self.is_sample(column)) {
            return Err(self.no_sample(column, chosen));
        }
        if chosen.is_empty() {
            return Err(format!("has no sample behind column {}; {NO_SAMPLE}", self.name + 1));
        }
        let mut roles = vec![Role::Skipped; self.width];
        chosen.iter().for_each(|&column| roles[column] = Role::Value);
        roles[self.name] = Role::Name;
        Ok(ColumnRoles { kind, roles })
    }

    /// Whether a column behind numbers holds text.
    fn may_name_genes(&self, column: usize) -> bool {
        let is_text = |column: usize| self.fit.is_text.get(column) == Some(&true);
        column > self.name && is_text(column) && !is_text(self.name)
    }

    /// The first name, where all names are decimal fractions: those of a table without names.
    pub fn number_as_name(&self) -> Option<&[u8]> {
        let sign = self.fit.signs.decimal;
        let names = || self.fit.rows.iter().filter_map(|row| row.get(self.name).copied());
        let is_fraction = |name: &[u8]| {
            let has_sign = memchr::memchr(sign, fields::bare(name)).is_some();
            has_sign && fields::number(name, sign).is_some()
        };
        let has_label = self.names.get(self.name).is_some_and(|label| header::is_label(label));
        let all = !has_label && self.fit.rows.len() > 1 && names().all(is_fraction);
        names().next().filter(|_| all)
    }

    fn label(&self, column: usize) -> &[u8] {
        self.names.get(column).map_or(&b""[..], |label| fields::bare(label))
    }

    fn is_sample(&self, column: usize) -> bool {
        let is_text = self.fit.is_text.get(column) == Some(&true);
        !is_text && !header::is_annotation(self.label(column))
    }

    fn no_sample(&self, column: usize, chosen: &[usize]) -> String {
        let label = self.label(column);
        let is_named = header::is_annotation(label);
        let what = if is_named { "is no sample by its name" } else { "holds text" };
        let label = if label.is_empty() { String::new() } else { format!(" {}", shown(label)) };
        let (number, remedy) = (column + 1, self.remedy(chosen));
        if !is_named && self.may_name_genes(column) && chosen.first() == Some(&column) {
            let of_names = columns::list(&(column..self.width).collect::<Vec<_>>(), self.width);
            return format!(
                "has a column {number}{label} that {what}; to name the genes by it, give --columns \
                 {of_names}; to leave it out, {remedy}"
            );
        }
        format!("has a column {number}{label} that {what}; {remedy}")
    }

    /// The remedy for a choice with a column that is no sample: the rest of it, or all samples.
    fn remedy(&self, chosen: &[usize]) -> String {
        let is_sample = |column: &usize| *column != self.name && self.is_sample(*column);
        let mut samples: Vec<usize> = chosen.iter().copied().filter(is_sample).collect();
        if samples.iter().any(|&column| !self.is_nameless(column)) {
            samples.retain(|&column| !self.is_nameless(column));
        }
        if samples.is_empty() {
            samples = (self.name + 1..self.width).filter(is_sample).collect();
        }
        match samples.is_empty() {
            true => NO_SAMPLE.to_owned(),
            false => format!(
                "give the columns of the samples, such as --columns {}",
                columns::list(&samples, self.width)
            ),
        }
    }
}
