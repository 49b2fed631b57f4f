//! Ordered output of parallel tasks, with bounded memory.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard};

use cuesta_core::{Error, Result};

use crate::parallel::lock;

/// Bytes of tasks whose turn has not come that are buffered before a worker must wait.
const BUFFERED_BYTES_MAX: usize = 32 << 20;

/// A file that tasks write to in the order of their numbers.
pub struct OrderedFile {
    path: PathBuf,
    file: File,
    state: Mutex<State>,
    turn: Condvar,
}

#[derive(Default)]
struct State {
    next: usize,
    /// Whether a task is writing, without the lock.
    is_busy: bool,
    /// Buffered output of tasks from `next` on.
    buffered: BTreeMap<usize, BufferedOutput>,
    buffered_bytes: usize,
    /// Emptied buffers of written parts, for reuse.
    spare: Vec<Vec<u8>>,
    written_bytes: u64,
    failed_at: usize,
}

/// Parts that a task handed over, and whether its last part is among them.
#[derive(Default)]
struct BufferedOutput {
    parts: VecDeque<Vec<u8>>,
    is_finished: bool,
}

impl OrderedFile {
    /// Creates the file.
    ///
    /// # Errors
    /// `System`.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path)
            .map_err(|cause| Error::system("answer", "creating", path, &cause))?;
        let state = State { failed_at: usize::MAX, ..State::default() };
        Ok(Self { path: path.to_owned(), file, state: Mutex::new(state), turn: Condvar::new() })
    }

    /// Hands over a part of task `task`, which is written once all output before it is; blocks if
    /// too much is buffered already. Leaves `part` empty, perhaps with its memory.
    ///
    /// # Errors
    /// `System`; `Cancelled` when a task before it failed.
    pub fn write_part(&self, task: usize, part: &mut Vec<u8>) -> Result<()> {
        self.hand_over(task, part, false)
    }

    /// Hands over the last part of task `task`; it is written when its turn comes. Leaves `last`
    /// empty, perhaps with its memory.
    ///
    /// # Errors
    /// `System`; `Cancelled` when a task before it failed.
    pub fn finish_task(&self, task: usize, last: &mut Vec<u8>) -> Result<()> {
        self.hand_over(task, last, true)
    }

    fn hand_over(&self, task: usize, part: &mut Vec<u8>, is_last: bool) -> Result<()> {
        let mut state = lock(&self.state);
        loop {
            if state.next == task && !state.is_busy {
                return self.write(state, part, is_last);
            }
            if state.failed_at < task {
                return Err(Error::cancelled());
            }
            if state.buffered_bytes + part.len() <= BUFFERED_BYTES_MAX {
                state.buffered_bytes += part.len();
                let spare = state.spare.pop().unwrap_or_default();
                let buffered = state.buffered.entry(task).or_default();
                buffered.parts.push_back(std::mem::replace(part, spare));
                buffered.is_finished = is_last;
                return Ok(());
            }
            state = self.turn.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    /// Writes a part of the task whose turn it is, then the buffered output that follows it.
    fn write<'s>(
        &'s self,
        mut state: MutexGuard<'s, State>,
        part: &mut Vec<u8>,
        is_last: bool,
    ) -> Result<()> {
        state = self.append(state, part)?;
        part.clear();
        let mut is_finished = is_last;
        loop {
            if is_finished {
                state.next += 1;
                self.turn.notify_all();
            }
            let next = state.next;
            let Some(buffered) = state.buffered.get_mut(&next) else { return Ok(()) };
            let part = buffered.parts.pop_front();
            is_finished = buffered.is_finished && buffered.parts.is_empty();
            if is_finished || part.is_none() {
                state.buffered.remove(&next);
            }
            let Some(mut part) = part else { return Ok(()) };
            state = self.append(state, &part)?;
            state.buffered_bytes -= part.len();
            part.clear();
            state.spare.push(part);
            self.turn.notify_all();
        }
    }

    /// Releases the tasks that wait for `task`, which failed.
    pub fn fail(&self, task: usize) {
        let mut state = lock(&self.state);
        state.failed_at = state.failed_at.min(task);
        self.turn.notify_all();
    }

    /// Finishes the file and returns its size in bytes.
    ///
    /// # Errors
    /// `System`.
    pub fn close(self) -> Result<u64> {
        let state = self.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        assert!(state.buffered.is_empty(), "a task was never finished");
        Ok(state.written_bytes)
    }

    /// Writes without the lock, so that other tasks can hand over parts meanwhile.
    fn append<'s>(
        &'s self,
        mut state: MutexGuard<'s, State>,
        part: &[u8],
    ) -> Result<MutexGuard<'s, State>> {
        state.is_busy = true;
        drop(state);
        let written = (&self.file).write_all(part);
        state = lock(&self.state);
        state.is_busy = false;
        written.map_err(|cause| Error::system("answer", "writing", &self.path, &cause))?;
        state.written_bytes += part.len() as u64;
        Ok(state)
    }
}

