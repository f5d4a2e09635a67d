//! The driver with a small device that checks what it receives: commands, data pointers, rings.

use iolab_nvme_driver::*;
use iolab_nvme_spec::{IoOpcode, Status};
use iolab_pci_device::DmaBuffer;

use crate::fake;
use crate::fake::{Bench, Script, all};

fn collect(queue: &mut QueuePair, wanted: usize) -> Vec<Completion> {
    let mut ended = Vec::new();
    queue.flush();
    while ended.len() < wanted {
        assert!(queue.wait(fake::SECOND).expect("the device lives"), "{} of {wanted} came", ended.len());
        queue.reap(64, |completion| ended.push(completion)).expect("the device lives");
    }
    ended
}

fn one(queue: &mut QueuePair, submit: Submit) -> CommandOutcome {
    assert_eq!(submit, Submit::Accepted);
    collect(queue, 1)[0].outcome
}

fn pattern(buffer: &DmaBuffer, seed: u8) -> Vec<u8> {
    let bytes: Vec<u8> =
        (0..buffer.memory.len()).map(|at| (at as u8).wrapping_mul(31) ^ (at >> 8) as u8 ^ seed).collect();
    buffer.memory.write(0, &bytes);
    bytes
}

fn contents(buffer: &DmaBuffer) -> Vec<u8> {
    let mut bytes = vec![0; buffer.memory.len()];
    buffer.memory.read(0, &mut bytes);
    bytes
}

#[test]
fn a_controller_describes_itself_and_its_namespaces() {
    let bench = Bench::new();
    assert_eq!(bench.controller.facts().serial(), "FAKE");
    assert_eq!(bench.controller.facts().max_transfer_bytes, Some(2 << 20));
    let namespaces = bench.controller.namespaces().unwrap();
    let shapes: Vec<_> =
        namespaces.iter().map(|it| (it.id(), it.block_bytes(), it.blocks(), it.max_blocks())).collect();
    assert_eq!(shapes, [(1, 512, 32768, 2048), (3, 4096, 4096, 256)]);
    bench.controller.shut_down().unwrap();
    assert!(matches!(bench.controller.namespaces(), Err(DriverError::Dead(_))));
}

#[test]
fn every_command_does_what_it_says_in_both_formats() {
    let mut bench = Bench::new();
    for namespace in bench.controller.namespaces().unwrap() {
        let mut queue = bench.queue(4);
        let (data, back) = (bench.buffer(16384), bench.buffer(16384));
        let bytes = pattern(&data, namespace.id() as u8);
        let blocks = 16384 / namespace.block_bytes();
        let write = queue.write(0, &namespace, 7, blocks, all(&data));
        assert_eq!(one(&mut queue, write), CommandOutcome::Done);
        let flush = queue.flush_cache(1, &namespace);
        assert_eq!(one(&mut queue, flush), CommandOutcome::Done);
        let read = queue.read(2, &namespace, 7, blocks, all(&back));
        assert_eq!(one(&mut queue, read), CommandOutcome::Done);
        assert_eq!(contents(&back), bytes);
        let compare = queue.compare(3, &namespace, 7, blocks, all(&data));
        assert_eq!(one(&mut queue, compare), CommandOutcome::Done);
        let zeroes = queue.write_zeroes(0, &namespace, 7, 1, false);
        assert_eq!(one(&mut queue, zeroes), CommandOutcome::Done);
        let compare = queue.compare(3, &namespace, 7, blocks, all(&data));
        assert_eq!(one(&mut queue, compare), CommandOutcome::Failed(Status::COMPARE_FAILURE));
        let trim = queue.deallocate(1, &namespace, &[(8, 1), (10, 1)]);
        assert_eq!(one(&mut queue, trim), CommandOutcome::Done);
        let through = queue.write_through(1, &namespace, 0, 1, all(&data));
        assert_eq!(one(&mut queue, through), CommandOutcome::Done);
        assert_eq!(bench.script.fetched().last().unwrap().cdw(12), 1 << 30);
        let verify = queue.verify(1, &namespace, 0, 1);
        assert_eq!(one(&mut queue, verify), CommandOutcome::Done);
        let read = queue.read(2, &namespace, 7, blocks, all(&back));
        assert_eq!(one(&mut queue, read), CommandOutcome::Done);
        let block = namespace.block_bytes() as usize;
        let expected: Vec<u8> =
            (0..bytes.len()).map(|at| if [0, 1, 3].contains(&(at / block)) { 0 } else { bytes[at] }).collect();
        assert!(contents(&back) == expected);
        let beyond = queue.read(2, &namespace, namespace.blocks(), 1, all(&back));
        assert_eq!(one(&mut queue, beyond), CommandOutcome::Failed(Status::LBA_OUT_OF_RANGE));
    }
}

