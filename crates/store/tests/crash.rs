//! A store that is killed, or whose system fails, at every step of every scenario: nothing that was
//! acknowledged is lost, and nothing half-written has a name.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::{BLOCK, at, bytes, read, write};
use cuesta_core::Result;
use cuesta_store::policy::PolicyName;
use cuesta_store::steps::Steps;
use cuesta_store::store::promise::WriteMode;
use cuesta_store::store::{Freshness, Store, StoreOptions};
use cuesta_store::under::fault::FaultyUnder;
use cuesta_store::under::model::{Crash, ModelUnder};
use tempfile::TempDir;

type Content = Option<Vec<u8>>;

/// What a client does.
#[derive(Clone, Copy, Debug)]
enum Action {
    Write(&'static str, u64, WriteMode),
    Flush(&'static str),
    FlushAll,
    Remove(&'static str),
    Rename(&'static str, &'static str),
}

use Action::{Flush, FlushAll, Remove, Rename, Write};
use WriteMode::{Back, Bypass, Memory, Through};

/// What is there before, and what is done while steps are counted.
const SCENARIOS: &[(&[Action], &[Action])] = &[
    (&[], &[Write("a", 1, Memory), Flush("a")]),
    (&[], &[Write("a", 1, Bypass)]),
    (&[], &[Write("a", 1, Through)]),
    (&[], &[Write("a", 1, Back), FlushAll]),
    (&[], &[Write("d/e/a", 1, Through), Write("d/b", 2, Back), FlushAll]),
    (&[Write("a", 1, Through)], &[Write("a", 2, Through)]),
    (&[Write("a", 1, Through)], &[Write("a", 2, Back), FlushAll]),
    (&[Write("a", 1, Through)], &[Write("a", 2, Memory)]),
    (&[Write("a", 1, Through)], &[Write("a", 2, Bypass)]),
    (&[Write("a", 1, Back)], &[Write("a", 2, Through)]),
    (&[Write("a", 1, Back)], &[Write("a", 2, Bypass), FlushAll]),
    (&[Write("a", 1, Back)], &[Write("a", 2, Back), FlushAll]),
    (&[Write("a", 1, Back)], &[Write("a", 2, Memory), Flush("a")]),
    (&[Write("a", 1, Memory)], &[Write("a", 2, Through)]),
    (&[Write("a", 1, Memory)], &[Write("a", 2, Back), FlushAll]),
    (&[Write("a", 1, Through)], &[Remove("a")]),
    (&[Write("a", 1, Back)], &[Remove("a"), Write("a", 2, Back), FlushAll]),
    (&[Write("a", 1, Memory)], &[Remove("a")]),
    (&[Write("a", 1, Through)], &[Write("a", 2, Back), Remove("a")]),
    (&[Write("a", 1, Through)], &[Rename("a", "b")]),
    (&[Write("a", 1, Back)], &[Rename("a", "b")]),
    (&[Write("a", 1, Through)], &[Rename("a", "d/b")]),
    (&[Write("a", 1, Memory)], &[Rename("a", "b"), Flush("b")]),
    (&[Write("a", 1, Through), Write("b", 2, Back)], &[Rename("a", "b"), FlushAll]),
    (&[Write("a", 1, Through), Write("a", 2, Memory)], &[Rename("a", "b")]),
    (&[Write("a", 1, Memory), Write("b", 2, Through)], &[Rename("a", "b")]),
    // The memory has no room for the third.
    (&[Write("a", 1, Back), Write("b", 2, Back)], &[Write("c", 3, Back), FlushAll]),
];

/// What a file may be, by its path: after a kill, and after the loss of the node too.
#[derive(Clone, Debug, Default)]
struct Allowed {
    in_all: BTreeMap<&'static str, Vec<Content>>,
    on_disk: BTreeMap<&'static str, Vec<Content>>,
}

fn content(seed: u64) -> Content {
    Some(bytes(seed, 2300))
}

fn name(content: &Content) -> String {
    let Some(bytes) = content else { return "not there".to_owned() };
    let seed = (1..4).find(|&seed| self::content(seed).as_ref() == Some(bytes));
    seed.map_or("of other bytes".to_owned(), |seed| format!("the one of seed {seed}"))
}

impl Allowed {
    /// An action begins: from now on its outcome may be there.
    fn begin(&mut self, action: Action) {
        let may = |of: &mut BTreeMap<_, Vec<Content>>, path, content: Content| {
            of.entry(path).or_insert_with(|| vec![None]).push(content);
        };
        match action {
            Write(path, seed, mode) => {
                may(&mut self.in_all, path, content(seed));
                if mode != Memory {
                    may(&mut self.on_disk, path, content(seed));
                }
            }
            Flush(_) | FlushAll => {
                for (path, contents) in self.in_all.clone() {
                    contents.into_iter().for_each(|one| may(&mut self.on_disk, path, one));
                }
            }
            Remove(path) => {
                may(&mut self.in_all, path, None);
                may(&mut self.on_disk, path, None);
            }
            Rename(from, to) => {
                for of in [&mut self.in_all, &mut self.on_disk] {
                    let moved = of.get(from).cloned().unwrap_or_default();
                    moved.into_iter().for_each(|one| may(of, to, one));
                    may(of, from, None);
                }
                // What is renamed may have been flushed before.
                let moved = self.in_all.get(from).cloned().unwrap_or_default();
                for path in [from, to] {
                    moved.iter().for_each(|one| may(&mut self.on_disk, path, one.clone()));
                }
            }
        }
    }

    /// An action was acknowledged.
    fn end(&mut self, action: Action) {
        match action {
            Write(path, seed, mode) => {
                self.in_all.insert(path, vec![content(seed)]);
                if matches!(mode, Bypass | Through) {
                    self.on_disk.insert(path, vec![content(seed)]);
                }
            }
            Flush(path) => {
                self.on_disk.insert(path, self.in_all[path].clone());
            }
            FlushAll => {
                // The files of these scenarios that are for memory alone are flushed by name.
                for (path, contents) in self.in_all.clone() {
                    self.on_disk.insert(path, contents);
                }
            }
            Remove(path) => {
                self.in_all.insert(path, vec![None]);
                self.on_disk.insert(path, vec![None]);
            }
            Rename(from, to) => {
                let moved = self.in_all.insert(from, vec![None]).unwrap();
                self.in_all.insert(to, moved);
            }
        }
    }
}

fn act(store: &Store, action: Action) -> Result<()> {
    match action {
        Write(path, seed, mode) => write(store, path, &content(seed).unwrap(), mode),
        Flush(path) => store.flush(Some(&at(path))).map(|_| ()),
        FlushAll => store.flush(None).map(|_| ()),
        Remove(path) => store.remove_name(&at(path)),
        Rename(from, to) => store.rename(&at(from), &at(to)),
    }
}

fn options() -> StoreOptions {
    StoreOptions {
        memory_bytes: 8 * BLOCK,
        block_bytes: BLOCK,
        policy: PolicyName::Lru,
        freshness: Freshness::OnOpen,
        has_admission: true,
        rules: vec![],
        stripes: None,
        stripe_bytes: BLOCK,
    }
}

fn open(under: &ModelUnder, folder: &Path, steps: &Steps) -> Result<Store> {
    let under = FaultyUnder::new(under.clone(), steps.clone());
    Store::open_counted(Box::new(under), folder, options(), steps)
}

/// A store in which the first actions of a scenario were done.
struct Setting {
    folder: TempDir,
    under: ModelUnder,
    steps: Steps,
    allowed: Allowed,
}

impl Setting {
    fn new(before: &[Action]) -> (Self, Store) {
        let folder = tempfile::tempdir().unwrap();
        let (under, steps) = (ModelUnder::default(), Steps::default());
        let store = open(&under, &folder.path().join("memory"), &steps).unwrap();
        let mut setting = Self { folder, under, steps, allowed: Allowed::default() };
        for &action in before {
            setting.allowed.begin(action);
            act(&store, action).unwrap();
            setting.allowed.end(action);
        }
        (setting, store)
    }

    /// Does actions until one fails; whether none did.
    fn act(&mut self, store: &Store, actions: &[Action]) -> bool {
        actions.iter().all(|&action| {
            self.allowed.begin(action);
            let done = act(store, action).is_ok();
            if done {
                self.allowed.end(action);
            }
            done
        })
    }
}

/// Whether the files of a store are what they may be; it has all that it needs for that.
fn check(store: &Store, allowed: &Allowed, place: &str) {
    for (path, contents) in &allowed.in_all {
        let found = match store.facts(&at(path)) {
            Ok(_) => Some(read(store, path).unwrap_or_else(|error| panic!("{place}: {error}"))),
            Err(_) => None,
        };
        assert!(contents.contains(&found), "{place}: {path} is {}", name(&found));
    }
}

/// As [`check`], then once more when all that is dirty is on the under level.
fn check_through_flush(store: &Store, under: &ModelUnder, allowed: &Allowed, place: &str) {
    check(store, allowed, place);
    store.flush(None).unwrap_or_else(|error| panic!("{place}: {error}"));
    check(store, allowed, place);
    let audit = store.audit(true);
    assert!(audit.lost.is_empty() && audit.changed.is_empty(), "{place}: {audit:?}");
    let hidden: Vec<String> = under.paths();
    assert!(
        hidden.iter().all(|path| !path.contains("cuesta-part")),
        "{place}: {hidden:?} {:?}",
        store.last_failure()
    );
}

fn check_disk(under: &ModelUnder, allowed: &Allowed, place: &str) {
    for (path, contents) in &allowed.on_disk {
        let found = under.content(path);
        assert!(contents.contains(&found), "{place}: {path} is {} on the disk", name(&found));
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

#[test]
fn a_kill_at_any_step_loses_nothing_that_was_acknowledged() {
    let mut kills = 0;
    for (number, (before, actions)) in SCENARIOS.iter().enumerate() {
        for step in 0.. {
            let (mut setting, store) = Setting::new(before);
            setting.steps.die_after(step);
            let has_ended = setting.act(&store, actions);
            drop(store);
            setting.steps.fail(0);
            kills += 1;
            let Setting { folder, under, allowed, .. } = &setting;
            for crash in Crash::ALL {
                let place = format!("scenario {number}, killed after step {step}, {crash:?}");
                check_disk(&under.after(crash), allowed, &place);
                let (under, memory) =
                    (under.after(crash), folder.path().join(format!("{crash:?}")));
                copy(&folder.path().join("memory"), &memory);
                let store = open(&under, &memory, &Steps::default()).unwrap();
                check_through_flush(&store, &under, allowed, &place);
            }
            if has_ended {
                assert!(step > 2, "scenario {number} has {step} steps");
                break;
            }
        }
    }
    assert!(kills > 700, "{kills} kills");
}

#[test]
fn a_second_kill_while_the_first_is_mended_loses_nothing() {
    // All pairs take minutes; `make soak` has them.
    let stride = if std::env::var_os("CUESTA_SOAK").is_some() { 1 } else { 7 };
    for (number, (before, actions)) in SCENARIOS.iter().enumerate() {
        for step in (number as u64 % stride..).step_by(stride as usize) {
            let (mut setting, store) = Setting::new(before);
            setting.steps.die_after(step);
            let has_ended = setting.act(&store, actions);
            drop(store);
            let memory = setting.folder.path().join("memory");
            for second in 0.. {
                let (under, again) =
                    (setting.under.after(Crash::Nothing), memory.with_extension("2"));
                copy(&memory, &again);
                let steps = Steps::default();
                steps.die_after(second);
                let opened = open(&under, &again, &steps).and_then(|store| store.flush(None));
                let place = format!("scenario {number}, killed after {step}, then {second}");
                check_disk(&under.after(Crash::Everything), &setting.allowed, &place);
                steps.fail(0);
                let store = open(&under, &again, &steps).unwrap();
                check_through_flush(&store, &under, &setting.allowed, &place);
                drop(store);
                fs::remove_dir_all(&again).unwrap();
                if opened.is_ok() {
                    break;
                }
            }
            if has_ended {
                break;
            }
        }
    }
}

#[test]
fn a_failure_at_any_step_is_an_error_and_loses_nothing() {
    for (number, (before, actions)) in SCENARIOS.iter().enumerate() {
        for step in 1.. {
            let (mut setting, store) = Setting::new(before);
            setting.steps.fail(step);
            let has_ended = setting.act(&store, actions);
            let was_failed = setting.steps.done() >= step;
            setting.steps.fail(0);
            let place = format!("scenario {number}, step {step} failed");
            check_through_flush(&store, &setting.under, &setting.allowed, &place);
            let blocks = setting.folder.path().join("memory/blocks");
            let files = fs::read_dir(blocks).unwrap().count() as u64;
            assert!(files >= store.counts().blocks, "{place}");
            if has_ended && !was_failed {
                break;
            }
        }
    }
}
