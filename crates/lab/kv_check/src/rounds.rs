//! The parent's part: starts, kills and reopens, as often as requested.

use std::io::{BufReader, Read};
use std::process::{Child, ChildStdout, ExitStatus};
use std::time::Duration;

use iolab_kv::{Maintenance, Store, StoreError};
use iolab_random::SplitMix64;

use crate::{Acknowledged, Model, Promised, Shape, Violation, judge};

/// The environment of the check.
pub trait World {
    /// Starts a process that calls [`load`](fn@crate::load) with this round and first number, and
    /// tells through its standard output, which is a pipe.
    ///
    /// # Errors
    /// Why it cannot be started.
    fn start(&mut self, round: u64, first: u64) -> std::io::Result<Child>;

    /// Removes what the crash of this round destroys besides the process.
    ///
    /// # Errors
    /// A sentence about what failed.
    fn crash(&mut self, round: u64) -> Result<(), String>;

    /// Opens the store.
    ///
    /// # Errors
    /// What the store says.
    fn open(&mut self, round: u64) -> Result<Box<dyn Store>, StoreError>;
}

/// The result of one round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Round {
    /// Which.
    pub number: u64,
    /// Operations that were acknowledged.
    pub acknowledged: u64,
    /// Those of them that were synced.
    pub synced: u64,
    /// Acknowledged operations that the crash took away; none of them was synced.
    pub lost: u64,
}

/// All rounds together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many.
    pub rounds: u64,
    /// Operations that were acknowledged.
    pub acknowledged: u64,
    /// Those of them that were synced.
    pub synced: u64,
    /// Acknowledged operations that crashes took away.
    pub lost: u64,
    /// Rounds that took one away.
    pub lossy_rounds: u64,
}

/// Why a check ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    /// A broken promise: what the check is for.
    #[error("round {round}: {violation}")]
    Broken {
        /// In which round.
        round: u64,
        /// Which promise.
        violation: Violation,
    },
    /// The store cannot be opened or read after a crash, which is a broken promise, too.
    #[error("round {round}: the store cannot be used after the crash: {error}")]
    Unusable {
        /// In which round.
        round: u64,
        /// What it says.
        error: StoreError,
    },
    /// The child ended unexpectedly.
    #[error("round {round}: the load ended by itself ({status}) after operation {acknowledged}")]
    EndedByItself {
        /// In which round.
        round: u64,
        /// How.
        status: ExitStatus,
        /// The last that it acknowledged.
        acknowledged: u64,
    },
    /// Something around the store failed: this says nothing about the store.
    #[error("round {round}: {what}")]
    World {
        /// In which round.
        round: u64,
        /// What.
        what: String,
    },
}

/// Acknowledgements until a child is killed, at most.
const MOST_OPERATIONS: u64 = 400;
/// Between the last acknowledgement that was waited for and the kill, microseconds, at most.
const MOST_DELAY_US: u64 = 8000;

/// Kills loads of a store, round after round, and judges the remaining content.
///
/// # Errors
/// The first violation.
pub fn check(
    world: &mut dyn World,
    shape: &Shape,
    rounds: u64,
    told: &mut dyn FnMut(&Round),
) -> Result<Summary, Stopped> {
    let mut random = SplitMix64::new(shape.seed ^ 0x6b69_6c6c);
    let (mut model, mut settled, mut summary) = (Model::default(), 0, Summary::default());
    for number in 1..=rounds {
        // Sometimes at once, while the store is being opened.
        let moment = Moment { operations: random.below(MOST_OPERATIONS), delay_us: random.below(MOST_DELAY_US) };
        let (promised, mut round) = kill(world, number, settled, moment)?;
        world.crash(number).map_err(|what| Stopped::World { round: number, what })?;
        let unusable = |error| Stopped::Unusable { round: number, error };
        let store = world.open(number).map_err(unusable)?;
        let access: &dyn iolab_kv::Access = &*store;
        let judged = judge(access, &mut model, shape, number, promised).map_err(unusable)?;
        let found = judged.map_err(|violation| Stopped::Broken { round: number, violation })?;
        store.maintain(Maintenance::Flush).and_then(|()| store.close()).map_err(unusable)?;
        round.lost = promised.acknowledged.saturating_sub(found);
        told(&round);
        settled = found;
        summary.rounds += 1;
        summary.acknowledged += round.acknowledged;
        summary.synced += round.synced;
        summary.lost += round.lost;
        summary.lossy_rounds += u64::from(round.lost > 0);
    }
    Ok(summary)
}

/// When to kill: this long after this many acknowledgements.
struct Moment {
    operations: u64,
    delay_us: u64,
}

/// One load from its start to its kill.
fn kill(world: &mut dyn World, number: u64, settled: u64, moment: Moment) -> Result<(Promised, Round), Stopped> {
    let failed = |what: String| Stopped::World { round: number, what };
    let mut child = world.start(number, settled + 1).map_err(|error| failed(format!("starting the load: {error}")))?;
    let Some(pipe) = child.stdout.take() else { return Err(failed("the load has no pipe".to_owned())) };
    let mut pipe = BufReader::new(pipe);
    let mut heard = Heard {
        promised: Promised { settled, acknowledged: settled, ..Promised::default() },
        round: Round { number, ..Round::default() },
    };
    let waited = heard.hear(&mut pipe, moment.operations);
    let is_over = matches!(waited, Ok(false));
    if !is_over {
        std::thread::sleep(Duration::from_micros(moment.delay_us));
    }
    // Even if reading failed, so that no process is left behind.
    let killed = child.kill();
    let status = child.wait().map_err(|error| failed(format!("waiting for the load: {error}")))?;
    if is_over {
        return Err(Stopped::EndedByItself { round: number, status, acknowledged: heard.promised.acknowledged });
    }
    let rest = waited.and(killed).and_then(|()| heard.hear(&mut pipe, u64::MAX));
    rest.map_err(|error| failed(format!("listening to the load: {error}")))?;
    Ok((heard.promised, heard.round))
}

/// What was received from a child.
struct Heard {
    promised: Promised,
    round: Round,
}

impl Heard {
    /// Receives this many acknowledgements; false if there are no more.
    fn hear(&mut self, pipe: &mut BufReader<ChildStdout>, most: u64) -> std::io::Result<bool> {
        for _ in 0..most {
            let Some(Acknowledged { number, is_synced }) = Acknowledged::read(&mut pipe.by_ref())? else {
                return Ok(false);
            };
            self.promised.acknowledged = number;
            self.round.acknowledged += 1;
            if is_synced {
                self.promised.synced = number;
                self.round.synced += 1;
            }
        }
        Ok(true)
    }
}
