//! The folder of a store: no file is removed or changed that a store did not create.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::common::{at, bytes, serving, write};
use cuesta_core::Result;
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_store::daemon::serve;
use cuesta_store::folder::StoreFolder;
use cuesta_store::store::Store;
use cuesta_store::under::posix::PosixUnder;
use cuesta_store::writeback::WriteMode;
use tempfile::TempDir;

const BLOCK: u64 = 1000;
const TREES: u64 = 1000;
/// Names that a store uses, and names that look like them.
const NAMES: &str = "blocks files writes lock socket ledger remaining refused.log page.json \
    page.part store.json store.1.cuesta-part ledger.part 0.json 5.json 1-2.part 3.ready \
    0-0-3e8-00000000-0";

/// Folders for a store and its files, and a folder of another program.
struct Place {
    root: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { root: tempfile::tempdir().unwrap() };
        for name in ["under", "second", "outside"] {
            fs::create_dir(place.path(name)).unwrap();
        }
        fs::write(place.path("outside/precious"), "must stay").unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn memory(&self) -> PathBuf {
        self.path("memory")
    }

    /// Starts a store over `under`, calls `used`, and ends it normally.
    fn serve(&self, under: &str, used: impl FnOnce()) -> Result<()> {
        let progress = Progress::default();
        let ready = || {
            used();
            progress.cancel();
        };
        serve(
            &self.memory(),
            &self.path(under),
            serving(crate::common::options(16)),
            &progress,
            ready,
        )
    }

    /// Opens a store, calls `used`, and ends it as by a kill.
    fn kill_after(&self, used: impl FnOnce(&Store)) {
        let claimed = StoreFolder::claim(&self.memory(), &self.path("under"), BLOCK).unwrap();
        claimed.check().unwrap();
        let store = self.open("under").unwrap();
        used(&store);
        // A killed process drops nothing.
        std::mem::forget(store);
    }

    fn open(&self, under: &str) -> Result<Store> {
        let under = PosixUnder::open(&self.path(under))?;
        Store::open(Box::new(under), &self.memory(), crate::common::options(16))
    }

    fn make_memory(&self) {
        fs::DirBuilder::new().mode(0o700).create(self.memory()).unwrap();
    }
}

/// Kind and mode of a path, and the contents of a file or the target of a link.
type Entry = (u32, Vec<u8>);

/// Returns the entries of a folder. A store that runs may remove a temporary file of its own
/// meanwhile: it is left out.
fn listing(folder: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut entries = BTreeMap::new();
    for name in existing(fs::read_dir(folder)).into_iter().flatten() {
        let path = name.unwrap().path();
        let Some((metadata, content)) = existing(entry(&path)) else { continue };
        if metadata.is_dir() {
            entries.extend(listing(&path));
        }
        entries.insert(path, (metadata.mode(), content));
    }
    entries
}

/// Returns metadata, and the contents of a file or the target of a link.
fn entry(path: &Path) -> io::Result<(fs::Metadata, Vec<u8>)> {
    let metadata = fs::symlink_metadata(path)?;
    let content = if metadata.is_symlink() {
        fs::read_link(path)?.into_os_string().into_vec()
    } else if metadata.is_file() {
        fs::read(path)?
    } else {
        vec![]
    };
    Ok((metadata, content))
}

/// Returns a result, or `None` if its file does not exist any more; panics on other errors.
fn existing<T>(result: io::Result<T>) -> Option<T> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        result => Some(result.unwrap()),
    }
}

fn assert_unchanged(before: &BTreeMap<PathBuf, Entry>, folder: &Path, place: &str) {
    let after = listing(folder);
    for (path, entry) in before {
        let now = after.get(path);
        assert!(now.is_some(), "{place}: {} was removed", path.display());
        assert!(now == Some(entry), "{place}: {} was changed", path.display());
    }
}

/// Random numbers.
struct Draw(Stream, u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.1 += 1;
        self.0.bits(self.1) % limit
    }
}

