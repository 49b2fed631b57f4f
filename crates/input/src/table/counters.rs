//! Columns that number or group the rows of a table instead of measuring them.

use super::{columns, fields, shown};

/// Labels of columns that may count the rows, in lower case.
const COUNTERS: [&str; 6] = ["row", "rows", "no", "nr", "n", "number"];
/// Labels of columns that identify the rows, in lower case.
const IDENTIFIERS: [&str; 24] = [
    "index",
    "id",
    "ids",
    "idx",
    "uid",
    "cell",
    "cells",
    "cell_id",
    "cellid",
    "sample",
    "sample_id",
    "sampleid",
    "point",
    "point_id",
    "obs",
    "observation",
    "row_id",
    "rowid",
    "rowname",
    "rownames",
    "row_name",
    "row_names",
    "row.names",
    ".rownames",
];
/// Labels of columns that group the rows, in lower case.
const GROUPS: [&str; 8] =
    ["label", "labels", "cluster", "clusters", "cluster_id", "class", "classes", "y_true"];
/// Labels that group the rows where the other columns have fractions.
const TARGETS: [&str; 2] = ["target", "y"];
/// Rows from which on a column of consecutive numbers may be an index, whatever its label.
pub const COUNTED_ROWS: usize = 5;

fn lower(label: &[u8]) -> String {
    String::from_utf8_lossy(fields::bare(label)).to_lowercase()
}

/// Whether a label is one that pandas gives an index without a name.
pub fn is_unnamed(label: &[u8]) -> bool {
    let text = lower(label);
    let is_number = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_digit())
            && text.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
    };
    text.is_empty()
        || text.strip_prefix("unnamed: ").is_some_and(is_number)
        || text
            .strip_prefix("__index_level_")
            .and_then(|rest| rest.strip_suffix("__"))
            .is_some_and(is_number)
}

/// Whether a column of this label identifies the rows, as pandas, R and people call it.
pub fn is_identifier(label: &[u8]) -> bool {
    let text = lower(label);
    let has_number = |start: &str| {
        let rest = text.strip_prefix(start).unwrap_or_default();
        !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
    };
    IDENTIFIERS.contains(&text.as_str()) || has_number("level_") || has_number("...")
}

/// Whether a column of this label may count the rows: an identifier, or a number of the row.
pub fn is_counter(label: &[u8]) -> bool {
    is_identifier(label) || COUNTERS.contains(&lower(label).as_str())
}

/// Whether fields count from 0 or 1, one by one.
pub fn counts<'f>(mut fields: impl Iterator<Item = &'f [u8]>) -> bool {
    let number =
        |field: &[u8]| -> Option<usize> { str::from_utf8(fields::bare(field)).ok()?.parse().ok() };
    let Some(first) = fields.next().and_then(number).filter(|&first| first <= 1) else {
        return false;
    };
    fields.zip(first + 1..).all(|(field, place)| number(field) == Some(place))
}

/// Facts about a column of points.
#[derive(Clone, Debug, Default)]
pub struct PointColumn {
    /// Its name, where there is one.
    pub label: Option<Vec<u8>>,
    /// Whether all its numbers are whole.
    pub is_integer: bool,
    /// Whether its numbers count the rows from 0 or 1.
    pub counts: bool,
    /// Whether one of its numbers is a fraction.
    pub has_fraction: bool,
    /// Whether it is left out already.
    pub is_skipped: bool,
}

/// The fault of columns that number or group the points and may be no coordinates, with the
/// `--columns` for both readings; `None` where all are coordinates.
pub fn doubt(columns: &[PointColumn], rows: usize) -> Option<String> {
    let mut is_leading = true;
    let mut doubtful = Vec::new();
    for place in 0..columns.len() {
        if columns[place].is_skipped {
            continue;
        }
        let what = reason(columns, place, is_leading && rows >= COUNTED_ROWS);
        is_leading &= what.is_some();
        doubtful.extend(what.map(|what| (place, what)));
    }
    let (_, what) = doubtful.first()?;
    let is_doubtful = |place: usize| doubtful.iter().any(|(column, _)| *column == place);
    let places: Vec<usize> = (0..columns.len()).filter(|&c| !columns[c].is_skipped).collect();
    let rest: Vec<usize> = places.iter().copied().filter(|&place| !is_doubtful(place)).collect();
    if rest.is_empty() {
        return None;
    }
    let named: Vec<String> = doubtful
        .iter()
        .map(|(place, _)| match &columns[*place].label {
            Some(label) => format!("{} {}", place + 1, shown(label)),
            None => (place + 1).to_string(),
        })
        .collect();
    let (noun, them) = if named.len() == 1 { ("column", "it") } else { ("columns", "them") };
    Some(format!(
        "has {noun} {} of {what}, or coordinates; give --columns {} to leave {them} out, --columns \
         {} to keep {them}",
        named.join(", "),
        columns::ranges(&rest),
        columns::ranges(&places)
    ))
}