/// Turns of parallel tasks, in the order of their numbers.
#[derive(Debug, Default)]
pub struct Turns {
    state: Mutex<TurnState>,
    turn: Condvar,
}

#[derive(Debug, Default)]
struct TurnState {
    /// The task whose turn it is.
    next: usize,
    /// The lowest task that failed.
    failed: Option<usize>,
    /// Whether tasks proceed without waiting for their turns.
    is_open: bool,
}

impl Turns {
    /// Waits for the turn of `task`, runs `work`, and passes the turn to the next task.
    ///
    /// # Errors
    /// The error of `work`; `Cancelled` when a task before it failed.
    pub fn take<T>(&self, task: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.wait(task)?;
        let result = work()?;
        self.pass();
        Ok(result)
    }

    /// Waits for the turn of `task`, which lasts until [`Turns::pass`].
    ///
    /// # Errors
    /// `Cancelled` when a task before it failed.
    pub fn wait(&self, task: usize) -> Result<()> {
        let mut state = lock(&self.state);
        while state.next != task && !state.is_open {
            if state.failed.is_some_and(|failed| failed < task) {
                return Err(Error::cancelled());
            }
            state = self.turn.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        Ok(())
    }

    /// Passes the turn to the next task.
    pub fn pass(&self) {
        lock(&self.state).next += 1;
        self.turn.notify_all();
    }

    /// Gives up the order: from now on no task waits.
    pub fn open(&self) {
        lock(&self.state).is_open = true;
        self.turn.notify_all();
    }

    /// Releases the tasks that wait for `task`, which failed.
    pub fn fail(&self, task: usize) {
        let mut state = lock(&self.state);
        state.failed = Some(state.failed.map_or(task, |failed| failed.min(task)));
        self.turn.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel;

    #[test]
    fn parts_come_out_in_the_order_of_the_tasks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        for threads in [1, 2, 4] {
            let out = OrderedFile::create(&path).unwrap();
            let work = |buffer: &mut Vec<u8>, task: usize| {
                buffer.extend_from_slice(format!("{task}a\n").as_bytes());
                if task.is_multiple_of(3) {
                    out.write_part(task, buffer)?;
                }
                buffer.extend_from_slice(format!("{task}b\n").as_bytes());
                out.finish_task(task, buffer)
            };
            parallel::run(threads, 200, Vec::new, work, |task| out.fail(task)).unwrap();
            let size = out.close().unwrap();
            let expected: String = (0..200).map(|t| format!("{t}a\n{t}b\n")).collect();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(text, expected);
            assert_eq!(size, text.len() as u64);
        }
    }

    #[test]
    fn parts_of_later_tasks_do_not_wait_and_are_written_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let out = OrderedFile::create(&path).unwrap();
        // On one thread, so that a wait would have no end.
        out.write_part(1, &mut b"b1".to_vec()).unwrap();
        out.write_part(2, &mut b"c1".to_vec()).unwrap();
        out.write_part(1, &mut b"b2".to_vec()).unwrap();
        out.finish_task(3, &mut b"".to_vec()).unwrap();
        out.write_part(0, &mut b"a1".to_vec()).unwrap();
        out.finish_task(2, &mut b"c2".to_vec()).unwrap();
        out.finish_task(0, &mut b"a2".to_vec()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"a1a2b1b2");
        out.write_part(1, &mut b"b3".to_vec()).unwrap();
        out.finish_task(1, &mut b"b4".to_vec()).unwrap();
        assert_eq!(out.close().unwrap(), 16);
        assert_eq!(std::fs::read(&path).unwrap(), b"a1a2b1b2b3b4c1c2");
    }

