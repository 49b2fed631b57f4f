//! What was promised of a file that is written, and what each step makes of it: decisions without
//! I/O, explored exhaustively by the tests below.

use std::fmt;
use std::str::FromStr;

use cuesta_core::Error;
use serde::{Deserialize, Serialize};

/// Where a file that is written goes (the paper's Figure 5 a to c, and write-back).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteMode {
    /// Into memory alone, until it is flushed or the store is stopped.
    Memory,
    /// To the under level alone.
    Bypass,
    /// To both, before the writer goes on.
    Through,
    /// Into memory before the writer goes on, and to the under level afterwards.
    Back,
}

impl WriteMode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Bypass, Self::Through, Self::Back];

    /// Its name in options and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Bypass => "bypass",
            Self::Through => "through",
            Self::Back => "back",
        }
    }
}

impl fmt::Display for WriteMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for WriteMode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|mode| mode.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::input("store", format!("there is no write mode {name}, give one of {known}"))
        })
    }
}

/// How far a file that is written has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteState {
    /// Its writer has not closed it. Nothing is promised.
    Writing,
    /// It is closed, and goes to the under level before the writer is answered.
    Closing,
    /// It is whole in memory, and stays there.
    Memory,
    /// It is whole in memory, and will be on the under level.
    Dirty,
    /// It is whole on the disk of the under level, under a hidden name.
    Synced,
    /// The under level has it. The store has no more to do.
    Persisted,
    /// It is to be forgotten.
    Abandoned,
}

/// A step of a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteStep {
    /// The writer closes it.
    Commit,
    /// Somebody wants it on the under level.
    Flush,
    /// All its bytes are on the disk under the hidden name.
    Sync,
    /// It has its name, and the name is on the disk.
    Name,
    /// The writer or a user gives it up.
    Abandon,
}

/// What somebody may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// Nothing.
    Nothing,
    /// All bytes are there while the memory of this node is, whatever happens to the daemon.
    Memory,
    /// All bytes are on the under level, whatever happens to this node.
    Disk,
}

impl WriteState {
    /// The state after a step; `None` where the step cannot be taken. `is_in_memory` says whether
    /// all of its blocks are.
    pub fn after(self, step: WriteStep, mode: WriteMode, is_in_memory: bool) -> Option<Self> {
        use WriteState as State;
        Some(match (self, step) {
            (State::Writing, WriteStep::Commit) => match mode {
                WriteMode::Memory if is_in_memory => State::Memory,
                WriteMode::Back if is_in_memory => State::Dirty,
                _ => State::Closing,
            },
            (State::Memory, WriteStep::Flush) => State::Dirty,
            (State::Closing | State::Dirty, WriteStep::Sync) => State::Synced,
            (State::Synced, WriteStep::Name) => State::Persisted,
            (State::Persisted | State::Abandoned, _) => return None,
            (_, WriteStep::Abandon) => State::Abandoned,
            _ => return None,
        })
    }

    /// The state in which a store that comes after a killed one takes it up. `has_name` says
    /// whether the under level has these bytes under the file's name.
    pub fn recovered(self, mode: WriteMode, is_in_memory: bool, has_name: bool) -> Self {
        use WriteState as State;
        match self {
            State::Writing | State::Closing | State::Abandoned => State::Abandoned,
            // The name may not be on the disk yet: that is to be done again.
            State::Synced if has_name => State::Synced,
            State::Synced if self.promise(mode, is_in_memory) == Promise::Memory => State::Dirty,
            State::Synced => State::Abandoned,
            State::Memory | State::Dirty | State::Persisted => self,
        }
    }

