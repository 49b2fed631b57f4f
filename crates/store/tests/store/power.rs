//! Power failure of the node and its disk while a store writes: after the loss of the memory, all
//! files acknowledged on the disk exist, and no partial file has a name.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::{at, bytes, read, write};
use crate::forgetful::{ForgetfulDisk, draws};
use cuesta_core::Result;
use cuesta_store::store::Store;
use cuesta_store::under::posix::PosixUnder;
use cuesta_store::writeback::WriteMode;

const NAMES: [&str; 4] = ["a", "b", "d/a", "d/e/b"];
const MODES: [WriteMode; 4] =
    [WriteMode::Through, WriteMode::Bypass, WriteMode::Back, WriteMode::Memory];
const ACTIONS: usize = 12;
const CHANGES_MAX: u64 = 150;

/// The seed of a file's bytes; `None` for no file.
type Content = Option<u64>;

/// Contents that a name may have.
#[derive(Debug)]
struct Permitted {
    /// In the running store.
    now: BTreeMap<&'static str, Content>,
    disk: BTreeMap<&'static str, Vec<Content>>,
}

impl Permitted {
    fn new() -> Self {
        let now = NAMES.map(|name| (name, None)).into();
        Self { now, disk: NAMES.map(|name| (name, vec![None])).into() }
    }

    /// Permits a content for a name from now on.
    fn may(&mut self, name: &'static str, content: Content) {
        self.disk.get_mut(name).unwrap().push(content);
    }

    /// Requires a content for a name in the store from now on, and on the disk if `is_durable`.
    fn has(&mut self, name: &'static str, content: Content, is_durable: bool) {
        self.now.insert(name, content);
        if is_durable {
            self.disk.insert(name, vec![content]);
        }
    }
}

/// Performs a random action; its outcome is permitted before it, and required once it is
/// acknowledged.
fn act(store: &Store, permitted: &mut Permitted, draw: &mut impl FnMut() -> u64) -> Result<()> {
    let name = NAMES[draw() as usize % NAMES.len()];
    let present = permitted.now[name];
    match draw() % 8 {
        0 if present.is_some() => {
            permitted.may(name, None);
            store.remove_name(&at(name))?;
            permitted.has(name, None, true);
        }
        1 if present.is_some() => {
            permitted.may(name, present);
            store.flush(Some(&at(name)))?;
            permitted.has(name, present, true);
        }
        2 if present.is_some() => {
            let target = NAMES[draw() as usize % NAMES.len()];
            if target == name {
                return Ok(());
            }
            // The file of the new name is flushed before it is replaced.
            let replaced = permitted.now[target];
            permitted.may(target, replaced);
            permitted.may(target, present);
            permitted.may(name, present);
            permitted.may(name, None);
            store.rename(&at(name), &at(target))?;
            permitted.has(target, present, false);
            permitted.has(name, None, false);
        }
        _ => {
            let (seed, mode) = (draw() % 1000, MODES[draw() as usize % MODES.len()]);
            if mode != WriteMode::Memory {
                permitted.may(name, Some(seed));
            }
            write(store, name, &content(seed), mode)?;
            permitted.has(name, Some(seed), matches!(mode, WriteMode::Through | WriteMode::Bypass));
        }
    }
    Ok(())
}

fn content(seed: u64) -> Vec<u8> {
    bytes(seed, 700 + seed as usize * 5)
}

fn open(place: &Path, memory: &Path) -> Result<Store> {
    let options = crate::common::options(40);
    Store::open(Box::new(PosixUnder::open(place)?), memory, options)
}

/// Checks that a store has a permitted content for a name.
fn check(
    store: &Store,
    name: &'static str,
    permitted: &[Content],
) -> std::result::Result<(), String> {
    let present = match store.facts(&at(name)) {
        Ok(_) => Some(read(store, name).map_err(|error| error.message())?),
        Err(_) => None,
    };
    if permitted.iter().any(|seed| seed.map(content) == present) {
        return Ok(());
    }
    Err(format!(
        "{name} has {:?} bytes, not one of {permitted:?}",
        present.map(|bytes| bytes.len())
    ))
}

#[test]
fn files_acknowledged_on_the_disk_survive_a_power_failure() {
    let runs = if std::env::var_os("CUESTA_SOAK").is_some() { 2000 } else { 60 };
    let (mut cuts, mut changes) = (0, 0);
    for seed in 0..runs {
        let mut draw = draws(seed);
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("disk");
        std::fs::create_dir(&place).unwrap();
        let disk = ForgetfulDisk::default();
        let Some(session) = disk.mount(&place) else { return };
        let store = open(&place, &folder.path().join("memory")).unwrap();
        let mut permitted = Permitted::new();
        disk.fail_after(1 + draw() % CHANGES_MAX);
        let is_cut = (0..ACTIONS).any(|_| act(&store, &mut permitted, &mut draw).is_err());
        cuts += u64::from(is_cut);
        changes += disk.changes();
        drop(store);
        drop(session);
        disk.power_off(&mut draw);
        let _session = disk.mount(&place).unwrap();
        let store = open(&place, &folder.path().join("memory-2")).unwrap();
        for name in NAMES {
            let checked = check(&store, name, &permitted.disk[name]);
            checked.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
    }
    assert!(cuts > runs / 4 && changes > runs * 10, "{cuts} cuts, {changes} changes");
}

#[test]
fn a_disk_without_power_loses_unsynchronised_changes() {
    let mut outcomes = std::collections::BTreeSet::new();
    for seed in 0..64 {
        let folder = tempfile::tempdir().unwrap();
        let disk = ForgetfulDisk::default();
        let Some(session) = disk.mount(folder.path()) else { return };
        std::fs::write(folder.path().join("a"), vec![7; 2000]).unwrap();
        drop(session);
        disk.power_off(&mut draws(seed));
        let _session = disk.mount(folder.path()).unwrap();
        outcomes.insert(std::fs::read(folder.path().join("a")).ok());
    }
    assert!(outcomes.contains(&None));
    assert!(outcomes.contains(&Some(vec![])));
    assert!(outcomes.len() > 4, "{} outcomes", outcomes.len());
}
