//! Operations that come from a trace, for example, instead of a pattern: a separate thread makes
//! them ahead of the loop and passes them on in blocks.
//! ```text
//!  thread: make ─▶ FeedOut ─▶ blocks ─▶ FeedSource ─▶ operations ─▶ the loop
//!                     ▲                     └───────▶ steps ──────▶ the pacer
//!                     └──── emptied blocks ────┘
//! ```
//! Memory is bounded by a fixed number of blocks. The loop waits for the thread only when no block
//! is ready; these waits are counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex};

use iolab_engine::Op;
use iolab_workload::{OpBatch, Source};

/// Number of operations in a block.
const BLOCK: usize = 4096;
/// Number of blocks made ahead of the loop.
const AHEAD: usize = 8;

/// When an operation is sent, and which operations must precede it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Step {
    /// When it is due, ns from the beginning of the round; meaningless without timing.
    pub(crate) due_ns: u64,
    /// It is sent when at most this number of its worker's operations are in flight.
    pub(crate) beside: u32,
    /// Number of gates before it.
    pub(crate) gates: u32,
}

/// An operation waits until the first `operations` of another worker are complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedGate {
    /// The number of the worker.
    pub worker: u32,
    /// How many of its operations must be complete, counted from its first.
    pub operations: u64,
}

/// The steps of a block of operations.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    pub(crate) steps: Vec<Step>,
    pub(crate) gates: Vec<FeedGate>,
}

#[derive(Debug, Default)]
struct Block {
    ops: Vec<Op>,
    steps: Steps,
}

#[derive(Debug)]
enum Message {
    Block(Block),
    /// The round is over: at its end, or because of this error.
    Over(Option<String>),
}

/// The source of a worker's operations.
#[derive(Debug)]
pub struct Supplied {
    pub(crate) source: FeedSource,
    pub(crate) steps: Receiver<Steps>,
    pub(crate) fed: Arc<Fed>,
    pub(crate) timed: bool,
}

/// What the thread and the loop report at the end.
#[derive(Debug, Default)]
pub(crate) struct Fed {
    trouble: Mutex<Option<String>>,
    starved: AtomicU64,
}

impl Fed {
    /// Why the operations ended early, if they did.
    pub(crate) fn take_trouble(&self) -> Option<String> {
        self.trouble.lock().ok()?.take()
    }

    /// How often the loop had to wait for the thread.
    pub(crate) fn starved(&self) -> u64 {
        self.starved.load(Ordering::Relaxed)
    }
}

/// The thread's end of the channel, to which it adds operations.
#[derive(Debug)]
pub struct FeedOut {
    messages: SyncSender<Message>,
    spare: Receiver<Block>,
    block: Block,
}

/// No more operations are taken: the worker has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unwanted;