#[test]
fn what_cannot_be_sent_is_refused_and_the_slot_stays_free() {
    let mut bench = Bench::new();
    let namespace = bench.controller.namespace(1).unwrap();
    let mut queue = bench.queue(2);
    let data = bench.buffer(4096);
    let slice = all(&data);
    let odd = DataWindow::of(&data, 2, 512).unwrap();
    assert!(DataWindow::of(&data, 4000, 97).is_none());
    for (submit, refusal) in [
        (queue.read(2, &namespace, 0, 1, slice), Refusal::NoSlot),
        (queue.read(0, &namespace, 0, 0, slice), Refusal::Length),
        (queue.read(0, &namespace, 0, 2049, slice), Refusal::Length),
        (queue.read(0, &namespace, 0, 9, slice), Refusal::ShortData),
        (queue.read(0, &namespace, 0, 1, odd), Refusal::Misaligned),
        (queue.deallocate(0, &namespace, &[]), Refusal::Length),
        (queue.append(0, &namespace, 0, 1, slice), Refusal::NotZoned),
        (queue.write_zeroes(0, &namespace, 0, 0, false), Refusal::Length),
    ] {
        assert_eq!(submit, Submit::Refused(refusal));
    }
    assert_eq!(queue.read(0, &namespace, 0, 1, slice), Submit::Accepted);
    assert_eq!(queue.read(0, &namespace, 0, 1, slice), Submit::Refused(Refusal::SlotTaken));
    assert_eq!(collect(&mut queue, 1)[0].slot, 0);
    assert!(bench.controller.namespace(2).is_err());
}

#[test]
fn rings_wrap_and_fill_at_every_size() {
    let mut bench = Bench::new();
    let namespace = bench.controller.namespace(1).unwrap();
    for (entries, slots) in [(2, 1), (2, 5), (3, 2), (5, 16), (128, 127), (128, 128)] {
        let options = QueueOptions { entries, ..QueueOptions::with_slots(slots) };
        let mut queue = bench.controller.queue_pair(options).unwrap();
        let data = bench.buffer(4096);
        let mut idle: Vec<u16> = (0..slots).collect();
        let mut done = 0;
        while done < 3 * usize::from(slots) * entries as usize {
            let mut accepted = 0;
            while let Some(slot) = idle.pop() {
                match queue.read(slot, &namespace, u64::from(slot), 1, all(&data)) {
                    Submit::Accepted => accepted += 1,
                    Submit::Full => {
                        idle.push(slot);
                        break;
                    }
                    Submit::Refused(refusal) => panic!("{refusal}"),
                }
            }
            assert_eq!(accepted, (entries as usize - 1).min(usize::from(slots)), "all of the ring is used");
            for completion in collect(&mut queue, accepted) {
                assert_eq!(completion.outcome, CommandOutcome::Done);
                idle.push(completion.slot);
                done += 1;
            }
        }
        assert_eq!(bench.controller.resets(), 0);
    }
    for entries in [1, 129] {
        let options = QueueOptions { entries, ..QueueOptions::with_slots(1) };
        assert!(matches!(bench.controller.queue_pair(options), Err(DriverError::BadRequest(_))));
    }
}

/// Tries every kind of edge: the offset of the data within a page, and ends before, at and after
/// page and list boundaries.
#[test]
fn data_lands_where_it_should_at_all_edges_of_pages_and_lists() {
    let script = Script::default();
    Script::set(&script.sgl);
    let mut bench = Bench::with(script);
    let namespace = bench.controller.namespace(1).unwrap();
    let data = bench.buffer(1 << 20 | 8192);
    let bytes = pattern(&data, 9);
    let zeroes = vec![0; bytes.len()];
    for pointer in [DataPointer::Prp, DataPointer::Sgl] {
        let options = QueueOptions { data_pointer: pointer, ..QueueOptions::with_slots(2) };
        let mut queue = bench.controller.queue_pair(options).unwrap();
        for offset in [0, 4, 512, 2048, 4092, 4096] {
            for blocks in [1u32, 7, 8, 9, 15, 16, 17, 24, 25, 127, 1024, 2047, 2048] {
                let length = blocks * 512;
                let slice = DataWindow::of(&data, offset, length).unwrap();
                data.memory.write(0, &bytes);
                let write = queue.write(0, &namespace, 0, blocks, slice);
                assert_eq!(one(&mut queue, write), CommandOutcome::Done);
                data.memory.write(0, &zeroes);
                let read = queue.read(1, &namespace, 0, blocks, slice);
                assert_eq!(one(&mut queue, read), CommandOutcome::Done);
                let mut expected = zeroes.clone();
                let range = offset..offset + length as usize;
                expected[range.clone()].copy_from_slice(&bytes[range]);
                assert!(contents(&data) == expected, "{pointer:?}, {blocks} blocks at {offset}");
            }
        }
    }
}

