//! Columns of a matrix: the names of the genes, the samples, and what is left out.

use super::super::fields::is_blank;
use super::super::fit::TableFit;
use super::super::{Role, columns, counters, fields, shown};
use super::MatrixKind;
use super::header;

/// Fields of a row, and the form of the file that they show.
pub struct ColumnRoles {
    /// Form of the file.
    pub kind: MatrixKind,
    /// Fields of a row.
    pub roles: Vec<Role>,
}

/// Columns in front of the names of genes that are indices, as pandas writes them.
pub fn indices(fit: &TableFit<'_>, names: &[&[u8]]) -> usize {
    let is_index = |column: &usize| {
        let has_label = names.get(*column).is_none_or(|name| header::is_index_label(name));
        has_label && header::counts_rows(fit, *column)
    };
    let is_named = |name: &&[u8]| !is_blank(name) && header::is_label(name);
    let has_names = |column: usize| {
        fit.is_text.get(column) == Some(&true) || names.get(column).is_some_and(is_named)
    };
    let count = (0..fit.width()).take_while(is_index).count();
    if has_names(count) { count } else { 0 }
}

const NO_SAMPLE: &str = "give a table with a column of numbers for each sample";

/// Whether R gives a column this label where it has none.
fn is_r_index(label: &[u8]) -> bool {
    [&b"X"[..], b"V1"].contains(&label)
}

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
        } else if let Some(what) = self.counting(&chosen) {
            return Err(what);
        }
        self.with_samples(kind, &chosen)
    }

    /// The fault of columns right behind the names that count the genes.
    fn counting(&self, chosen: &[usize]) -> Option<String> {
        let values = |column: usize| self.fit.rows.iter().map(move |row| row[column]);
        let is_sample = |column: &&usize| self.is_sample(**column);
        let samples: Vec<usize> = chosen.iter().filter(is_sample).copied().collect();
        let is_many = self.fit.rows.len() >= counters::COUNTED_ROWS;
        let is_count = |column: &&usize| {
            let label = self.label(**column);
            let is_index = counters::is_counter(label) || (is_many && is_r_index(label));
            is_index && counters::counts(values(**column))
        };
        let count = chosen.iter().take_while(is_count).count();
        let rest: Vec<usize> =
            samples.iter().copied().filter(|column| !chosen[..count].contains(column)).collect();
        if count == 0 || rest.is_empty() {
            return None;
        }
        let named: Vec<String> = chosen[..count]
            .iter()
            .map(|&column| format!("{} {}", column + 1, shown(self.label(column))))
            .collect();
        let (noun, them) = if count == 1 { ("column", "it") } else { ("columns", "them") };
        let all: Vec<usize> =
            samples.iter().copied().filter(|&column| column > self.name).collect();
        Some(format!(
            "has {noun} {} of numbers that count the lines, or a sample; give --columns {} to \
             leave {them} out, --columns {} to keep {them}",
            named.join(", "),
            columns::ranges(&rest),
            columns::ranges(&all)
        ))
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
        let mut fields = self.fit.rows.iter().filter_map(|row| row.get(column));
        let disguised = fields.find_map(|field| Some((shown(field), fields::disguised(field)?)));
        if let Some((field, what)) = disguised {
            return format!("has a column {} with {field}, a number {what}", column + 1);
        }
        let is_named = header::is_annotation(label);
        let what = if is_named { "is no sample by its name" } else { "holds text" };
        let label = if label.is_empty() { String::new() } else { format!(" {}", shown(label)) };
        let (number, remedy) = (column + 1, self.remedy(chosen));
        if let Some(name) = self.later_name(column, chosen) {
            let samples = chosen.iter().copied().filter(|&c| c > name && self.is_sample(c));
            let of_names: Vec<usize> = [name].into_iter().chain(samples).collect();
            return format!(
                "has a column {number}{label} that {what}; to name the genes by column {}, give \
                 --columns {}",
                name + 1,
                columns::list(&of_names, self.width)
            );
        }
        if !is_named && self.may_name_genes(column) && chosen.first() == Some(&column) {
            let of_names = columns::list(&(column..self.width).collect::<Vec<_>>(), self.width);
            return format!(
                "has a column {number}{label} that {what}; to name the genes by it, give --columns \
                 {of_names}; to leave it out, {remedy}"
            );
        }
        format!("has a column {number}{label} that {what}; {remedy}")
    }

    /// The column of text that names the genes behind indices, of which `column` is one.
    fn later_name(&self, column: usize, chosen: &[usize]) -> Option<usize> {
        let is_index = |column: usize| counters::is_unnamed(self.label(column));
        let mut rest = chosen.iter().copied().skip_while(|&c| c < column || is_index(c));
        let name = rest.next()?;
        let is_front = is_index(self.name) && is_index(column) && chosen.first() == Some(&column);
        (is_front && self.may_name_genes(name)).then_some(name)
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