impl FeedOut {
    /// Adds an operation, its step, and the gates before it.
    ///
    /// # Errors
    /// The worker has ended.
    pub fn push(&mut self, op: Op, due_ns: u64, beside: u32, gates: &[FeedGate]) -> Result<(), Unwanted> {
        self.block.ops.push(op);
        self.block.steps.steps.push(Step { due_ns, beside, gates: gates.len() as u32 });
        self.block.steps.gates.extend_from_slice(gates);
        if self.block.ops.len() == BLOCK { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<(), Unwanted> {
        if self.block.ops.is_empty() {
            return Ok(());
        }
        let mut next = self.spare.try_recv().unwrap_or_default();
        next.ops.clear();
        next.steps.steps.clear();
        next.steps.gates.clear();
        let block = std::mem::replace(&mut self.block, next);
        self.messages.send(Message::Block(block)).map_err(|_| Unwanted)
    }
}

impl Supplied {
    /// Starts the thread. `make` puts one round of operations, from the first to the last; it is
    /// called again for every further round, and returns early when the worker has ended. Its error
    /// says why there are no more operations. With `timed`, each operation is sent at the time of
    /// its step, otherwise as soon as the order allows.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(
        timed: bool,
        mut make: impl FnMut(&mut FeedOut) -> Result<(), String> + Send + 'static,
    ) -> std::io::Result<Supplied> {
        let (messages, received) = sync_channel(AHEAD);
        let (give_back, spare) = sync_channel(AHEAD);
        let (again, wanted) = sync_channel::<()>(1);
        // A batch of the loop uses at most two blocks.
        let (steps_in, steps) = sync_channel(AHEAD);
        let thread = move || {
            let mut out = FeedOut { messages, spare, block: Block::default() };
            loop {
                let made = make(&mut out);
                let sent = out.send();
                let over = Message::Over(made.err());
                if sent.is_err() || out.messages.send(over).is_err() || wanted.recv() == Err(RecvError) {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("feed".to_owned()).spawn(thread)?;
        let fed = Arc::new(Fed::default());
        let source = FeedSource {
            messages: received,
            give_back,
            again,
            steps: steps_in,
            block: Block::default(),
            next: 0,
            is_over: false,
            has_begun: false,
            fed: Arc::clone(&fed),
        };
        Ok(Supplied { source, steps, fed, timed })
    }
}

/// The loop's end of the channel, from which it takes operations.
#[derive(Debug)]
pub(crate) struct FeedSource {
    messages: Receiver<Message>,
    give_back: SyncSender<Block>,
    again: SyncSender<()>,
    steps: SyncSender<Steps>,
    block: Block,
    next: usize,
    is_over: bool,
    has_begun: bool,
    fed: Arc<Fed>,
}

impl FeedSource {
    /// Waits for the first operations, so that the run does not begin with a wait for them.
    pub(crate) fn prime(&mut self) {
        self.advance();
        self.has_begun = true;
    }

    /// Takes the next block; false at the end of the round.
    fn advance(&mut self) -> bool {
        if self.is_over {
            return false;
        }
        let message = match self.messages.try_recv() {
            Err(TryRecvError::Empty) => {
                self.fed.starved.fetch_add(u64::from(self.has_begun), Ordering::Relaxed);
                self.messages.recv().ok()
            }
            received => received.ok(),
        };
        self.has_begun = true;
        match message {
            Some(Message::Block(mut block)) => {
                // The pacer has taken the steps of earlier blocks, so there is room.
                let _ = self.steps.try_send(std::mem::take(&mut block.steps));
                let _ = self.give_back.try_send(std::mem::replace(&mut self.block, block));
                self.next = 0;
                true
            }
            over => {
                self.is_over = true;
                let reason = match over {
                    Some(Message::Over(reason)) => reason,
                    _ => Some("the thread that reads the trace has died".to_owned()),
                };
                if let (Some(reason), Ok(mut trouble)) = (reason, self.fed.trouble.lock()) {
                    *trouble = Some(reason);
                }
                false
            }
        }
    }
}

impl Source for FeedSource {
    fn fill(&mut self, out: &mut OpBatch) {
        out.clear();
        if self.next == self.block.ops.len() && !self.advance() {
            return;
        }
        let count = (self.block.ops.len() - self.next).min(OpBatch::ROOM);
        self.block.ops[self.next..self.next + count].iter().for_each(|op| out.push(*op));
        self.next += count;
    }

    fn restart(&mut self) {
        if self.is_over && self.again.try_send(()).is_ok() {
            self.is_over = false;
            self.has_begun = false;
        }
    }

    fn memory_bytes(&self) -> usize {
        (AHEAD + 2) * BLOCK * (size_of::<Op>() + size_of::<Step>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_engine::OpKind;

    fn op(offset: u64) -> Op {
        Op { offset, length: 1, buffer_offset: 0, file: 0, slot: 0, kind: OpKind::Read, priority: 0 }
    }

    #[test]
    fn rounds_come_whole_and_in_order_with_their_steps() {
        const MANY: u64 = 3 * BLOCK as u64 + 17;
        let make = |out: &mut FeedOut| {
            for number in 0..MANY {
                let gate = [FeedGate { worker: 1, operations: number }];
                let gates = if number % 2 == 0 { &gate[..] } else { &[] };
                if out.push(op(number), number * 10, 0, gates).is_err() {
                    return Ok(());
                }
            }
            Ok(())
        };
        let mut supplied = Supplied::start(true, make).unwrap();
        let mut batch = OpBatch::new();
        for round in 0..2 {
            let (mut seen, mut steps) = (0, Vec::new());
            loop {
                supplied.source.fill(&mut batch);
                steps.extend(supplied.steps.try_iter().flat_map(|block| block.steps));
                if batch.is_empty() {
                    break;
                }
                for op in batch.as_slice() {
                    assert_eq!(op.offset, seen, "round {round}");
                    seen += 1;
                }
            }
            assert_eq!((seen, steps.len() as u64), (MANY, MANY));
            assert_eq!((steps[8].due_ns, steps[8].gates, steps[9].gates), (80, 1, 0));
            supplied.source.restart();
        }
    }

    #[test]
    fn trouble_of_the_thread_is_told_after_what_came_before() {
        let make = |out: &mut FeedOut| {
            let _ = out.push(op(7), 0, 0, &[]);
            Err("the file ends here".to_owned())
        };
        let mut supplied = Supplied::start(false, make).unwrap();
        let mut batch = OpBatch::new();
        supplied.source.fill(&mut batch);
        assert_eq!(batch.as_slice(), [op(7)]);
        supplied.source.fill(&mut batch);
        assert!(batch.is_empty());
        assert_eq!(supplied.fed.take_trouble().as_deref(), Some("the file ends here"));
    }
}