/// Numbers that a column may hold instead of coordinates.
fn reason(columns: &[PointColumn], place: usize, is_leading: bool) -> Option<&'static str> {
    let column = &columns[place];
    let mut rest = columns.iter().enumerate().filter(|(other, _)| *other != place);
    let has_fractions = rest.any(|(_, other)| !other.is_skipped && other.has_fraction);
    let label = column.label.as_deref().unwrap_or_default();
    let text = lower(label);
    let is_plane = || {
        let is_x = |other: &PointColumn| other.label.as_deref().is_some_and(|l| lower(l) == "x");
        text == "y" && columns.iter().any(is_x)
    };
    if column.counts && (is_counter(label) || (is_leading && has_fractions)) {
        return Some("numbers that count the lines");
    }
    if !column.is_integer {
        return None;
    }
    if is_identifier(label) && has_fractions {
        return Some("numbers that name the lines");
    }
    let is_target = TARGETS.contains(&text.as_str()) && has_fractions && !is_plane();
    (GROUPS.contains(&text.as_str()) || is_target).then_some("numbers of groups")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(label: &str, counts: bool, has_fraction: bool) -> PointColumn {
        let label = Some(label.as_bytes().to_vec());
        PointColumn { label, is_integer: !has_fraction, counts, has_fraction, is_skipped: false }
    }

    #[test]
    fn labels_of_an_index_are_known_in_all_their_forms() {
        for label in ["", "Unnamed: 0", "unnamed: 0.1", "\"Unnamed: 12\"", "__index_level_1__"] {
            assert!(is_unnamed(label.as_bytes()), "{label}");
        }
        for label in ["x", "Unnamed: x", "unnamed", "level_0"] {
            assert!(!is_unnamed(label.as_bytes()), "{label}");
        }
        for label in ["id", "...1", "level_0", "Rownames", ".rownames", "sample_id"] {
            assert!(is_identifier(label.as_bytes()), "{label}");
        }
        assert!(!is_identifier(b"...") && !is_identifier(b"level_") && is_counter(b"row"));
    }

    #[test]
    fn both_readings_of_columns_are_named() {
        let (x, z) = (column("x", false, true), column("z", false, true));
        let integer = |label: &str| column(label, false, false);
        for (columns, rows, expected) in [
            (vec![column("V1", true, false), x.clone(), z.clone()], 5, Some("2-3")),
            (vec![column("V1", true, false), x.clone(), z.clone()], 4, None),
            (vec![column("V1", true, false), integer("a"), integer("b")], 9, None),
            (vec![column("V1", true, false), column("X", true, false), z.clone()], 5, Some("3-3")),
            (vec![x.clone(), column("t", true, false), z.clone()], 5, None),
            (vec![integer("id"), x.clone(), z.clone(), integer("y_true")], 3, Some("2-3")),
            (vec![integer("id"), integer("a")], 3, None),
            (vec![x.clone(), integer("y"), z.clone()], 9, None),
            (vec![z.clone(), integer("y")], 9, Some("1-1")),
            (vec![z.clone(), integer("target"), integer("b")], 9, Some("1-1,3-3")),
            (vec![integer("a"), integer("label")], 9, Some("1-1")),
        ] {
            let what = doubt(&columns, rows);
            let expected = expected.map(|list| format!("--columns {list} to leave"));
            let is_same = match (&what, &expected) {
                (Some(what), Some(expected)) => what.contains(expected),
                (what, expected) => what.is_none() && expected.is_none(),
            };
            assert!(is_same, "{what:?}, expected {expected:?}");
        }
    }
}
