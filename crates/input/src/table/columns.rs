//! `--columns`: which columns of a table are read, by name or by number from 1.

use super::fields;

/// The columns (from 0) that a list asks for, in ascending order.
///
/// # Errors
/// A sentence that names the item which is no column.
pub fn chosen(list: &str, names: &[&[u8]], width: usize) -> Result<Vec<usize>, String> {
    let mut columns = Vec::new();
    for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        match named(item, names).or_else(|| numbered(item, width)) {
            Some(range) => columns.extend(range),
            None => {
                return Err(format!(
                    "has no column {item:?} for --columns; give names of the header, or numbers \
                     from 1 to {width}, such as 2-{width}"
                ));
            }
        }
    }
    columns.sort_unstable();
    columns.dedup();
    if columns.is_empty() {
        return Err("is asked for no column; give --columns names or numbers".to_owned());
    }
    Ok(columns)
}

fn named(item: &str, names: &[&[u8]]) -> Option<std::ops::Range<usize>> {
    let place = names.iter().position(|name| fields::bare(name) == item.as_bytes())?;
    Some(place..place + 1)
}

fn numbered(item: &str, width: usize) -> Option<std::ops::Range<usize>> {
    let number = |text: &str| text.parse::<usize>().ok();
    let (first, last) = match item.split_once('-') {
        Some((first, "")) => (number(first)?, width),
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(item)?, number(item)?),
    };
    (1 <= first && first <= last && last <= width).then(|| first - 1..last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_numbers_and_ranges_choose_columns() {
        let names = [&b"id"[..], b"\"x\"", b"y", b"2-3"];
        assert_eq!(chosen("x, y", &names, 4), Ok(vec![1, 2]));
        assert_eq!(chosen("3-,1", &names, 4), Ok(vec![0, 2, 3]));
        assert_eq!(chosen("2-3", &names, 4), Ok(vec![3]));
        assert!(chosen("z", &names, 4).unwrap_err().contains("no column \"z\""));
        assert!(chosen("0", &[], 4).is_err() && chosen("3-9", &[], 4).is_err());
        assert!(chosen(" , ", &[], 4).is_err());
    }
}
