//! Lines of a table that are no rows: titles above it, and headers that are repeated in it.

use super::fields::{self, is_blank};
use super::{Role, TableLine, fit};

/// The fault of a first line that is a title, as spreadsheets write it above a table.
pub fn title(lines: &[TableLine]) -> Option<String> {
    let [first, second, _, ..] = lines else { return None };
    let is_number = |field: &&[u8]| {
        fields::number(field, b'.').is_some() || fields::number(field, b',').is_some()
    };
    let is_title = |delimiter: &u8| {
        let (title, header) =
            (fields::fields(first.text, *delimiter), fields::fields(second.text, *delimiter));
        let names: Vec<&[u8]> = header.into_iter().filter(|field| !is_blank(field)).collect();
        let is_alone = title.len() > 1 && title[1..].iter().all(|field| is_blank(field));
        is_alone
            && !is_blank(title[0])
            && !is_number(&title[0])
            && names.len() > 1
            && !names.iter().any(is_number)
    };
    let delimiter = [b'\t', b';', b','].into_iter().find(is_title)?;
    Some(format!(
        "is a title, its other fields (separated by {}) are empty; remove it",
        fit::delimiter_name(delimiter)
    ))
}

/// The fault of a line that has the names of the columns again.
pub const REPEATED_HEADER: &str = "repeats the header; remove it";

/// Whether the fields of a line that are values are the names of the columns.
pub fn repeats_header(fields: &[&[u8]], roles: &[Role], names: &[String]) -> bool {
    let values = fields.iter().zip(roles).filter(|(_, role)| **role == Role::Value);
    let values: Vec<Option<String>> = values.map(|(field, _)| fields::unquoted(field)).collect();
    !names.is_empty() && values.iter().map(Option::as_ref).eq(names.iter().map(Some))
}

#[cfg(test)]
mod tests {
    use super::super::TableLines;
    use super::*;

    #[test]
    fn a_title_is_a_field_above_names() {
        for (text, is_title) in [
            ("My matrix,,,\ngene,s0,s1,s2\na,1,2,3\n", true),
            ("My matrix;;\ngene;s0;s1\na;1;2\n", true),
            ("gene,,\na,1,2\nb,3,4\n", false),
            ("gene,s0,s1\na,1,2\nb,3,4\n", false),
            ("1,,\nx,y,z\n1,2,3\n", false),
        ] {
            let lines: Vec<TableLine> = TableLines::new(text.as_bytes(), 0).collect();
            assert_eq!(title(&lines).is_some(), is_title, "{text:?}");
        }
    }

    #[test]
    fn the_names_of_all_columns_repeat_the_header() {
        let names = ["x".to_owned(), "y".to_owned()];
        let roles = [Role::Skipped, Role::Value, Role::Value];
        assert!(repeats_header(&[b"id", b"\"x\"", b" y"], &roles, &names));
        assert!(!repeats_header(&[b"id", b"x", b"z"], &roles, &names));
        assert!(!repeats_header(&[b"id", b"x"], &roles, &names));
        assert!(!repeats_header(&[], &roles, &[]));
    }
}