    /// What was promised of a file in this state.
    pub fn promise(self, mode: WriteMode, is_in_memory: bool) -> Promise {
        use WriteState as State;
        let is_promised_early = matches!(mode, WriteMode::Memory | WriteMode::Back) && is_in_memory;
        match self {
            State::Writing | State::Closing | State::Abandoned => Promise::Nothing,
            State::Memory | State::Dirty => Promise::Memory,
            State::Synced if is_promised_early => Promise::Memory,
            State::Synced => Promise::Nothing,
            State::Persisted => Promise::Disk,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashSet, VecDeque};

    /// A file, the level under it, and what its writer was told.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    struct World {
        mode: WriteMode,
        /// As it is recorded in memory.
        state: WriteState,
        is_in_memory: bool,
        hidden: Hidden,
        has_name: bool,
        has_durable_name: bool,
        was_told_memory: bool,
        was_told_disk: bool,
        /// The writer or a user gave it up.
        was_given_up: bool,
        /// The store runs.
        is_alive: bool,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Hidden {
        None,
        PendingFile,
        Synced,
    }

    impl World {
        fn begin(mode: WriteMode) -> Self {
            let is_in_memory = mode != WriteMode::Bypass;
            let hidden = if matches!(mode, WriteMode::Bypass | WriteMode::Through) {
                Hidden::PendingFile
            } else {
                Hidden::None
            };
            Self {
                mode,
                state: WriteState::Writing,
                is_in_memory,
                hidden,
                has_name: false,
                has_durable_name: false,
                was_told_memory: false,
                was_told_disk: false,
                was_given_up: false,
                is_alive: true,
            }
        }

        fn taking(self, step: WriteStep) -> Option<Self> {
            let state = self.state.after(step, self.mode, self.is_in_memory)?;
            Some(Self { state, ..self })
        }

        /// The worlds that may follow, as the store does its work.
        fn next(self) -> Vec<Self> {
            if !self.is_alive {
                let state = self.state.recovered(self.mode, self.is_in_memory, self.has_name);
                // What is under a hidden name is removed, or written again.
                let hidden = Hidden::None;
                return vec![Self { state, hidden, is_alive: true, ..self }];
            }
            // A kill may come before every step.
            let mut next = vec![Self { is_alive: false, ..self }];
            match self.state {
                WriteState::Writing => {
                    if matches!(self.mode, WriteMode::Back | WriteMode::Through) {
                        // The memory has no room for a block.
                        next.push(Self {
                            is_in_memory: false,
                            hidden: Hidden::PendingFile,
                            ..self
                        });
                    }
                    next.extend(self.taking(WriteStep::Commit));
                }
                WriteState::Closing | WriteState::Dirty => match self.hidden {
                    Hidden::None if self.is_in_memory => {
                        next.push(Self { hidden: Hidden::PendingFile, ..self });
                    }
                    Hidden::None => (),
                    Hidden::PendingFile => next.push(Self { hidden: Hidden::Synced, ..self }),
                    Hidden::Synced => next.extend(self.taking(WriteStep::Sync)),
                },
                WriteState::Memory => next.extend(self.taking(WriteStep::Flush)),
                WriteState::Synced if !self.has_name => {
                    next.push(Self { hidden: Hidden::None, has_name: true, ..self });
                }
                WriteState::Synced if !self.has_durable_name => {
                    next.push(Self { has_durable_name: true, ..self });
                }
                WriteState::Synced => next.extend(self.taking(WriteStep::Name)),
                WriteState::Persisted | WriteState::Abandoned => (),
            }
            if let Some(gone) = self.taking(WriteStep::Abandon) {
                next.push(Self { was_given_up: true, ..gone });
            }
            let told = self.state.promise(self.mode, self.is_in_memory);
            next.push(Self {
                was_told_memory: self.was_told_memory || told == Promise::Memory,
                was_told_disk: self.was_told_disk || told == Promise::Disk,
                ..self
            });
            next
        }

        fn check(self) {
            if self.was_told_disk {
                assert!(self.has_durable_name, "{self:?}");
            }
            if self.has_name {
                assert_ne!(
                    self.hidden,
                    Hidden::PendingFile,
                    "named before it was synced: {self:?}"
                );
            }
            if self.was_told_memory && !self.was_given_up {
                let recovered = self.state.recovered(self.mode, self.is_in_memory, self.has_name);
                let is_in_memory = self.is_in_memory
                    && matches!(recovered, WriteState::Memory | WriteState::Dirty);
                assert!(is_in_memory || self.has_name, "{self:?}");
            }
        }
    }

    #[test]
    fn in_no_order_of_steps_and_kills_is_a_promise_broken() {
        let mut found: HashSet<World> = WriteMode::ALL.map(World::begin).into();
        let mut waiting: VecDeque<World> = found.iter().copied().collect();
        while let Some(world) = waiting.pop_front() {
            world.check();
            for next in world.next() {
                if found.insert(next) {
                    waiting.push_back(next);
                }
            }
        }
        let ended = |world: &&World| world.state == WriteState::Persisted && world.was_told_disk;
        for mode in WriteMode::ALL {
            assert!(found.iter().filter(ended).any(|world| world.mode == mode), "{mode}");
        }
        // So that a change of the machine is noticed here.
        assert_eq!(found.len(), 228);
    }

    #[test]
    fn modes_have_names() {
        for mode in WriteMode::ALL {
            assert_eq!(mode.name().parse::<WriteMode>().unwrap(), mode);
        }
        assert!("both".parse::<WriteMode>().unwrap_err().message.contains("write mode both"));
    }
}
