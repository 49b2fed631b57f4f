//! Conformance of all under levels, and of all wrappers around them.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::ErrorKind;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use common::{BLOCK, Setting, at, bytes, read};
use cuesta_store::steps::Steps;
use cuesta_store::under::fault::FaultyUnder;
use cuesta_store::under::model::ModelUnder;
use cuesta_store::under::posix::PosixUnder;
use cuesta_store::under::throttle::{Throttle, ThrottledUnder};
use cuesta_store::under::trace::{TracedUnder, trace};
use cuesta_store::under::watch::{UnderRequest, Watch, WatchedUnder};
use cuesta_store::under::{Under, UnderVersion};

fn write(under: &dyn Under, name: &str, content: &[u8]) -> UnderVersion {
    let writer = under.create(&at(name), ".hidden").unwrap();
    // Not in order: the end first.
    let half = content.len() / 2;
    writer.write_all_at(&content[half..], half as u64).unwrap();
    writer.write_all_at(&content[..half], 0).unwrap();
    assert_eq!(writer.size_bytes().unwrap(), content.len() as u64);
    let version = writer.sync(None).unwrap();
    under.rename(&at(name).parent().unwrap().join(".hidden").unwrap(), &at(name)).unwrap();
    under.sync_names(&at(name)).unwrap();
    version
}

fn content(under: &dyn Under, name: &str) -> Vec<u8> {
    let file = under.open(&at(name)).unwrap();
    let mut bytes = vec![0; file.version().unwrap().size_bytes as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

fn files_are_written_read_and_replaced(under: &dyn Under) {
    let first = write(under, "a", &bytes(1, 3000));
    assert!(under.facts(&at("a")).unwrap().version.has_bytes_of(&first));
    assert_eq!(content(under, "a"), bytes(1, 3000));
    let file = under.open(&at("a")).unwrap();
    let mut part = [0; 100];
    file.read_exact_at(&mut part, 2900).unwrap();
    assert_eq!(part, bytes(1, 3000)[2900..]);
    let beyond = file.read_exact_at(&mut part, 2901).unwrap_err();
    assert_eq!(beyond.kind(), ErrorKind::UnexpectedEof);
    let second = write(under, "a", &bytes(2, 10));
    assert!(!second.has_bytes_of(&first));
    assert_eq!(content(under, "a"), bytes(2, 10));
    // A handle of the first version can still read it.
    file.read_exact_at(&mut part, 0).unwrap();
    assert_eq!(part, bytes(1, 3000)[..100]);
    assert!(file.version().unwrap().has_bytes_of(&first));
    write(under, "empty", b"");
    assert_eq!(content(under, "empty"), b"");
    drop(under.create(&at("unfinished"), ".other").unwrap());
    assert_eq!(under.list(&at("")).unwrap(), ["a", "empty"]);
}

fn names_are_listed_renamed_and_removed(under: &dyn Under) {
    under.make_folder(&at("d")).unwrap();
    under.make_folder(&at("d")).unwrap();
    under.make_folder(&at("d/e")).unwrap();
    assert!(under.facts(&at("d")).unwrap().is_folder);
    for name in ["d/2", "d/1", "d/e/3"] {
        write(under, name, name.as_bytes());
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

fn what_cannot_be_done_is_refused(under: &dyn Under) {
    write(under, "a", b"a");
    under.make_folder(&at("d")).unwrap();
    write(under, "d/b", b"b");
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

/// Checks an under level; `make` creates an empty one for each check.
fn conforms(make: impl Fn() -> Box<dyn Under>) {
    files_are_written_read_and_replaced(&*make());
    names_are_listed_renamed_and_removed(&*make());
    what_cannot_be_done_is_refused(&*make());
}

fn quick() -> Arc<Throttle> {
    Throttle::new(Duration::from_micros(1), 1 << 40, 100, 3)
}

#[test]
fn a_folder_conforms_and_so_does_each_wrapper_over_it() {
    let folder = tempfile::tempdir().unwrap();
    let made = std::cell::Cell::new(0);
    let posix = || {
        made.set(made.get() + 1);
        let path = folder.path().join(made.get().to_string());
        std::fs::create_dir(&path).unwrap();
        PosixUnder::open(&path).unwrap()
    };
    conforms(|| Box::new(posix()));
    conforms(|| Box::new(FaultyUnder::new(posix(), Steps::default())));
    conforms(|| Box::new(ThrottledUnder::new(posix(), quick())));
    conforms(|| Box::new(TracedUnder::new(posix(), trace())));
}

#[test]
fn the_model_conforms_and_so_does_each_wrapper_over_it() {
    conforms(|| Box::new(ModelUnder::default()));
    conforms(|| Box::new(FaultyUnder::new(ModelUnder::default(), Steps::default())));
    conforms(|| Box::new(ThrottledUnder::new(ModelUnder::default(), quick())));
    conforms(|| Box::new(TracedUnder::new(ModelUnder::default(), trace())));
}

#[test]
fn a_block_is_read_in_the_configured_number_of_parts() {
    let size = (3 * BLOCK + 17) as usize;
    for (stripes, stripe_bytes) in [(1, 1), (2, 499), (3, 500), (4, BLOCK), (64, 7)] {
        let mut setting = Setting::new(8);
        (setting.options.stripes, setting.options.stripe_bytes) = (Some(stripes), stripe_bytes);
        setting.write("a", &bytes(1, size));
        let trace = trace();
        let traced = TracedUnder::new(setting.under(), Arc::clone(&trace));
        let store = setting.store_over(Box::new(traced));
        assert_eq!(read(&store, "a").unwrap(), bytes(1, size));
        let requests = trace.take();
        let reads: Vec<_> = requests.iter().filter(|request| request.operation == "read").collect();
        assert_eq!(reads.iter().map(|read| read.count).sum::<u64>(), size as u64);
        let most = if stripes == 1 { BLOCK } else { stripe_bytes };
        assert!(reads.iter().all(|read| read.count <= most));
    }
}

/// Makes each read wait until `expected` reads are in progress.
struct Meeting {
    expected: usize,
    waiting: Mutex<usize>,
    met: Condvar,
}

impl Watch for Meeting {
    fn before(&self, request: UnderRequest) {
        if request.operation == "read" {
            let mut waiting = self.waiting.lock().unwrap();
            *waiting += 1;
            self.met.notify_all();
            // A guard against hanging: sequential reads never meet.
            let patience = Duration::from_secs(120);
            let met = |waiting: &mut usize| *waiting < self.expected;
            let (waiting, late) = self.met.wait_timeout_while(waiting, patience, met).unwrap();
            drop(waiting);
            assert!(!late.timed_out(), "the parts of a block are not read at once");
        }
    }
}

#[test]
fn the_parts_of_a_block_are_read_at_once() {
    for stripes in [1, 8] {
        let mut setting = Setting::new(8);
        (setting.options.stripes, setting.options.stripe_bytes) = (Some(stripes), BLOCK / 8);
        setting.write("a", &bytes(1, BLOCK as usize));
        let (waiting, met) = (Mutex::new(0), Condvar::new());
        let meeting = Arc::new(Meeting { expected: stripes, waiting, met });
        let watched = WatchedUnder::new(setting.under(), Arc::clone(&meeting));
        let store = setting.store_over(Box::new(watched));
        assert_eq!(read(&store, "a").unwrap(), bytes(1, BLOCK as usize));
        assert!(*meeting.waiting.lock().unwrap() >= stripes);
    }
}
