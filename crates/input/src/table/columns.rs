//! `--columns`: which columns of a table are read, by name or by number from 1.

use super::fields;

/// The columns (from 0) that a list asks for, in ascending order.
///
/// # Errors
/// A sentence that names the item which is no column.
pub fn chosen(list: &str, names: &[&[u8]], width: usize) -> Result<Vec<usize>, String> {
    let mut columns = Vec::new();
    for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        check_single(item, names)?;
        check_meaning(item, names, width)?;
        match named(item, names).or_else(|| numbered(item, width)) {
            Some(range) => columns.extend(range),
            None => {
                let such = if width > 1 { &format!(", such as 2-{width}") } else { "" };
                return Err(format!(
                    "has no column {item:?} for --columns; give names of the header, or numbers \
                     from 1 to {width}{such}"
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

/// Refuses a name that several columns have.
fn check_single(item: &str, names: &[&[u8]]) -> Result<(), String> {
    let places = (1..).zip(names).filter(|(_, name)| fields::bare(name) == item.as_bytes());
    let numbers: Vec<String> = places.map(|(number, _)| usize::to_string(&number)).collect();
    match numbers.as_slice() {
        [_, _, ..] => Err(format!(
            "has {} columns called {item:?} for --columns; give the number of one, of {}",
            numbers.len(),
            numbers.join(", ")
        )),
        _ => Ok(()),
    }
}

/// Refuses the name of a column that is the number of another one, or a range of numbers.
fn check_meaning(item: &str, names: &[&[u8]], width: usize) -> Result<(), String> {
    let (Some(by_name), Some(by_number)) = (named(item, names), numbered(item, width)) else {
        return Ok(());
    };
    if by_name == by_number {
        return Ok(());
    }
    let (place, first, last) = (by_name.end, by_number.start + 1, by_number.end);
    let rest = if first < last { format!(",{}-{last}", first + 1) } else { String::new() };
    Err(format!(
        "has a column called {item:?}, number {place}, and --columns {item} may be numbers too; \
         give --columns {place}-{place} for that name, {first}-{first}{rest} for the numbers"
    ))
}

/// A list of columns (from 0, ascending) as `--columns` takes it, the last range open where it
/// reaches the end of a row of `width` fields.
pub fn list(columns: &[usize], width: usize) -> String {
    let ranges: Vec<String> = columns
        .chunk_by(|before, after| before + 1 == *after)
        .map(|range| match (range[0] + 1, range[range.len() - 1] + 1) {
            (first, last) if last == width && first < last => format!("{first}-"),
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}-{last}"),
        })
        .collect();
    ranges.join(",")
}

/// Columns (from 0, ascending) as ranges of numbers, which no name of a column can be taken for.
pub fn ranges(columns: &[usize]) -> String {
    let ranges: Vec<String> = columns
        .chunk_by(|before, after| before + 1 == *after)
        .map(|range| format!("{}-{}", range[0] + 1, range[range.len() - 1] + 1))
        .collect();
    ranges.join(",")
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
        assert!(chosen("z", &names, 4).unwrap_err().contains("no column \"z\""));
        assert!(chosen("0", &[], 4).is_err() && chosen("3-9", &[], 4).is_err());
        assert!(chosen(" , ", &[], 4).is_err());
    }

    /// Samples called 0, 1, ... were taken by name from a list of numbers, and the ranges of the
    /// same list by number.
    #[test]
    fn a_name_that_may_be_a_number_chooses_none() {
        // The column is the same by name and by number.
        assert_eq!(chosen("3", &[&b"id"[..], b"0", b"3"], 3), Ok(vec![2]));
        let names = [&b"id"[..], b"0", b"1", b"2-4"];
        let message = chosen("1", &names, 4).unwrap_err();
        assert!(message.contains("has a column called \"1\", number 3,"), "{message}");
        assert!(message.ends_with("--columns 3-3 for that name, 1-1 for the numbers"), "{message}");
        assert_eq!(chosen("3-3", &names, 4), Ok(vec![2]));
        assert_eq!(chosen("0", &names, 4), Ok(vec![1]));
        let message = chosen("2-4", &names, 4).unwrap_err();
        assert!(message.ends_with("4-4 for that name, 2-2,3-4 for the numbers"), "{message}");
    }

    #[test]
    fn a_name_of_two_columns_chooses_none() {
        let names = [&b"id"[..], b"x", b"y", b"x"];
        let message = chosen("x", &names, 4).unwrap_err();
        assert!(message.contains("has 2 columns called \"x\"") && message.contains("of 2, 4"));
        assert_eq!(chosen("2,y", &names, 4), Ok(vec![1, 2]));
    }

    #[test]
    fn a_list_of_columns_chooses_them_again() {
        for (columns, text) in [
            (&[1usize, 2, 3][..], "2-"),
            (&[3], "4"),
            (&[0, 2, 3], "1,3-"),
            (&[0, 1, 3], "1-2,4"),
            (&[1, 2], "2-3"),
        ] {
            assert_eq!(list(columns, 4), text);
            assert_eq!(chosen(text, &[], 4).unwrap(), columns);
        }
    }
}
