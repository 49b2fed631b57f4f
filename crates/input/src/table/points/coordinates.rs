//! Columns of points: coordinates, and those that are none.

use super::super::counters::{self, PointColumn};
use super::super::fields::{self, is_blank, is_quoted};
use super::super::fit::TableFit;
use super::super::{Role, columns, shown};

/// Columns of `centres.tsv` in front of the coordinates.
const OF_CENTRES: [&str; 3] = ["cluster", "size", "inertia"];

/// The use of each column, and those that are left out in words; `is_first_row` says that the first
/// line is a point that the other rows lack.
///
/// # Errors
/// A sentence continuing "line N of FILE" about a column that is no coordinate, or may be none.
pub fn recognise(
    fit: &TableFit,
    names: &[&[u8]],
    is_first_row: bool,
) -> Result<(Vec<Role>, Option<String>), String> {
    let width = fit.width();
    let mut rows: Vec<&[&[u8]]> = fit.rows.iter().map(Vec::as_slice).collect();
    if is_first_row && fit.rows[0] != fit.first {
        rows.insert(0, &fit.first[..width]);
    }
    let mut facts: Vec<PointColumn> =
        (0..width).map(|column| facts(fit, names, &rows, column)).collect();
    let left_out = skipped(fit, names, &facts);
    left_out.iter().for_each(|(column, _)| facts[*column].is_skipped = true);
    let texts: Vec<usize> =
        (0..width).filter(|&column| fit.is_text[column] && !facts[column].is_skipped).collect();
    texts.iter().for_each(|&column| facts[column].is_skipped = true);
    if let Some(what) = counters::doubt(&facts, rows.len()) {
        return Err(what);
    }
    let is_text = |&column: &usize| fit.is_text[column];
    let mut fields =
        (0..width).filter(is_text).flat_map(|c| rows.iter().map(move |row| (c, row[c])));
    let disguised =
        fields.find_map(|(column, field)| Some((column, field, fields::disguised(field)?)));
    if let Some((column, field, what)) = disguised {
        return Err(format!("has a column {} with {}, a number {what}", column + 1, shown(field)));
    }
    if let Some(&column) = texts.first() {
        let label = names.get(column).map_or(String::new(), |name| format!(" {}", shown(name)));
        let numbers: Vec<usize> = (0..width).filter(|&c| !facts[c].is_skipped).collect();
        return Err(format!(
            "has a column {}{label} that holds text, such as {}; give the columns of the \
             coordinates, such as --columns {}",
            column + 1,
            shown(fit.rows[0][column]),
            columns::list(&numbers, width)
        ));
    }
    let role = |column: &PointColumn| if column.is_skipped { Role::Skipped } else { Role::Value };
    let words: Vec<String> =
        left_out.iter().map(|(column, what)| format!("{} ({what})", column + 1)).collect();
    let noun = if words.len() == 1 { "column" } else { "columns" };
    let words = format!("{noun} {} left out", words.join(", "));
    Ok((facts.iter().map(role).collect(), (!left_out.is_empty()).then_some(words)))
}

/// Whether these names are those of `centres.tsv`.
pub fn is_answer(names: &[&[u8]]) -> bool {
    let is_equal = |(name, known): (&&[u8], &&str)| fields::bare(name) == known.as_bytes();
    names.len() > OF_CENTRES.len() && names.iter().zip(&OF_CENTRES).all(is_equal)
}

/// Whether a first line of whole numbers, of which `named` fields are not empty at its end, stands
/// above an index: it has an empty corner, or lacks the field above an index or names.
///
/// # Errors
/// A sentence continuing "line N of FILE" for an empty corner above numbers that are no index.
pub fn numbered_header(fit: &TableFit, named: usize) -> Result<bool, String> {
    let width = fit.width();
    let is_integer =
        |field: &&[u8]| str::from_utf8(fields::bare(field)).is_ok_and(|t| t.parse::<u64>().is_ok());
    let names = &fit.first[..named];
    if named + 1 == width && width > 1 {
        // Above few rows, it may be a point that lacks a number.
        let is_index = fit.rows.len() >= counters::COUNTED_ROWS
            && (fit.is_text[0] || counters::counts(fit.rows.iter().map(|row| row[0])));
        return Ok(names.iter().all(is_integer) && is_index);
    }
    if named != width || width < 2 || !is_blank(names[0]) || !names[1..].iter().all(is_integer) {
        return Ok(false);
    }
    if fit.is_text[0] || fit.rows.iter().all(|row| is_integer(&row[0])) {
        return Ok(true);
    }
    Err("has an empty field 1 and then whole numbers; give --header present if it names the \
         columns, else a number in that field"
        .to_owned())
}

fn facts(fit: &TableFit, names: &[&[u8]], rows: &[&[&[u8]]], column: usize) -> PointColumn {
    let numbers = || rows.iter().map(|row| fields::number(row[column], fit.signs.decimal));
    let is_fraction = |number: f64| number.is_finite() && number.fract() != 0.0;
    PointColumn {
        label: names.get(column).map(|name| fields::bare(name).to_vec()),
        is_integer: numbers().all(|number| number.is_some_and(|value| value.fract() == 0.0)),
        counts: counters::counts(rows.iter().map(|row| row[column])),
        has_fraction: !fit.is_text[column] && numbers().flatten().any(is_fraction),
        is_skipped: false,
    }
}

