//! Events between two steps of an operation: no acknowledged file is lost.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::common::{Setting, at, bytes, read_open, write};
use cuesta_store::path::StorePath;
use cuesta_store::store::Store;
use cuesta_store::under::posix::PosixUnder;
use cuesta_store::under::{Facts, Under, UnderFile, UnderWriter};
use cuesta_store::writeback::WriteMode;

type Meanwhile = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

/// An under level that runs a callback after a file was opened or removed.
struct Meddling {
    inner: PosixUnder,
    meanwhile: Meanwhile,
}

impl Meddling {
    fn run_callback(&self) {
        let work = self.meanwhile.lock().unwrap().take();
        if let Some(work) = work {
            work();
        }
    }
}

impl Under for Meddling {
    fn open(&self, path: &StorePath) -> io::Result<Box<dyn UnderFile>> {
        let file = self.inner.open(path);
        self.run_callback();
        file
    }

    fn facts(&self, path: &StorePath) -> io::Result<Facts> {
        self.inner.facts(path)
    }

    fn list(&self, folder: &StorePath) -> io::Result<Vec<String>> {
        self.inner.list(folder)
    }

    fn create(&self, path: &StorePath, hidden: &str) -> io::Result<Box<dyn UnderWriter>> {
        self.inner.create(path, hidden)
    }

    fn sync_names(&self, path: &StorePath) -> io::Result<()> {
        self.inner.sync_names(path)
    }

    fn make_folder(&self, folder: &StorePath) -> io::Result<()> {
        self.inner.make_folder(folder)
    }

    fn remove(&self, path: &StorePath) -> io::Result<()> {
        let removed = self.inner.remove(path);
        self.run_callback();
        removed
    }

    fn rename(&self, from: &StorePath, to: &StorePath) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn rename_new(&self, from: &StorePath, to: &StorePath) -> io::Result<()> {
        self.inner.rename_new(from, to)
    }

    fn exchange(&self, first: &StorePath, second: &StorePath) -> io::Result<()> {
        self.inner.exchange(first, second)
    }

    fn link_new(&self, file: &StorePath, to: &StorePath) -> io::Result<()> {
        self.inner.link_new(file, to)
    }
}

fn meddled(setting: &Setting) -> (Arc<Store>, Meanwhile) {
    let meanwhile = Meanwhile::default();
    let under = Meddling { inner: setting.under(), meanwhile: Arc::clone(&meanwhile) };
    (Arc::new(setting.store_over(Box::new(under))), meanwhile)
}

/// A file in memory lost its name before the file that replaced it got it: between the two, other
/// nodes were told that the name does not exist. Checked histories found it.
#[test]
fn a_name_exists_at_each_moment_while_its_file_is_replaced() {
    for mode in [WriteMode::Back, WriteMode::Memory] {
        let setting = Setting::new(16);
        let store = setting.store();
        write(&store, "a", &bytes(0, 500), mode).unwrap();
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    store.facts(&at("a")).unwrap();
                }
            });
            for number in 0..1000 {
                write(&store, "a", &bytes(number, 500), mode).unwrap();
            }
            is_done.store(true, Ordering::Relaxed);
            reader.join().unwrap();
        });
    }
}

#[test]
fn a_file_that_is_closed_while_its_name_is_opened_is_retained() {
    for mode in [WriteMode::Back, WriteMode::Memory] {
        let setting = Setting::new(16);
        let (before, after) = (bytes(1, 3000), bytes(2, 2500));
        setting.write("a", &before);
        let (store, meanwhile) = meddled(&setting);
        let (writer, content) = (Arc::clone(&store), after.clone());
        *meanwhile.lock().unwrap() =
            Some(Box::new(move || write(&writer, "a", &content, mode).unwrap()));
        let opened = store.open_file(&at("a")).unwrap();
        let size_bytes = opened.version.size_bytes;
        assert_eq!(read_open(&store, opened.number, size_bytes).unwrap(), after);
        store.close(opened.number);
        store.flush(Some(&at("a"))).unwrap();
        assert_eq!(fs::read(setting.folder.path().join("under/a")).unwrap(), after);
    }
}

#[test]
fn a_file_that_is_closed_while_its_name_is_removed_is_retained() {
    let setting = Setting::new(16);
    setting.write("a", &bytes(1, 3000));
    let (store, meanwhile) = meddled(&setting);
    let (writer, content) = (Arc::clone(&store), bytes(2, 2500));
    let (began, closing) = std::sync::mpsc::channel();
    *meanwhile.lock().unwrap() = Some(Box::new(move || {
        let closer = std::thread::spawn(move || {
            write(&writer, "a", &content, WriteMode::Back).unwrap();
        });
        // It closes the file now, or waits until the name is free.
        std::thread::sleep(std::time::Duration::from_millis(50));
        began.send(closer).unwrap();
    }));
    store.remove_name(&at("a")).unwrap();
    closing.recv().unwrap().join().unwrap();
    assert_eq!(store.flush(None).unwrap(), 2500);
    assert_eq!(fs::read(setting.folder.path().join("under/a")).unwrap(), bytes(2, 2500));
}
