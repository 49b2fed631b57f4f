//! Scenarios of clients, and the file contents that each of their steps allows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cuesta_core::Result;
use cuesta_store::cache::policy::PolicyName;
use cuesta_store::steps::Steps;
use cuesta_store::store::{Freshness, Store, StoreOptions};
use cuesta_store::under::fault::FaultyUnder;
use cuesta_store::under::model::ModelUnder;
use cuesta_store::writeback::WriteMode;
use tempfile::TempDir;

use super::{BLOCK, at, bytes, write};
use Action::{Flush, FlushAll, Remove, Rename, Write};
use WriteMode::{Bypass, Memory, Through};

pub type Content = Option<Vec<u8>>;

/// An action of a client.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    Write(&'static str, u64, WriteMode),
    Flush(&'static str),
    FlushAll,
    Remove(&'static str),
    Rename(&'static str, &'static str),
}

/// Allowed contents of files by path: after a kill, and after the loss of the node.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    pub in_all: BTreeMap<&'static str, Vec<Content>>,
    pub on_disk: BTreeMap<&'static str, Vec<Content>>,
}

pub fn content(seed: u64) -> Content {
    Some(bytes(seed, 2300))
}

pub fn name(content: &Content) -> String {
    let Some(bytes) = content else { return "not there".to_owned() };
    let seed = (1..4).find(|&seed| self::content(seed).as_ref() == Some(bytes));
    seed.map_or("of other bytes".to_owned(), |seed| format!("the one of seed {seed}"))
}

impl Allowed {
    /// Allows the outcome of an action that begins.
    pub fn begin(&mut self, action: Action) {
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
                    contents.into_iter().for_each(|each| may(&mut self.on_disk, path, each));
                }
            }
            Remove(path) => {
                may(&mut self.in_all, path, None);
                may(&mut self.on_disk, path, None);
            }
            Rename(from, to) => {
                for of in [&mut self.in_all, &mut self.on_disk] {
                    let moved = of.get(from).cloned().unwrap_or_default();
                    moved.into_iter().for_each(|each| may(of, to, each));
                    may(of, from, None);
                }
                // The file may have been flushed before it is renamed.
                let moved = self.in_all.get(from).cloned().unwrap_or_default();
                for path in [from, to] {
                    moved.iter().for_each(|each| may(&mut self.on_disk, path, each.clone()));
                }
            }
        }
    }

    /// Requires the outcome of an acknowledged action.
    pub fn end(&mut self, action: Action) {
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
                // These scenarios flush memory-only files by name.
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

pub fn act(store: &Store, action: Action) -> Result<()> {
    match action {
        Write(path, seed, mode) => write(store, path, &content(seed).unwrap(), mode),
        Flush(path) => store.flush(Some(&at(path))).map(|_| ()),
        FlushAll => store.flush(None).map(|_| ()),
        Remove(path) => store.remove_name(&at(path)),
        Rename(from, to) => store.rename(&at(from), &at(to)),
    }
}

pub fn options() -> StoreOptions {
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

pub fn open(under: &ModelUnder, folder: &Path, steps: &Steps) -> Result<Store> {
    let under = FaultyUnder::new(under.clone(), steps.clone());
    Store::open_counted(Box::new(under), folder, options(), steps)
}

/// A store after the first actions of a scenario.
pub struct Setting {
    pub folder: TempDir,
    pub under: ModelUnder,
    pub steps: Steps,
    pub allowed: Allowed,
}

impl Setting {
    pub fn new(before: &[Action]) -> (Self, Store) {
        Self::over(ModelUnder::default(), before)
    }

    pub fn over(under: ModelUnder, before: &[Action]) -> (Self, Store) {
        let folder = tempfile::tempdir().unwrap();
        let steps = Steps::default();
        let store = open(&under, &folder.path().join("memory"), &steps).unwrap();
        let mut setting = Self { folder, under, steps, allowed: Allowed::default() };
        for &action in before {
            setting.allowed.begin(action);
            act(&store, action).unwrap();
            setting.allowed.end(action);
        }
        (setting, store)
    }

    /// Runs actions until one fails; returns whether all succeeded.
    pub fn act(&mut self, store: &Store, actions: &[Action]) -> bool {
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

pub fn copy(from: &Path, to: &Path) {
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
