//! Checks of the bytes of files.

use std::io::ErrorKind;

use super::{at, bytes, content, write_file};
use crate::under::Under;

/// Checks that files are written, read in parts, and replaced; an open file keeps its bytes.
pub fn are_written_read_and_replaced(under: &dyn Under) {
    let first = write_file(under, "a", &bytes(1, 3000));
    assert!(under.facts(&at("a")).unwrap().version.has_bytes_of(&first));
    assert_eq!(content(under, "a"), bytes(1, 3000));
    let file = under.open(&at("a")).unwrap();
    let mut part = [0; 100];
    file.read_exact_at(&mut part, 2900).unwrap();
    assert_eq!(part, bytes(1, 3000)[2900..]);
    let beyond = file.read_exact_at(&mut part, 2901).unwrap_err();
    assert_eq!(beyond.kind(), ErrorKind::UnexpectedEof);
    let second = write_file(under, "a", &bytes(2, 10));
    assert!(!second.has_bytes_of(&first));
    assert_eq!(content(under, "a"), bytes(2, 10));
    // A handle of the first version can still read it.
    file.read_exact_at(&mut part, 0).unwrap();
    assert_eq!(part, bytes(1, 3000)[..100]);
    assert!(file.version().unwrap().has_bytes_of(&first));
    write_file(under, "empty", b"");
    assert_eq!(content(under, "empty"), b"");
}

/// Checks that a file without its name is not there, and is removed when it is dropped.
pub fn are_hidden_until_they_have_their_name(under: &dyn Under) {
    let writer = under.create(&at("a"), ".other").unwrap();
    writer.write_all_at(b"abc", 0).unwrap();
    assert_eq!(under.open(&at("a")).err().unwrap().kind(), ErrorKind::NotFound);
    drop(writer);
    assert_eq!(under.list(&at("")).unwrap(), Vec::<String>::new());
    assert_eq!(under.facts(&at(".other")).unwrap_err().kind(), ErrorKind::NotFound);
}
