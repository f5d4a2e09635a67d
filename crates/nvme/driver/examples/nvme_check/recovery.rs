//! Interrupts, a reset under load, and errors of the media.

use std::fs;

use iolab_nvme_driver::CommandOutcome;
use iolab_nvme_spec::{Status, StatusCodeType};

use crate::expect;
use crate::session::{Session, pattern, whole};

const BYTES: usize = 16 << 10;
const LOAD: u16 = 32;

/// Requires a session that waits for interrupts of vector 1.
pub(crate) fn check(session: &mut Session) -> crate::Outcome {
    let namespace = session.first_namespace()?;
    let buffer = session.buffer(BYTES)?;
    let before = interrupts(1);
    for lba in 0..100 {
        session.read(&namespace, lba, &buffer)?;
    }
    let after = interrupts(1);
    println!("{} interrupts for 100 reads", after - before);
    expect(after > before, "completions are announced by interrupts")?;

    let chunk = BYTES as u32 / namespace.block_bytes();
    for slot in 0..LOAD {
        buffer.memory.write(0, &pattern(3, u64::from(slot), BYTES));
        session.write(&namespace, u64::from(u32::from(slot) * chunk), &buffer)?;
    }
    let buffers = (0..LOAD).map(|_| session.buffer(BYTES)).collect::<Result<Vec<_>, _>>()?;
    for (slot, target) in (0..LOAD).zip(&buffers) {
        let lba = u64::from(u32::from(slot) * chunk);
        let submit = session.queue.read(slot, &namespace, lba, chunk, whole(target));
        expect_quietly(submit == iolab_nvme_driver::Submit::Accepted, "a read is accepted")?;
    }
    session.queue.flush();
    session.controller.reset()?;
    let mut ended = vec![None; usize::from(LOAD)];
    while ended.iter().any(Option::is_none) {
        expect_quietly(session.queue.wait(60_000_000_000)?, "commands end after a reset")?;
        let mut twice = false;
        session.queue.reap(usize::from(LOAD), |completion| {
            twice |= ended[usize::from(completion.slot)].replace(completion.outcome).is_some();
        })?;
        expect_quietly(!twice, "no command ends twice")?;
    }
    expect(session.controller.resets() == 1, "the controller was reset once, under load")?;
    expect(ended.iter().flatten().all(|outcome| outcome.is_done()), "every read in flight ends, once and well")?;
    for (slot, target) in (0..LOAD).zip(&buffers) {
        let right = crate::session::contents(target) == pattern(3, u64::from(slot), BYTES);
        expect_quietly(right, "a read that was sent again has its data")?;
    }
    expect(true, "with its own data")
}

/// The specification's name of an error.
pub(crate) fn told(outcome: CommandOutcome) -> String {
    match outcome {
        CommandOutcome::Failed(status) => status.name().map_or_else(|| format!("{status:?}"), str::to_owned),
        other => format!("{other:?}"),
    }
}

fn expect_quietly(holds: bool, what: &str) -> crate::Outcome {
    if holds { Ok(()) } else { Err(what.into()) }
}

/// How often the kernel has delivered a vector, over all processors (proc(5), /proc/interrupts).
fn interrupts(vector: u32) -> u64 {
    let name = format!("vfio-msix[{vector}]");
    let text = fs::read_to_string("/proc/interrupts").unwrap_or_default();
    let line = text.lines().find(|line| line.contains(&name)).unwrap_or_default();
    line.split_whitespace().skip(1).map_while(|word| word.parse::<u64>().ok()).sum()
}

/// `read` and `write` are the blocks that cannot be read and cannot be written.
pub(crate) fn check_errors(session: &mut Session, read: u64, write: u64) -> crate::Outcome {
    let namespace = session.first_namespace()?;
    let buffer = session.buffer(namespace.block_bytes() as usize)?;
    let bytes = pattern(5, 0, buffer.memory.len());
    let is_media_error = |outcome: CommandOutcome, code: Status| matches!(outcome, CommandOutcome::Failed(status) if status.code() == code && status.sct() == StatusCodeType::MEDIA.0);
    for round in 0..3 {
        let failed = session.one(|queue| queue.read(0, &namespace, read, 1, whole(&buffer)))?.outcome;
        expect(
            is_media_error(failed, Status::UNRECOVERED_READ_ERROR),
            &format!("round {round}: a read ends with {}", told(failed)),
        )?;
        let failed = session.one(|queue| queue.write(0, &namespace, write, 1, whole(&buffer)))?.outcome;
        expect(
            is_media_error(failed, Status::WRITE_FAULT),
            &format!("round {round}: a write ends with {}", told(failed)),
        )?;
        for lba in [read - 1, read + 1, write - 1, write + 1] {
            buffer.memory.write(0, &bytes);
            session.write(&namespace, lba, &buffer)?;
            expect_quietly(session.read(&namespace, lba, &buffer)? == bytes, "a neighbour keeps its data")?;
        }
    }
    expect(session.controller.resets() == 0, "the blocks around are fine, and nothing was reset")
}