    /// On one thread, so that a wait would have no end.
    #[test]
    fn early_parts_are_buffered_up_to_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let out = OrderedFile::create(&path).unwrap();
        let buffered = 32 << 20;
        for first in [0, 3] {
            out.finish_task(first + 2, &mut vec![2; buffered - 1]).unwrap();
            out.finish_task(first + 1, &mut vec![1]).unwrap();
            out.fail(first);
            let error = out.finish_task(first + 4, &mut vec![4]).unwrap_err();
            assert_eq!(error.kind, Error::cancelled().kind);
            lock(&out.state).failed_at = usize::MAX;
            out.finish_task(first, &mut vec![0]).unwrap();
        }
        assert_eq!(out.close().unwrap(), 2 * (buffered as u64 + 1));
    }

    #[test]
    fn a_task_that_failed_releases_those_after_it_alone() {
        let folder = tempfile::tempdir().unwrap();
        let out = OrderedFile::create(&folder.path().join("out")).unwrap();
        let turns = Turns::default();
        out.fail(1);
        turns.fail(1);
        std::thread::scope(|scope| {
            let first = scope.spawn(|| (out.write_part(1, &mut vec![1]), turns.take(1, || Ok(()))));
            assert!(out.write_part(2, &mut vec![2]).is_err() && turns.wait(2).is_err());
            // The first has looked for a failure by now, else it never waits.
            std::thread::sleep(std::time::Duration::from_millis(50));
            out.finish_task(0, &mut vec![0]).unwrap();
            turns.take(0, || Ok(())).unwrap();
            let (part, turn) = first.join().unwrap();
            assert!(part.is_ok() && turn.is_ok());
        });
    }

    #[test]
    fn turns_come_in_order_and_a_failure_ends_the_wait() {
        let (turns, order) = (Turns::default(), Mutex::new(Vec::new()));
        let work = |_: &mut (), task: usize| {
            if task.is_multiple_of(3) {
                turns.wait(task)?;
            }
            turns.take(task, || {
                lock(&order).push(task);
                if task == 60 { Err(Error::input("test", "bad")) } else { Ok(()) }
            })
        };
        let error = parallel::run(4, 100, || (), work, |task| turns.fail(task)).unwrap_err();
        assert_eq!(error.message(), "test: bad");
        assert_eq!(*lock(&order), (0..=60).collect::<Vec<_>>());
    }

    #[test]
    fn no_task_waits_for_a_turn_after_the_order_is_dropped() {
        let turns = Turns::default();
        turns.take(0, || Ok(())).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| turns.take(7, || Ok(7)));
            turns.open();
            assert_eq!(waits.join().unwrap().unwrap(), 7);
        });
        turns.wait(3).unwrap();
    }

    #[test]
    fn tasks_that_wait_for_a_failed_task_are_released() {
        let folder = tempfile::tempdir().unwrap();
        let out = OrderedFile::create(&folder.path().join("out")).unwrap();
        let work = |buffer: &mut Vec<u8>, task: usize| {
            if task == 1 {
                return Err(Error::input("test", "bad"));
            }
            buffer.push(b'x');
            out.write_part(task, buffer)?;
            out.finish_task(task, buffer)
        };
        let error = parallel::run(3, 50, Vec::new, work, |task| out.fail(task)).unwrap_err();
        assert_eq!(error.message(), "test: bad");
    }
}
