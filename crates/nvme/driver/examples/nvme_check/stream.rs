//! Bulk data: written through the driver, read back through it, and checked through the kernel.

use std::fs::File;
use std::io::{Read, Write};

use iolab_nvme_driver::{Namespace, Submit};
use iolab_pci_device::DmaBuffer;

use crate::expect;
use crate::session::{Session, contents, pattern, whole};

const SEED: u64 = 0x10_1ab;
const CHUNK: usize = 128 << 10;
const DEPTH: u16 = 16;

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Write,
    Read,
}

/// Transfers the first chunks of a namespace, many at a time. `each` fills a buffer before it is
/// written and checks the buffer after it was read.
fn stream(
    session: &mut Session,
    namespace: &Namespace,
    chunks: u64,
    way: Way,
    mut each: impl FnMut(u64, &DmaBuffer) -> crate::Outcome,
) -> crate::Outcome {
    let blocks = CHUNK as u32 / namespace.block_bytes();
    let buffers = (0..DEPTH).map(|_| session.buffer(CHUNK)).collect::<Result<Vec<_>, _>>()?;
    let mut carried = vec![0; usize::from(DEPTH)];
    let mut idle: Vec<u16> = (0..DEPTH).collect();
    let (mut next, mut ended) = (0, 0);
    while ended < chunks {
        while next < chunks
            && let Some(slot) = idle.pop()
        {
            let (buffer, lba) = (&buffers[usize::from(slot)], next * u64::from(blocks));
            let submit = if way == Way::Write {
                each(next, buffer)?;
                session.queue.write(slot, namespace, lba, blocks, whole(buffer))
            } else {
                session.queue.read(slot, namespace, lba, blocks, whole(buffer))
            };
            if submit != Submit::Accepted {
                return Err(format!("chunk {next}: {submit:?}").into());
            }
            carried[usize::from(slot)] = next;
            next += 1;
        }
        session.queue.flush();
        session.queue.wait(60_000_000_000)?;
        let mut reaped = Vec::new();
        session.queue.reap(usize::from(DEPTH), |completion| reaped.push(completion))?;
        for completion in reaped {
            let slot = usize::from(completion.slot);
            if !completion.outcome.is_done() {
                return Err(format!("chunk {}: {:?}", carried[slot], completion.outcome).into());
            }
            if way == Way::Read {
                each(carried[slot], &buffers[slot])?;
            }
            idle.push(completion.slot);
            ended += 1;
        }
    }
    for buffer in buffers {
        session.controller.unmap(buffer.address)?;
    }
    Ok(())
}

fn chunk(number: u64) -> Vec<u8> {
    pattern(SEED, number * CHUNK as u64, CHUNK)
}

pub(crate) fn fill(session: &mut Session, mib: u64) -> crate::Outcome {
    let namespace = session.first_namespace()?;
    let chunks = mib * (1 << 20) / CHUNK as u64;
    let start_ns = session.clock.now_ns();
    stream(session, &namespace, chunks, Way::Write, |number, buffer| {
        buffer.memory.write(0, &chunk(number));
        Ok(())
    })?;
    session.done("flush", |queue| queue.flush_cache(0, &namespace))?;
    let written_ns = session.clock.now_ns();
    stream(session, &namespace, chunks, Way::Read, |number, buffer| {
        if contents(buffer) == chunk(number) { Ok(()) } else { Err(format!("chunk {number} differs").into()) }
    })?;
    let read_ns = session.clock.now_ns();
    let seconds = |from, to| (to - from) as f64 / 1e9;
    println!(
        "{mib} MiB: written in {:.1} s, read in {:.1} s",
        seconds(start_ns, written_ns),
        seconds(written_ns, read_ns)
    );
    expect(true, "what was written is read")
}

pub(crate) fn verify(file: &str, mib: u64) -> crate::Outcome {
    let mut file = File::open(file)?;
    let mut bytes = vec![0; CHUNK];
    for number in 0..mib * (1 << 20) / CHUNK as u64 {
        file.read_exact(&mut bytes)?;
        if bytes != chunk(number) {
            return Err(format!("chunk {number} differs").into());
        }
    }
    expect(true, "the kernel's driver reads the same")
}

pub(crate) fn cat(session: &mut Session, mib: u64) -> crate::Outcome {
    let namespace = session.first_namespace()?;
    let buffer = session.buffer(CHUNK)?;
    let mut out = std::io::stdout().lock();
    let blocks = CHUNK as u64 / u64::from(namespace.block_bytes());
    for number in 0..mib * (1 << 20) / CHUNK as u64 {
        out.write_all(&session.read(&namespace, number * blocks, &buffer)?)?;
    }
    Ok(out.flush()?)
}