/// Columns in front of the coordinates, and what they hold: names of rows, indices of pandas, and
/// those of `centres.tsv`.
fn skipped(fit: &TableFit, names: &[&[u8]], facts: &[PointColumn]) -> Vec<(usize, &'static str)> {
    let width = fit.width();
    if is_answer(names) && facts[0].counts {
        return (0..).zip(OF_CENTRES).collect();
    }
    let is_index = |column: usize| names.get(column).is_some_and(|name| counters::is_unnamed(name));
    let mut left_out = Vec::new();
    for (column, fact) in facts[..width.saturating_sub(1)].iter().enumerate() {
        let quoted = |row: &Vec<&[u8]>| is_quoted(row[0]) && !row[1..].iter().any(|f| is_quoted(f));
        let what = match column {
            0 if fit.is_text[0] => "names of the rows",
            0 if is_index(0) || fit.rows.iter().all(quoted) => "an index",
            1.. if is_index(column) && fact.is_integer => "an index",
            _ => break,
        };
        left_out.push((column, what));
    }
    left_out
}

#[cfg(test)]
mod tests {
    use super::super::super::{TableParams, points::recognise};

    /// Rows of three fractions behind so many fields that a function of the row makes.
    fn text(header: &str, front: impl Fn(usize) -> String) -> String {
        let row = |row: usize| format!("{}{}.5,{}.25,1.75\n", front(row), row * 7 % 5, row * 3 % 4);
        format!("{header}\n{}", (0..9).map(row).collect::<String>())
    }

    /// Columns that number the points became coordinates, without a word: those of an index that
    /// was written twice, and those with names of R. They are left out, or refused.
    #[test]
    fn indices_are_left_out_and_other_counters_refused() {
        for header in [",Unnamed: 0,x,y,z", "Unnamed: 0.1,Unnamed: 0,x,y,z", ",,x,y,z"] {
            let text = text(header, |row| format!("{row},{row},"));
            let form = recognise(text.as_bytes(), &TableParams::default()).unwrap().unwrap();
            assert_eq!((form.dimensions(), form.names.join("")), (3, "xyz".to_owned()));
            assert_eq!(
                form.left_out.as_deref(),
                Some("columns 1 (an index), 2 (an index) left out")
            );
        }
        let labels = ["X", "V1", "...1", ".rownames", "level_0", "rowname", "id", "time"];
        for label in labels {
            let text = text(&format!("{label},x,y,z"), |row| format!("{},", row + 1));
            let what = recognise(text.as_bytes(), &TableParams::default()).unwrap_err().what;
            assert!(what.contains("--columns 2-4 to leave it out"), "{what}");
            for (columns, dimensions) in [("2-4", 3), ("1-4", 4)] {
                let columns = Some(columns.to_owned());
                let params = TableParams { columns, ..TableParams::default() };
                let form = recognise(text.as_bytes(), &params).unwrap().unwrap();
                assert_eq!(form.dimensions(), dimensions);
            }
        }
        let text = text(",id,x,y,z", |row| format!("{row},{},", 1000 - 7 * row));
        let what = recognise(text.as_bytes(), &TableParams::default()).unwrap_err().what;
        assert!(what.contains("column 2 \"id\"") && what.contains("--columns 3-5 to"), "{what}");
    }

    /// A header of numbers over an index, as pandas writes that of a frame without names, was
    /// a point with an option, and refused with another remedy than the one that helps without.
    #[test]
    fn numbers_above_an_index_are_a_header() {
        for header in [",0,1,2", ",2019,2020,2021"] {
            let text = text(header, |row| format!("{row},"));
            for (columns, left_out) in [(None, "column 1 (an index)"), (Some("2-4"), "1 of 4 col")]
            {
                let columns = columns.map(str::to_owned);
                let params = TableParams { columns, ..TableParams::default() };
                let form = recognise(text.as_bytes(), &params).unwrap().unwrap();
                assert_eq!((form.dimensions(), form.header), (3, 1));
                assert!(form.left_out.unwrap().starts_with(left_out));
            }
            let text = text.replacen(',', "", 1).replace(',', " ");
            let form = recognise(text.as_bytes(), &TableParams::default()).unwrap().unwrap();
            assert_eq!((form.dimensions(), form.header), (3, 1));
        }
    }

    /// The answer of an earlier run was refused as centres: it has three columns in front of the
    /// coordinates.
    #[test]
    fn the_columns_of_an_answer_are_no_coordinates() {
        let text = "cluster\tsize\tinertia\tx1\tx2\n0\t5\t1.5\t0.5\t2\n1\t7\t2.5\t3.5\t4\n";
        let form = recognise(text.as_bytes(), &TableParams::default()).unwrap().unwrap();
        assert_eq!(form.dimensions(), 2);
    }
}
