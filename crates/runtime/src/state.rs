//! What the parts of a run keep from one round to the next.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cuesta_core::{Error, Result};

use crate::atomic_file::AtomicFile;
use crate::rounds::{Bytes, Resources};

/// The folder in scratch that workers share.
const FOLDER: &str = "state";

/// Values by name: in the memory of this worker where a number always comes to the same one, else
/// in files of a folder that all workers share, where any of them finds them.
///
/// A task may be done twice: what it puts under a name must be the same each time, and what it
/// needs must not be under that name. So a name has the number of the round in it.
#[derive(Debug)]
pub struct State {
    held: Option<BTreeMap<String, Arc<Vec<u8>>>>,
    folder: PathBuf,
}

impl State {
    /// What is kept by a run whose workers share `scratch`, or keep by `resources`.
    pub fn new(resources: Resources, scratch: &Path) -> Self {
        Self { held: resources.keeps.then(BTreeMap::new), folder: scratch.join(FOLDER) }
    }

    /// Keeps a value.
    ///
    /// # Errors
    /// `System`.
    pub fn put(&mut self, name: &str, value: Vec<u8>) -> Result<()> {
        if let Some(held) = &mut self.held {
            held.insert(name.to_owned(), Arc::new(value));
            return Ok(());
        }
        let path = self.folder.join(name);
        let failed = |cause| Error::system("state", "writing", &path, &cause);
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let mut file = AtomicFile::create(&path)?;
        file.write_all(&value).map_err(failed)?;
        file.finish()
    }

    /// A value that was kept.
    ///
    /// # Errors
    /// `Defect` where none was; `Input` where workers do not share the folder; `System`.
    pub fn get(&self, name: &str) -> Result<Bytes> {
        if let Some(held) = &self.held {
            let missing = || Error::defect("state", format!("nothing is kept as {name}"));
            return Ok(Box::new(Shared(held.get(name).ok_or_else(missing)?.clone())));
        }
        let path = self.folder.join(name);
        match fs::read(&path) {
            Ok(value) => Ok(Box::new(value)),
            Err(cause) if cause.kind() == ErrorKind::NotFound => {
                let place = self.folder.display();
                let text = format!(
                    "nothing is kept as {name} in {place}; give a --scratch that all nodes share"
                );
                Err(Error::input("state", text))
            }
            Err(cause) => Err(Error::system("state", "reading", &path, &cause)),
        }
    }

    /// Forgets a value that no task of this round or of one to come needs, if it is there.
    ///
    /// # Errors
    /// `System`.
    pub fn forget(&mut self, name: &str) -> Result<()> {
        if let Some(held) = &mut self.held {
            held.remove(name);
            return Ok(());
        }
        let path = self.folder.join(name);
        match fs::remove_file(&path) {
            Err(cause) if cause.kind() != ErrorKind::NotFound => {
                Err(Error::system("state", "removing", &path, &cause))
            }
            _ => Ok(()),
        }
    }
}

struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_value_is_found_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        for keeps in [false, true] {
            let resources = Resources { keeps, ..Resources::default() };
            let mut state = State::new(resources, folder.path());
            state.put("3-part-0", b"one".to_vec()).unwrap();
            state.put("3-part-0", b"two".to_vec()).unwrap();
            assert_eq!((*state.get("3-part-0").unwrap()).as_ref(), b"two");
            state.forget("3-part-0").unwrap();
            state.forget("3-part-0").unwrap();
            let error = state.get("3-part-0").err().unwrap();
            assert!(error.message.contains("nothing is kept as 3-part-0"), "{}", error.message);
        }
        fs::create_dir(folder.path().join("state/4")).unwrap();
        let state = State::new(Resources::default(), folder.path());
        assert_eq!(state.get("4").err().unwrap().kind, cuesta_core::error::ErrorKind::System);
        fs::remove_dir(folder.path().join("state/4")).unwrap();
        assert_eq!(fs::read_dir(folder.path().join("state")).unwrap().count(), 0);
    }

    #[test]
    fn workers_that_share_a_folder_find_what_others_keep() {
        let folder = tempfile::tempdir().unwrap();
        let resources = Resources::default();
        State::new(resources, folder.path()).put("a", vec![1; 1000]).unwrap();
        assert_eq!((*State::new(resources, folder.path()).get("a").unwrap()).as_ref(), [1; 1000]);
    }
}
