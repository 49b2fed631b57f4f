//! State machine of a file that is written, and the durability promised in each state: decisions
//! without I/O, explored exhaustively by the tests below.

use std::fmt;
use std::str::FromStr;

use cuesta_core::Error;
use serde::{Deserialize, Serialize};

/// Destination of a file that is written (Figure 5 a to c of the paper, and write-back).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteMode {
    /// Into memory only, until it is flushed or the store is stopped.
    Memory,
    /// Directly to the under level.
    Bypass,
    /// To both, before the writer continues.
    Through,
    /// Into memory before the writer continues, and to the under level afterwards.
    Back,
}

impl WriteMode {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Bypass, Self::Through, Self::Back];

    /// Returns its name in options and messages.
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
            let names = Self::ALL.map(Self::name).join(", ");
            Error::input("store", format!("there is no write mode {name}, give one of {names}"))
        })
    }
}

/// State of a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteState {
    /// The writer has not closed it. No promise.
    Writing,
    /// It is closed, and is written to the under level before the writer gets its answer.
    Closing,
    /// It is complete in memory, and is retained there.
    Memory,
    /// It is complete in memory, and is to be written back.
    Dirty,
    /// It is complete on the disk of the under level, under a hidden name.
    Synced,
    /// The under level has it. Nothing remains to be done.
    Persisted,
    /// It is to be discarded.
    Abandoned,
}

/// Transition of a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteStep {
    /// The writer closes it.
    Commit,
    /// A client wants it on the under level.
    Flush,
    /// All its bytes are on the disk, under the hidden name.
    Sync,
    /// It has its name, and the name is on the disk.
    Name,
    /// The writer or a user discards it.
    Abandon,
}

/// Durability that a client may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// No durability.
    Nothing,
    /// All bytes exist as long as the memory of this node does, whatever happens to the daemon.
    Memory,
    /// All bytes are on the under level, whatever happens to this node.
    Disk,
}

impl WriteState {
    /// Returns the state after a step; `None` where the step is not allowed. `is_in_memory` states
    /// whether all of its blocks are in memory.
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

    /// Returns the state in which a store continues with it after a killed one. `has_name` states
    /// whether the under level has these bytes under the file's name.
    pub fn recovered(self, mode: WriteMode, is_in_memory: bool, has_name: bool) -> Self {
        use WriteState as State;
        match self {
            State::Writing | State::Closing | State::Abandoned => State::Abandoned,
            // The name may not be on the disk yet: that step is repeated.
            State::Synced if has_name => State::Synced,
            State::Synced if self.promise(mode, is_in_memory) == Promise::Memory => State::Dirty,
            State::Synced => State::Abandoned,
            State::Memory | State::Dirty | State::Persisted => self,
        }
    }

    /// Returns the durability promised for a file in this state.
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

    /// A file, its copy on the under level, and the promises that its writer has received.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    struct World {
        mode: WriteMode,
        /// State as recorded in memory.
        state: WriteState,
        is_in_memory: bool,
        hidden: Hidden,
        has_name: bool,
        has_durable_name: bool,
        promised_memory: bool,
        promised_disk: bool,
        /// The writer or a user discarded it.
        was_discarded: bool,
        /// Whether the store runs.
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
                promised_memory: false,
                promised_disk: false,
                was_discarded: false,
                is_alive: true,
            }
        }

        fn taking(self, step: WriteStep) -> Option<Self> {
            let state = self.state.after(step, self.mode, self.is_in_memory)?;
            Some(Self { state, ..self })
        }

        /// Returns the worlds that may follow.
        fn next(self) -> Vec<Self> {
            if !self.is_alive {
                let state = self.state.recovered(self.mode, self.is_in_memory, self.has_name);
                // A file under a hidden name is removed, or written again.
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
            if let Some(abandoned) = self.taking(WriteStep::Abandon) {
                next.push(Self { was_discarded: true, ..abandoned });
            }
            let promise = self.state.promise(self.mode, self.is_in_memory);
            next.push(Self {
                promised_memory: self.promised_memory || promise == Promise::Memory,
                promised_disk: self.promised_disk || promise == Promise::Disk,
                ..self
            });
            next
        }

        fn check(self) {
            if self.promised_disk {
                assert!(self.has_durable_name, "{self:?}");
            }
            if self.has_name {
                assert_ne!(
                    self.hidden,
                    Hidden::PendingFile,
                    "named before it was synced: {self:?}"
                );
            }
            if self.promised_memory && !self.was_discarded {
                let recovered = self.state.recovered(self.mode, self.is_in_memory, self.has_name);
                let is_in_memory = self.is_in_memory
                    && matches!(recovered, WriteState::Memory | WriteState::Dirty);
                assert!(is_in_memory || self.has_name, "{self:?}");
            }
        }
    }

    #[test]
    fn no_order_of_steps_and_kills_breaks_a_promise() {
        let mut visited: HashSet<World> = WriteMode::ALL.map(World::begin).into();
        let mut waiting: VecDeque<World> = visited.iter().copied().collect();
        while let Some(world) = waiting.pop_front() {
            world.check();
            for next in world.next() {
                if visited.insert(next) {
                    waiting.push_back(next);
                }
            }
        }
        let ended = |world: &&World| world.state == WriteState::Persisted && world.promised_disk;
        for mode in WriteMode::ALL {
            assert!(visited.iter().filter(ended).any(|world| world.mode == mode), "{mode}");
        }
        // Any change of the state machine shows here.
        assert_eq!(visited.len(), 228);
    }

    #[test]
    fn modes_have_names() {
        for mode in WriteMode::ALL {
            assert_eq!(mode.name().parse::<WriteMode>().unwrap(), mode);
        }
        assert!("both".parse::<WriteMode>().unwrap_err().message().contains("write mode both"));
    }
}
