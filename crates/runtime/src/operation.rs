//! Operations: the kinds of rounds of a workload, in types. An [`Operation`] says what a task
//! reads, what it returns or sends, and how results are combined. A leader makes a [`RoundPlan`]
//! of it, which [`Rounds`] runs; an [`OperationWorker`] finds it by its name. Only this module
//! encodes and decodes the messages between them.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use cuesta_core::job::{Context, Request, Response};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};

use crate::blocks::{Blocks, Bytes};
use crate::rounds::{Round, Task, Worker};
use crate::sequential::Rounds;
use crate::wire::{self, WireValue};

/// An operation on the inputs of all tasks of a round. The value is what the tasks and parts share.
pub trait Operation: Serialize + DeserializeOwned {
    /// Name among the operations of the workload, and by default that of its phase.
    const NAME: &'static str;
    /// Whether blocks are pairs of text, see [`Round::is_text`].
    const IS_TEXT: bool = false;
    /// Whether [`Operation::take`] gets each block when it arrives; else [`Operation::part`] gets
    /// them all.
    const STREAMS: bool = false;
    /// State of a worker, which all operations of the workload share.
    type State;
    /// Input of a task.
    type Input: WireValue;
    /// Result of a task, or in a round with parts that of a part.
    type Output: WireValue;

    /// Does a task.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    fn task(self, input: Self::Input, context: TaskContext<'_, Self::State>) -> TaskOutcome<Self>;

    /// Receives a block for a part, from one task or several; blocks arrive in any order.
    ///
    /// # Errors
    /// As for a task.
    fn take(&self, block: &[u8], part: usize, state: &mut Self::State) -> Result<()> {
        let _ = (block, part, state);
        Err(absent::<Self>("take a block"))
    }

    /// Does a part; `blocks` are in the order of the tasks that sent them, and none if the
    /// operation [streams](Operation::STREAMS).
    ///
    /// # Errors
    /// As for a task.
    fn part(
        self,
        blocks: Vec<Bytes>,
        context: TaskContext<'_, Self::State>,
    ) -> Result<Self::Output> {
        let _ = (blocks, context);
        Err(absent::<Self>("do a part"))
    }

    /// Combines two results into one.
    ///
    /// # Errors
    /// As for a task.
    fn combine(left: Self::Output, right: Self::Output) -> Result<Self::Output> {
        let _ = (left, right);
        Err(absent::<Self>("combine results"))
    }
}

fn absent<O: Operation>(what: &str) -> Error {
    Error::defect("rounds", format!("the operation {} does not {what}", O::NAME))
}

/// Result of a task.
#[derive(Debug)]
pub enum TaskResult<T> {
    /// Result for the leader, of a round without parts.
    Output(T),
    /// Blocks for the parts.
    Sent(Blocks),
}

/// Outcome of a task of an operation.
pub type TaskOutcome<O> = Result<TaskResult<<O as Operation>::Output>>;

/// Surroundings of a task or a part.
pub struct TaskContext<'a, S> {
    /// Number of the task or part in the round.
    pub number: usize,
    /// Request of the run, with the budget of the worker.
    pub request: &'a Request,
    /// Progress, and the user's request to stop.
    pub progress: &'a Progress,
    /// State of the worker.
    pub state: &'a mut S,
}

impl<'a, S> TaskContext<'a, S> {
    /// The request with its budget, and the progress.
    pub fn job(&self) -> Context<'a> {
        Context::new(self.request, self.progress)
    }
}

/// Plan of a round: an operation, the inputs of its tasks, and the phase in the run record.
pub struct RoundPlan<O: Operation> {
    /// The operation.
    pub operation: O,
    /// Input of each task.
    pub inputs: Vec<O::Input>,
    /// Number of parts that tasks send blocks to; 0 for a round without parts.
    pub parts: usize,
    /// Name of its phase in the run record.
    pub phase: String,
    /// Bytes that it reads or writes, whichever bounds it.
    pub bytes: u64,
    /// Rows that it processes.
    pub rows: u64,
    /// Floating-point operations, where they bound it; else 0.
    pub flops: u64,
    /// Name of the measured ceiling that bounds it.
    pub ceiling: Option<&'static str>,
}

