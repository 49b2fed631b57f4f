//! Conformance of all under levels, and of all wrappers around them.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::common::{BLOCK, Setting, at, bytes, read, write};
use cuesta_store::conformance::{check_store, check_under};
use cuesta_store::steps::Steps;
use cuesta_store::under::Under;
use cuesta_store::under::fault::FaultyUnder;
use cuesta_store::under::model::ModelUnder;
use cuesta_store::under::posix::PosixUnder;
use cuesta_store::under::throttle::{Throttle, ThrottledUnder};
use cuesta_store::under::trace::{TracedUnder, trace};
use cuesta_store::under::watch::{UnderRequest, Watch, WatchedUnder};
use cuesta_store::writeback::WriteMode;

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
    check_under(|| Box::new(posix()));
    check_under(|| Box::new(FaultyUnder::new(posix(), Steps::default())));
    check_under(|| Box::new(ThrottledUnder::new(posix(), quick())));
    check_under(|| Box::new(TracedUnder::new(posix(), trace())));
}

#[test]
fn the_model_conforms_and_so_does_each_wrapper_over_it() {
    check_under(|| Box::new(ModelUnder::default()));
    check_under(|| Box::new(FaultyUnder::new(ModelUnder::default(), Steps::default())));
    check_under(|| Box::new(ThrottledUnder::new(ModelUnder::default(), quick())));
    check_under(|| Box::new(TracedUnder::new(ModelUnder::default(), trace())));
}

#[test]
fn stores_over_a_folder_and_over_the_model_conform() {
    let folder = tempfile::tempdir().unwrap();
    let made = std::cell::Cell::new(0);
    let posix = || -> Box<dyn Under> {
        made.set(made.get() + 1);
        let path = folder.path().join(made.get().to_string());
        std::fs::create_dir(&path).unwrap();
        Box::new(PosixUnder::open(&path).unwrap())
    };
    check_store(posix, &folder.path().join("over-a-folder"));
    check_store(|| Box::new(ModelUnder::default()), &folder.path().join("over-the-model"));
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

/// Extends the hidden file of a flush, once all its bytes were written.
struct Extending {
    folder: std::path::PathBuf,
}

impl Watch for Extending {
    fn before(&self, request: UnderRequest) {
        if request.operation == "write" && request.offset == BLOCK {
            for entry in std::fs::read_dir(&self.folder).unwrap() {
                let file = std::fs::File::options().write(true).open(entry.unwrap().path());
                file.unwrap().set_len(5 * BLOCK).unwrap();
            }
        }
    }
}

#[test]
fn a_file_that_the_under_level_counts_too_long_is_cut_to_its_length() {
    let setting = Setting::new(8);
    let folder = setting.folder.path().join("under");
    let extending = Arc::new(Extending { folder: folder.clone() });
    let watched = WatchedUnder::new(setting.under(), extending);
    let store = setting.store_over(Box::new(watched));
    let content = bytes(1, 2 * BLOCK as usize - 7);
    write(&store, "a", &content, WriteMode::Memory).unwrap();
    store.flush(Some(&at("a"))).unwrap();
    assert_eq!(std::fs::read(folder.join("a")).unwrap(), content);
}
