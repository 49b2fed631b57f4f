//! Checks of the names of files and folders.

use std::io::ErrorKind;

use super::{at, content, write_file};
use crate::under::Under;

/// Checks that folders are made and listed in order, and files and folders renamed and removed.
pub fn are_listed_renamed_and_removed(under: &dyn Under) {
    under.make_folder(&at("d")).unwrap();
    under.make_folder(&at("d")).unwrap();
    under.make_folder(&at("d/e")).unwrap();
    assert!(under.facts(&at("d")).unwrap().is_folder);
    for name in ["d/2", "d/1", "d/e/3"] {
        write_file(under, name, name.as_bytes());
        assert!(!under.facts(&at(name)).unwrap().is_folder);
    }
    assert_eq!(under.list(&at("d")).unwrap(), ["1", "2", "e"]);
    under.rename(&at("d/1"), &at("d/2")).unwrap();
    assert_eq!(content(under, "d/2"), b"d/1");
    under.rename(&at("d"), &at("f")).unwrap();
    assert_eq!(content(under, "f/e/3"), b"d/e/3");
    assert_eq!(under.list(&at("")).unwrap(), ["f"]);
    under.remove(&at("f/e/3")).unwrap();
    under.remove(&at("f/e")).unwrap();
    assert_eq!(under.list(&at("f")).unwrap(), ["2"]);
}

/// Checks that a name that must be free is not taken from its file, and that an exchange keeps both
/// files. An under level may say that it cannot exchange or link.
pub fn are_refused_if_they_exist(under: &dyn Under) {
    write_file(under, "a", b"a");
    write_file(under, "b", b"b");
    let refused = under.rename_new(&at("a"), &at("b")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
    assert_eq!((content(under, "a"), content(under, "b")), (b"a".to_vec(), b"b".to_vec()));
    under.rename_new(&at("a"), &at("c")).unwrap();
    assert_eq!(under.list(&at("")).unwrap(), ["b", "c"]);
    match under.exchange(&at("b"), &at("c")) {
        Ok(()) => assert_eq!(content(under, "b"), b"a"),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert_eq!(content(under, "b"), b"b");
        }
    }
    match under.link_new(&at("b"), &at("d")) {
        Ok(()) => {
            assert_eq!(content(under, "d"), content(under, "b"));
            let refused = under.link_new(&at("b"), &at("c")).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported),
    }
}

/// Checks that requests that cannot be done are refused, each with its kind of error.
pub fn are_refused_with_their_kind(under: &dyn Under) {
    write_file(under, "a", b"a");
    under.make_folder(&at("d")).unwrap();
    write_file(under, "d/b", b"b");
    let none = at("none");
    assert_eq!(under.open(&none).err().unwrap().kind(), ErrorKind::NotFound);
    assert_eq!(under.facts(&none).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(under.list(&none).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(under.remove(&none).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(under.rename(&none, &at("b")).unwrap_err().kind(), ErrorKind::NotFound);
    let inside = under.create(&at("none/a"), ".1").err().unwrap();
    assert_eq!(inside.kind(), ErrorKind::NotFound);
    assert_eq!(under.open(&at("d")).err().unwrap().kind(), ErrorKind::IsADirectory);
    assert_eq!(under.list(&at("a")).unwrap_err().kind(), ErrorKind::NotADirectory);
    assert_eq!(under.remove(&at("d")).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
    assert!(under.make_folder(&at("a")).is_err());
    assert!(under.remove(&at("")).is_err());
    assert_eq!(content(under, "d/b"), b"b");
}
