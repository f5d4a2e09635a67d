//! Every command of the NVM command set, on every namespace that is not zoned.

use iolab_nvme_driver::{CommandOutcome, Controller, DataPointer, DataWindow, Namespace, QueueOptions};
use iolab_nvme_spec::Status;
use iolab_pci_device::DmaBuffer;

use crate::expect;
use crate::recovery::told;
use crate::session::{Session, contents, pattern, whole};

const BYTES: usize = 64 << 10;

pub(crate) fn check(session: &mut Session) -> crate::Outcome {
    describe(&session.controller);
    let namespaces = session.controller.namespaces()?;
    let plain: Vec<Namespace> = namespaces.into_iter().filter(|namespace| namespace.zones().is_none()).collect();
    let buffer = session.buffer(BYTES)?;
    for namespace in &plain {
        check_namespace(session, namespace, &buffer)?;
    }
    check_isolation(session, &plain, &buffer)?;
    check_scatter(session, &plain[0], &buffer)
}

fn describe(controller: &Controller) {
    let facts = controller.facts();
    println!("model {:?}, serial {:?}, firmware {:?}", facts.model(), facts.serial(), facts.firmware());
    println!("version {:?}, longest transfer {:?} bytes", facts.version, facts.max_transfer_bytes);
}

fn check_namespace(session: &mut Session, namespace: &Namespace, buffer: &DmaBuffer) -> crate::Outcome {
    let (id, block) = (namespace.id(), namespace.block_bytes());
    println!("namespace {id}: {} blocks of {block} bytes", namespace.blocks());
    let bytes = pattern(u64::from(id), 0, BYTES);
    let blocks = BYTES as u32 / block;
    let last = namespace.blocks() - u64::from(blocks);
    for lba in [0, 7, last] {
        buffer.memory.write(0, &bytes);
        session.write(namespace, lba, buffer)?;
        expect(session.read(namespace, lba, buffer)? == bytes, &format!("what is written at {lba} is read"))?;
    }
    session.done("flush", |queue| queue.flush_cache(0, namespace))?;
    session.done("write through", |queue| queue.write_through(0, namespace, 0, blocks, whole(buffer)))?;
    expect(true, "flush and write through")?;
    session.done("compare", |queue| queue.compare(0, namespace, 0, blocks, whole(buffer)))?;
    buffer.memory.write(BYTES / 2, &[!bytes[BYTES / 2]]);
    let different = session.one(|queue| queue.compare(0, namespace, 0, blocks, whole(buffer)))?.outcome;
    let is_difference = matches!(different, CommandOutcome::Failed(status) if status.code() == Status::COMPARE_FAILURE);
    expect(is_difference, &format!("compare finds the same and a difference ({})", told(different)))?;
    session.done("verify", |queue| queue.verify(0, namespace, 0, blocks))?;
    check_deallocation(session, namespace, buffer)?;
    let beyond = session.one(|queue| queue.read(0, namespace, namespace.blocks(), 1, whole(buffer)))?.outcome;
    let is_beyond = matches!(beyond, CommandOutcome::Failed(status) if status.code() == Status::LBA_OUT_OF_RANGE);
    expect(is_beyond, "a read behind the end is refused by the device")
}

/// TRIM and Write Zeroes change the blocks that they name, and no others.
fn check_deallocation(session: &mut Session, namespace: &Namespace, buffer: &DmaBuffer) -> crate::Outcome {
    let block = namespace.block_bytes() as usize;
    let bytes = pattern(7, 0, BYTES);
    // The range covers whole pages of the file behind the device.
    let (first, last) = (8192 / block, 16384 / block);
    for zeroes in [false, true] {
        buffer.memory.write(0, &bytes);
        session.write(namespace, 0, buffer)?;
        let count = (last - first) as u32;
        if zeroes {
            session.done("write zeroes", |queue| queue.write_zeroes(0, namespace, first as u64, count, false))?;
        } else {
            let half = count / 2;
            let ranges = [(first as u64, half), (first as u64 + u64::from(half), count - half)];
            session.done("deallocate", |queue| queue.deallocate(0, namespace, &ranges))?;
        }
        let read = session.read(namespace, 0, buffer)?;
        let inside = first * block..last * block;
        let kept = read[..inside.start] == bytes[..inside.start] && read[inside.end..] == bytes[inside.end..];
        let gone = read[inside].iter().all(|byte| *byte == 0);
        let what = if zeroes { "write zeroes" } else { "deallocate (TRIM)" };
        expect(kept && gone, &format!("{what}: its blocks read as zeroes, its neighbours stay"))?;
    }
    Ok(())
}

fn check_isolation(session: &mut Session, namespaces: &[Namespace], buffer: &DmaBuffer) -> crate::Outcome {
    for namespace in namespaces {
        buffer.memory.write(0, &pattern(u64::from(namespace.id()) << 32, 0, BYTES));
        session.write(namespace, 0, buffer)?;
    }
    for namespace in namespaces {
        let read = session.read(namespace, 0, buffer)?;
        let own = read == pattern(u64::from(namespace.id()) << 32, 0, BYTES);
        expect(own, &format!("namespace {} holds its own data, of {}", namespace.id(), namespaces.len()))?;
    }
    Ok(())
}

/// Data that starts within a page, by PRP lists and by SGLs.
fn check_scatter(session: &mut Session, namespace: &Namespace, buffer: &DmaBuffer) -> crate::Outcome {
    let length = BYTES as u32 - 8192;
    let blocks = length / namespace.block_bytes();
    for data_pointer in [DataPointer::Prp, DataPointer::Sgl] {
        if data_pointer == DataPointer::Sgl && !session.controller.facts().sgl() {
            println!("the controller does not support SGLs");
            continue;
        }
        let options = QueueOptions { data_pointer, ..QueueOptions::with_slots(4) };
        let mut other = Session {
            queue: session.controller.queue_pair(options)?,
            controller: session.controller.clone(),
            clock: session.clock.clone(),
        };
        let bytes = pattern(9, 0, BYTES);
        buffer.memory.write(0, &bytes);
        let slice = DataWindow::new(buffer.address + 516, length);
        other.done("write", |queue| queue.write(0, namespace, 64, blocks, slice))?;
        buffer.memory.fill(0, BYTES, 0);
        other.done("read", |queue| queue.read(0, namespace, 64, blocks, slice))?;
        let read = contents(buffer);
        let end = 516 + length as usize;
        let exact = read[..516].iter().chain(&read[end..]).all(|byte| *byte == 0) && read[516..end] == bytes[516..end];
        expect(exact, &format!("data within pages, by {data_pointer:?}"))?;
    }
    Ok(())
}