/// Fills folders with files of another program; returns their paths.
fn plant(draw: &mut Draw, mut parents: Vec<PathBuf>, outside: &Path) -> Vec<PathBuf> {
    let (mut planted, names): (_, Vec<_>) = (Vec::new(), NAMES.split(' ').collect());
    for number in 0..1 + draw.below(10) {
        let parent = parents[draw.below(parents.len() as u64) as usize].clone();
        let odd = [b"caf\xe9".to_vec(), b"-rf".to_vec(), b"line\nbreak".to_vec(), vec![b'x'; 240]];
        let name = match draw.below(2) {
            0 => names[draw.below(names.len() as u64) as usize].as_bytes().to_vec(),
            _ => {
                let mut name = odd[draw.below(odd.len() as u64) as usize].clone();
                name.extend(number.to_string().as_bytes());
                name
            }
        };
        let path = parent.join(std::ffi::OsStr::from_bytes(&name));
        if path.symlink_metadata().is_ok() {
            continue;
        }
        match draw.below(7) {
            0 | 1 => {
                let mode = [0o700, 0o755][draw.below(2) as usize];
                fs::DirBuilder::new().mode(mode).create(&path).unwrap();
                parents.push(path.clone());
            }
            2 => symlink(outside, &path).unwrap(),
            3 => symlink(outside.join("precious"), &path).unwrap(),
            4 => symlink("/nonexistent", &path).unwrap(),
            kind => {
                let content = [&b""[..], b"text of a stranger\n", b"{}", b"\n{\"a\": 1}\n"];
                let content = content[draw.below(4) as usize];
                let content = if kind == 5 { content } else { b"1" };
                fs::write(&path, content).unwrap();
                let mode = [0o600, 0o644, 0o400][draw.below(3) as usize];
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        planted.push(path);
    }
    planted
}

#[test]
fn a_folder_with_files_of_a_stranger_is_refused_unchanged() {
    // A store started over a home directory deleted all of it when it was stopped:
    // `CUESTA_STORE=home cuesta store start ...; store stop`.
    let mut draw = Draw(Stream::new(38, 0), 0);
    for tree in 0..TREES {
        let place = Place::new();
        place.make_memory();
        plant(&mut draw, vec![place.memory()], &place.path("outside"));
        let before = listing(place.root.path());
        let error = place.serve("under", || panic!("tree {tree} was taken over")).unwrap_err();
        assert!(error.message().contains("$CUESTA_STORE"), "tree {tree}: {error}");
        assert!(!error.message().contains('\n'));
        assert_eq!(listing(place.root.path()), before, "tree {tree}: {error}");
    }
}

#[test]
fn what_a_stranger_put_into_the_folder_of_a_store_outlives_start_kill_and_stop() {
    // Adopting the folder of a killed store removed files in `files`, `blocks` and `writes` that no
    // store had made; stopping it removed the rest.
    let mut draw = Draw(Stream::new(39, 0), 0);
    let mut starts = 0;
    for tree in 0..TREES {
        let place = Place::new();
        place.kill_after(|store| {
            write(store, "a", &bytes(tree, 1500), WriteMode::Back).unwrap();
            write(store, "b", &bytes(tree + 1, 700), WriteMode::Through).unwrap();
        });
        let parents = ["", "blocks", "files", "writes"].map(|name| place.memory().join(name));
        let planted = plant(&mut draw, parents.to_vec(), &place.path("outside"));
        let all = listing(place.root.path());
        let before: BTreeMap<_, _> =
            all.iter().filter(|(path, _)| planted.contains(path)).map(cloned).collect();
        let name = format!("tree {tree}, {planted:?}");
        let check = || assert_unchanged(&before, place.root.path(), &name);
        let started = place.serve("under", check);
        check();
        match started {
            Ok(()) => starts += 1,
            // A foreign file has a name that the store needs: nothing was changed at all.
            Err(_) => assert_unchanged(&all, place.root.path(), &name),
        }
        assert_eq!(fs::read(place.path("outside/precious")).unwrap(), b"must stay");
    }
    assert!(starts > TREES / 2, "{starts} of {TREES} stores started");
}

/// A recovered file keeps its number. When its description was written, or removed for a file that
/// had just changed, a file of another program with the name of the description was removed.
#[test]
fn a_recovered_file_leaves_what_has_the_name_of_its_description() {
    let kinds: [fn(&Path); 3] = [
        |path| fs::write(path, "text of a stranger\n").unwrap(),
        |path| symlink("/nonexistent", path).unwrap(),
        |path| fs::create_dir(path).unwrap(),
    ];
    for make in kinds {
        let place = Place::new();
        place.kill_after(|store| {
            write(store, "a", &bytes(1, 1500), WriteMode::Back).unwrap();
        });
        let files = place.memory().join("files");
        let ours = listing(&files);
        let names = (0..8).map(|number| files.join(format!("{number}.json")));
        names.filter(|path| !ours.contains_key(path)).for_each(|path| make(&path));
        let mut before = listing(&files);
        before.retain(|path, _| !ours.contains_key(path));
        let check = || assert_unchanged(&before, &files, "files");
        place.serve("under", check).unwrap();
        check();
        assert_eq!(fs::read(place.path("under/a")).unwrap(), bytes(1, 1500));
    }
}

fn cloned((path, entry): (&PathBuf, &Entry)) -> (PathBuf, Entry) {
    (path.clone(), entry.clone())
}

#[test]
fn a_store_removes_all_that_it_made() {
    let place = Place::new();
    place.serve("under", || assert!(place.memory().join("store.json").exists())).unwrap();
    assert!(!place.memory().exists());
    // A folder that existed before, and was empty, is the user's.
    place.make_memory();
    place.serve("under", || ()).unwrap();
    assert_eq!(listing(&place.memory()), BTreeMap::new());
    assert!(place.memory().exists());
}

#[test]
fn links_in_the_place_of_folders_are_refused() {
    // `DirBuilder` followed a link that was planted as `blocks`, or as the folder itself.
    for name in ["memory", "memory/blocks", "memory/files", "memory/writes"] {
        let place = Place::new();
        place.kill_after(|_| ());
        let path = place.path(name);
        if name == "memory" {
            fs::rename(&path, place.path("moved")).unwrap();
        } else {
            fs::remove_dir(&path).unwrap();
        }
        symlink(place.path("outside"), &path).unwrap();
        let before = listing(place.root.path());
        let error = place.serve("under", || panic!("{name} was followed")).unwrap_err();
        assert!(error.message().contains("$CUESTA_STORE"), "{name}: {error}");
        assert_eq!(listing(place.root.path()), before, "{name}: {error}");
        assert!(place.open("under").is_err());
    }
}

#[test]
fn a_store_over_another_folder_does_not_flush_what_was_written_for_the_first() {
    // A store was killed with a dirty file and restarted with another --under: the file was flushed
    // to the wrong folder, the audit reported "lost", and a part of it remained.
    let place = Place::new();
    let content = bytes(4, 3000);
    place.kill_after(|store| write(store, "a", &content, WriteMode::Back).unwrap());
    let before = listing(place.root.path());
    let error = place.serve("second", || panic!("it was taken over")).unwrap_err();
    let first = place.path("under").canonicalize().unwrap();
    for wanted in [
        place.memory().to_str().unwrap(),
        "1 file of 3000 bytes (cuesta:///a)",
        &format!("--under {}", first.display()),
        "$CUESTA_STORE",
    ] {
        assert!(error.message().contains(wanted), "{error}");
    }
    let after = listing(place.root.path());
    assert_eq!(listing(&place.path("second")), BTreeMap::new());
    for (path, entry) in before.iter().filter(|(path, _)| !path.ends_with("lock")) {
        assert_eq!(after.get(path), Some(entry), "{}", path.display());
    }
    place.serve("under", || ()).unwrap();
    assert_eq!(fs::read(place.path("under/a")).unwrap(), content);
    assert!(!place.memory().exists());
}

#[test]
fn a_store_that_holds_nothing_for_another_folder_may_be_started_over_it() {
    let place = Place::new();
    place.kill_after(|store| {
        write(store, "a", &bytes(4, 3000), WriteMode::Through).unwrap();
        // The file was not closed: only its hidden file exists.
        store.create(&at("b"), WriteMode::Through).unwrap();
    });
    assert_eq!(fs::read_dir(place.path("under")).unwrap().count(), 2);
    let claimed = StoreFolder::claim(&place.memory(), &place.path("second"), BLOCK).unwrap();
    claimed.check().unwrap();
    let store = place.open("second").unwrap();
    assert_eq!(store.counts().used_bytes, 0);
    assert_eq!(store.audit(true).files, 0);
    let names: Vec<_> = fs::read_dir(place.path("under")).unwrap().map(|e| e.unwrap()).collect();
    assert_eq!(names.iter().map(|entry| entry.file_name()).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn the_folder_of_an_older_version_with_unflushed_files_is_taken_up() {
    let place = Place::new();
    let content = bytes(4, 2500);
    place.kill_after(|store| write(store, "a", &content, WriteMode::Memory).unwrap());
    fs::remove_file(place.memory().join("store.json")).unwrap();
    fs::write(place.memory().join("lock"), "").unwrap();
    fs::write(place.memory().join("blocks/7-0.part"), "half").unwrap();
    let claimed = StoreFolder::claim(&place.memory(), &place.path("under"), BLOCK).unwrap();
    claimed.check().unwrap();
    assert!(!place.memory().join("blocks/7-0.part").exists());
    let store = place.open("under").unwrap();
    assert_eq!(crate::common::read(&store, "a").unwrap(), content);
}

#[test]
fn a_folder_of_another_host_is_taken_up_and_a_newer_version_is_refused() {
    let place = Place::new();
    place.kill_after(|store| write(store, "a", &bytes(1, 1500), WriteMode::Memory).unwrap());
    let marker = place.memory().join("store.json");
    let text = fs::read_to_string(&marker).unwrap();
    let mut facts: serde_json::Value = serde_json::from_str(&text).unwrap();
    facts["host"] = "elsewhere".into();
    facts["boot"] = "before".into();
    fs::write(&marker, marker_text(&facts)).unwrap();
    place.kill_again();
    facts["schema"] = "cuesta.store-folder/2".into();
    fs::write(&marker, marker_text(&facts)).unwrap();
    let error = place.serve("under", || panic!("it was taken over")).unwrap_err();
    assert!(error.message().contains("newer version"), "{error}");
}

/// Formats a marker with its schema first.
fn marker_text(facts: &serde_json::Value) -> Vec<u8> {
    let mut facts = facts.clone();
    let schema = facts.as_object_mut().unwrap().remove("schema").unwrap();
    let rest = serde_json::to_string(&facts).unwrap();
    let mut text = Vec::new();
    write!(text, "{{\"schema\":{schema},{}", &rest[1..]).unwrap();
    text
}

impl Place {
    fn kill_again(&self) {
        let claimed = StoreFolder::claim(&self.memory(), &self.path("under"), BLOCK).unwrap();
        claimed.check().unwrap();
        let store = self.open("under").unwrap();
        assert_eq!(crate::common::read(&store, "a").unwrap(), bytes(1, 1500));
    }
}