impl<O: Operation> RoundPlan<O> {
    /// Plans a round without parts, in a phase of the operation's name.
    pub fn new(operation: O, inputs: Vec<O::Input>) -> Self {
        let phase = O::NAME.to_owned();
        Self { operation, inputs, parts: 0, phase, bytes: 0, rows: 0, flops: 0, ceiling: None }
    }

    /// The round as bytes.
    ///
    /// # Errors
    /// `Defect` for a value that cannot be encoded.
    pub fn encoded(self, combines: bool) -> Result<Round> {
        let Self { operation, inputs, parts, phase, bytes, rows, flops, ceiling } = self;
        let shared = wire::to_bytes(&(O::NAME, operation))?;
        let tasks = inputs.into_iter().map(WireValue::into_bytes).collect::<Result<_>>()?;
        let is_text = O::IS_TEXT;
        Ok(Round { phase, bytes, rows, flops, ceiling, shared, tasks, parts, is_text, combines })
    }
}

impl Rounds {
    /// Runs a round; returns the result of each task, or with parts that of each part, in order.
    /// The phases of `response` precede that of the round.
    ///
    /// # Errors
    /// `Cancelled` when the run has ended; `Defect` for values that cannot be encoded or decoded.
    pub fn run<O: Operation>(
        &self,
        plan: RoundPlan<O>,
        response: &mut Response,
    ) -> Result<Vec<O::Output>> {
        let results = self.round(plan.encoded(false)?, response)?;
        results.into_iter().map(|result| WireValue::from_bytes(result.into())).collect()
    }

    /// Runs a round as [`Rounds::run`] does, whose results are combined into one; `None` if there
    /// are no tasks.
    ///
    /// # Errors
    /// As [`Rounds::run`].
    pub fn combined<O: Operation>(
        &self,
        plan: RoundPlan<O>,
        response: &mut Response,
    ) -> Result<Option<O::Output>> {
        let results = self.round(plan.encoded(true)?, response)?;
        results.into_iter().next().map(|result| WireValue::from_bytes(result.into())).transpose()
    }
}

/// Worker of a workload, which does tasks and parts of its operations.
pub struct OperationWorker<S> {
    request: Request,
    state: S,
    operations: Operations<S>,
    /// Blocks of parts, by the first of the tasks that sent them.
    received: BTreeMap<usize, BTreeMap<usize, Bytes>>,
}

/// Operations by name.
type Operations<S> = BTreeMap<&'static str, EncodedOperation<S>>;

impl<S: Send + 'static> OperationWorker<S> {
    /// A worker that does no operation yet.
    pub fn new(request: &Request, state: S) -> Self {
        let (operations, received) = (BTreeMap::new(), BTreeMap::new());
        Self { request: request.clone(), state, operations, received }
    }

    /// The worker, which also does operation `O`.
    pub fn with<O: Operation<State = S>>(mut self) -> Self {
        let before = self.operations.insert(O::NAME, EncodedOperation::of::<O>());
        debug_assert!(before.is_none(), "two operations are named {}", O::NAME);
        self
    }

    /// The worker as engines use it.
    pub fn boxed(self) -> Box<dyn Worker> {
        Box::new(self)
    }
}

/// The operation that a message names, and its value.
fn named<'o, 'b, S>(
    operations: &'o Operations<S>,
    shared: &'b [u8],
) -> Result<(&'o EncodedOperation<S>, &'b [u8])> {
    let (name, value) = wire::first_of_bytes::<&str>(shared)?;
    let unknown = || Error::defect("rounds", format!("no operation is named {name:?}"));
    Ok((operations.get(name).ok_or_else(unknown)?, value))
}