#[test]
fn scattered_parts_go_by_lists_where_they_meet_at_pages_and_by_segments_elsewhere() {
    for sgl in [false, true] {
        let script = Script::default();
        if sgl {
            Script::set(&script.sgl);
        }
        let mut bench = Bench::with(script);
        let namespace = bench.controller.namespace(1).unwrap();
        let data = bench.buffer(1 << 16);
        let bytes = pattern(&data, 3);
        let mut queue = bench.queue(2);
        let part = |offset, length| DataWindow::of(&data, offset, length).unwrap();
        for (parts, needs_sgl) in [
            (vec![part(512, 1024)], false),
            (vec![part(3584, 512), part(40960, 512)], false),
            (vec![part(3584, 512), part(40960, 8192), part(8192, 1024)], false),
            (vec![part(0, 1024), part(4096, 1024)], true),
            (vec![part(100, 412), part(8192, 100)], true),
        ] {
            let submit = queue.transfer_parts(0, IoOpcode::WRITE, &namespace, 100, &parts);
            if needs_sgl && !sgl {
                assert_eq!(submit, Submit::Refused(Refusal::Misaligned));
                continue;
            }
            assert_eq!(one(&mut queue, submit), CommandOutcome::Done);
            let together: Vec<u8> = parts
                .iter()
                .flat_map(|part| {
                    let start = (part.address() - data.address) as usize;
                    bytes[start..start + part.bytes() as usize].to_vec()
                })
                .collect();
            let back = bench.buffer(together.len());
            let read = queue.read(1, &namespace, 100, (together.len() / 512) as u32, all(&back));
            assert_eq!(one(&mut queue, read), CommandOutcome::Done);
            assert!(contents(&back)[..together.len()] == together[..]);
        }
        let ragged = queue.transfer_parts(0, IoOpcode::READ, &namespace, 0, &[part(0, 500)]);
        assert_eq!(ragged, Submit::Refused(Refusal::Length));
    }
}

#[test]
fn shadow_doorbells_and_calls_do_the_same_as_mapped_registers() {
    for (shadow, no_mapping) in [(true, false), (false, true), (true, true)] {
        let script = Script::default();
        if shadow {
            Script::set(&script.shadow);
        }
        if no_mapping {
            Script::set(&script.no_mapping);
        }
        let mut bench = Bench::with(script);
        let namespace = bench.controller.namespace(3).unwrap();
        let mut queue = bench.queue(8);
        let data = bench.buffer(4096);
        for round in 0..40u64 {
            for slot in 0..8 {
                assert_eq!(queue.read(slot, &namespace, round, 1, all(&data)), Submit::Accepted);
            }
            assert_eq!(collect(&mut queue, 8).len(), 8);
        }
        bench.controller.reset().unwrap();
        let read = queue.read(0, &namespace, 0, 1, all(&data));
        assert_eq!(one(&mut queue, read), CommandOutcome::Done);
    }
}

#[test]
fn waiting_by_interrupt_and_both_ways_ends_with_the_completion_or_the_time() {
    let mut bench = Bench::new();
    let namespace = bench.controller.namespace(1).unwrap();
    let data = bench.buffer(4096);
    for wait in [WaitPolicy::Interrupt { vector: 1 }, WaitPolicy::Adaptive { vector: 2, spin_ns: 5_000 }] {
        let options = QueueOptions { wait, ..QueueOptions::with_slots(2) };
        let mut queue = bench.controller.queue_pair(options).unwrap();
        assert!(!queue.wait(fake::SECOND / 50).unwrap());
        let read = queue.read(0, &namespace, 0, 1, all(&data));
        assert_eq!(one(&mut queue, read), CommandOutcome::Done);
    }
    let options = QueueOptions { wait: WaitPolicy::Interrupt { vector: 9 }, ..QueueOptions::with_slots(2) };
    assert!(matches!(bench.controller.queue_pair(options), Err(DriverError::Pci(_))));
}

#[test]
fn queue_pairs_come_and_go_and_move_to_other_threads() {
    let bench = Bench::new();
    for _ in 0..20 {
        let queues: Vec<QueuePair> = (0..8).map(|_| bench.queue(4)).collect();
        assert!(matches!(bench.controller.queue_pair(QueueOptions::with_slots(4)), Err(DriverError::BadRequest(_))));
        drop(queues);
    }
    let mut table = bench.table.clone();
    let controller = bench.controller.clone();
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let mut queue = bench.queue(4);
            let namespace = controller.namespace(3).unwrap();
            let data = iolab_pci_device::DmaMapper::allocate(&mut table, 4096).unwrap();
            std::thread::spawn(move || {
                for round in 0..50u64 {
                    data.memory.write(0, &[round as u8 ^ thread; 4096]);
                    let write = queue.write(0, &namespace, u64::from(thread), 1, all(&data));
                    assert_eq!(one(&mut queue, write), CommandOutcome::Done);
                    data.memory.fill(0, 4096, 0);
                    let read = queue.read(1, &namespace, u64::from(thread), 1, all(&data));
                    assert_eq!(one(&mut queue, read), CommandOutcome::Done);
                    assert!(contents(&data).iter().all(|byte| *byte == round as u8 ^ thread));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