impl<S: Send> Worker for OperationWorker<S> {
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)> {
        let Self { request, state, operations, .. } = self;
        let (operation, value) = named(operations, task.shared)?;
        let context = TaskContext { number: task.number, request, progress, state };
        (operation.task)(value, task.input, context)
    }

    fn take(&mut self, part: Task<'_>, from: usize, block: Bytes) -> Result<()> {
        let (operation, value) = named(&self.operations, part.shared)?;
        if operation.streams {
            return (operation.take)(value, (*block).as_ref(), part.number, &mut self.state);
        }
        self.received.entry(part.number).or_default().insert(from, block);
        Ok(())
    }

    fn part(&mut self, part: Task<'_>, progress: &Progress) -> Result<Vec<u8>> {
        let Self { request, state, operations, received } = self;
        let (operation, value) = named(operations, part.shared)?;
        let blocks = received.remove(&part.number).unwrap_or_default().into_values().collect();
        let context = TaskContext { number: part.number, request, progress, state };
        (operation.part)(value, blocks, context)
    }

    fn combine(&self, shared: &[u8], left: Vec<u8>, right: &[u8]) -> Result<Vec<u8>> {
        (named(&self.operations, shared)?.0.combine)(left, right)
    }
}

type TaskFunction<S> = fn(&[u8], &[u8], TaskContext<'_, S>) -> Result<(Vec<u8>, Blocks)>;
type PartFunction<S> = fn(&[u8], Vec<Bytes>, TaskContext<'_, S>) -> Result<Vec<u8>>;

/// Functions of an operation whose value, inputs and results are bytes.
struct EncodedOperation<S> {
    streams: bool,
    task: TaskFunction<S>,
    take: fn(&[u8], &[u8], usize, &mut S) -> Result<()>,
    part: PartFunction<S>,
    combine: fn(Vec<u8>, &[u8]) -> Result<Vec<u8>>,
}

impl<S> EncodedOperation<S> {
    fn of<O: Operation<State = S>>() -> Self {
        Self {
            streams: O::STREAMS,
            task: |value, input, context| {
                let (operation, input) = (wire::from_bytes::<O>(value)?, input.into());
                match operation.task(WireValue::from_bytes(input)?, context)? {
                    TaskResult::Output(output) => Ok((output.into_bytes()?, Blocks::default())),
                    TaskResult::Sent(blocks) => Ok((Vec::new(), blocks)),
                }
            },
            take: |value, block, part, state| {
                wire::from_bytes::<O>(value)?.take(block, part, state)
            },
            part: |value, blocks, context| {
                wire::from_bytes::<O>(value)?.part(blocks, context)?.into_bytes()
            },
            combine: |left, right| {
                let left = WireValue::from_bytes(left.into())?;
                O::combine(left, WireValue::from_bytes(right.into())?)?.into_bytes()
            },
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use serde::Deserialize;

    use super::*;
    use crate::rounds::{Leader, RandomEngine};
    use crate::sequential;
    use cuesta_core::job;
    use cuesta_core::random::Stream;

    /// A request without inputs.
    pub(crate) const REQUEST: &str =
        r#"{"inputs": [], "output": "", "threads": 1, "memory_bytes": 1, "scratch": ""}"#;

    /// Adds a number to that of each task.
    #[derive(Serialize, Deserialize)]
    struct Add(u64);

    impl Operation for Add {
        const NAME: &'static str = "add";
        type State = Vec<u64>;
        type Input = u64;
        type Output = u64;

        fn task(self, input: u64, context: TaskContext<'_, Vec<u64>>) -> TaskOutcome<Self> {
            context.progress.advance(1)?;
            Ok(TaskResult::Output(self.0 + input))
        }

        fn combine(left: u64, right: u64) -> Result<u64> {
            Ok(left + right)
        }
    }

    /// Sends the number of each task to all parts, which return the numbers in the order of tasks.
    #[derive(Serialize, Deserialize)]
    struct Gather {
        parts: usize,
    }

    impl Operation for Gather {
        const NAME: &'static str = "gather";
        type State = Vec<u64>;
        type Input = u64;
        type Output = Vec<u64>;

        fn task(self, input: u64, _: TaskContext<'_, Vec<u64>>) -> TaskOutcome<Self> {
            Ok(TaskResult::Sent(Blocks::of(&vec![input.to_le_bytes(); self.parts])))
        }

        fn part(self, blocks: Vec<Bytes>, _: TaskContext<'_, Vec<u64>>) -> Result<Vec<u64>> {
            let numbers = blocks.iter().flat_map(|block| (**block).as_ref().as_chunks().0);
            Ok(numbers.map(|number| u64::from_le_bytes(*number)).collect())
        }
    }

    /// As [`Gather`], with blocks that are added to the state as they arrive.
    #[derive(Serialize, Deserialize)]
    struct Stream8;

    impl Operation for Stream8 {
        const NAME: &'static str = "stream";
        const STREAMS: bool = true;
        type State = Vec<u64>;
        type Input = u64;
        type Output = Vec<u64>;

        fn task(self, input: u64, _: TaskContext<'_, Vec<u64>>) -> TaskOutcome<Self> {
            Ok(TaskResult::Sent(Blocks::of(&[input.to_le_bytes()])))
        }

        fn take(&self, block: &[u8], part: usize, state: &mut Vec<u64>) -> Result<()> {
            assert_eq!(part, 0);
            state.extend(block.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number)));
            Ok(())
        }

        fn part(self, blocks: Vec<Bytes>, context: TaskContext<'_, Vec<u64>>) -> Result<Vec<u64>> {
            assert!(blocks.is_empty());
            context.state.sort_unstable();
            Ok(std::mem::take(context.state))
        }
    }

    fn worker() -> Box<dyn Worker> {
        let worker = OperationWorker::new(&job::request(REQUEST).unwrap(), Vec::new());
        worker.with::<Add>().with::<Gather>().with::<Stream8>().boxed()
    }

    #[test]
    fn a_leader_and_its_workers_pass_values() {
        let mut leader: Box<dyn Leader> = sequential::leader(|rounds| {
            let mut response = Response::default();
            let inputs = || (0..20).collect::<Vec<u64>>();
            let added = rounds.run(RoundPlan::new(Add(7), inputs()), &mut response)?;
            assert_eq!(added, (7..27).collect::<Vec<u64>>());
            let sum = rounds.combined(RoundPlan::new(Add(1), inputs()), &mut response)?;
            assert_eq!(sum, Some(210));
            let none = rounds.combined(RoundPlan::new(Add(1), Vec::new()), &mut response)?;
            assert_eq!(none, None);
            let plan = RoundPlan::new(Gather { parts: 3 }, inputs());
            let gathered = rounds.run(RoundPlan { parts: 3, ..plan }, &mut response)?;
            assert_eq!(gathered, vec![inputs(); 3]);
            let plan = RoundPlan { parts: 1, ..RoundPlan::new(Stream8, inputs()) };
            assert_eq!(rounds.run(plan, &mut response)?, [inputs()]);
            Ok(response)
        });
        let engine = RandomEngine { worker: &|| Ok(worker()), chance: Stream::new(3, 0) };
        engine.run(leader.as_mut(), &Progress::default()).unwrap();
    }

    #[test]
    fn a_worker_refuses_what_an_operation_does_not_do() {
        let refusal = |result: Result<()>| result.unwrap_err().message();
        let shared = wire::to_bytes(&(Add::NAME, Add(1))).unwrap();
        let part = Task { number: 0, shared: &shared, input: &[] };
        let done = worker().part(part, &Progress::default()).map(|_| ());
        assert!(refusal(done).contains("the operation add does not do a part"));
        let streamed = wire::to_bytes(&("none", 1)).unwrap();
        let unknown = worker().take(Task { shared: &streamed, ..part }, 0, Box::new(vec![]));
        assert!(refusal(unknown).contains("no operation is named \"none\""));
        let shared = wire::to_bytes(&(Gather::NAME, Gather { parts: 1 })).unwrap();
        let combined = worker().combine(&shared, vec![0], &[0]).map(|_| ());
        assert!(refusal(combined).contains("the operation gather does not combine results"));
        assert!(worker().task(Task { shared: &[], ..part }, &Progress::default()).is_err());
    }
}
