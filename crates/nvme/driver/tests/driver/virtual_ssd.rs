//! The driver with the virtual SSD: each command with its data verified, and random mixtures of
//! commands.

use iolab_nvme_driver::*;
use iolab_nvme_spec::log::{HealthLog, LogPage};
use iolab_nvme_spec::zone::{ReportedZones, ZoneSendAction, ZoneState};
use iolab_nvme_spec::{FromBytes, IoOpcode, Status};
use iolab_virtual_ssd::{Config, ZoneLayout};

use crate::drive::*;

fn small(lba_bytes: u64) -> Config {
    Config { size_bytes: 4 << 20, lba_bytes, namespaces: 2, ..Config::default() }
}

#[test]
fn the_drive_describes_itself() {
    let drive = Drive::new(small(4096));
    let facts = drive.controller.facts();
    assert_eq!(facts.serial(), "IOLAB-1");
    assert_eq!(facts.max_transfer_bytes, Some(1 << 20));
    assert!(facts.io_capabilities().dataset_management() && facts.io_capabilities().compare());
    let namespaces = drive.controller.namespaces().unwrap();
    let shapes: Vec<_> = namespaces.iter().map(|it| (it.id(), it.block_bytes(), it.blocks())).collect();
    assert_eq!(shapes, [(1, 4096, 1024), (2, 4096, 1024)]);
    drive.controller.shut_down().unwrap();
}

#[test]
fn each_command_moves_the_data_it_should() {
    for lba_bytes in [512, 4096] {
        let mut drive = Drive::new(small(lba_bytes));
        let (data, back) = (drive.buffer(64 << 10), drive.buffer(64 << 10));
        for namespace in drive.controller.namespaces().unwrap() {
            let mut queue = drive.queue(8);
            let blocks = (64 << 10) / namespace.block_bytes();
            let bytes = data.pattern(u64::from(namespace.id()));
            let submit = queue.write(0, &namespace, 3, blocks, data.slice);
            done(&mut queue, submit);
            let submit = queue.flush_cache(1, &namespace);
            done(&mut queue, submit);
            let submit = queue.compare(2, &namespace, 3, blocks, data.slice);
            done(&mut queue, submit);
            let submit = queue.verify(2, &namespace, 3, blocks);
            done(&mut queue, submit);
            let submit = queue.write_zeroes(3, &namespace, 3, 2, false);
            done(&mut queue, submit);
            let submit = queue.deallocate(4, &namespace, &[(6, 1), (8, 2)]);
            done(&mut queue, submit);
            let submit = queue.compare(5, &namespace, 3, blocks, data.slice);
            assert_eq!(refused(&mut queue, submit), Status::COMPARE_FAILURE);
            let submit = queue.read(6, &namespace, 3, blocks, back.slice);
            done(&mut queue, submit);
            let block = namespace.block_bytes() as usize;
            let zeroed = [0, 1, 3, 5, 6];
            let expected: Vec<u8> =
                (0..bytes.len()).map(|at| if zeroed.contains(&(at / block)) { 0 } else { bytes[at] }).collect();
            assert!(back.contents() == expected, "namespace {} with blocks of {block}", namespace.id());
            for lba in [namespace.blocks() - 1, namespace.blocks(), u64::MAX] {
                let submit = queue.read(0, &namespace, lba, 2, back.slice);
                assert_eq!(refused(&mut queue, submit), Status::LBA_OUT_OF_RANGE);
            }
        }
        assert_eq!(drive.controller.resets(), 0);
    }
}

#[test]
fn a_wait_ends_at_the_very_time_of_a_completion() {
    let config = Config::parse("size=4M lba=4k model=simple read_delay=3210ns read_time=1001ns io_units=4").unwrap();
    let mut drive = Drive::new(config);
    let namespace = drive.controller.namespace(1).unwrap();
    let mut queue = drive.queue(4);
    let data = drive.buffer(4096);
    for round in 0..3 {
        let start_ns = drive.clock.now_ns();
        assert_eq!(queue.read(0, &namespace, round, 1, data.slice), Submit::Accepted);
        queue.flush();
        assert!(!queue.wait(4000).unwrap(), "not yet");
        assert_eq!(drive.clock.now_ns() - start_ns, 4000, "a wait that ends without a completion ends in time");
        assert!(queue.wait(1_000_000).unwrap());
        assert_eq!(drive.clock.now_ns() - start_ns, 4211);
        assert_eq!(queue.reap(4, |ended| assert!(ended.outcome.is_done())).unwrap(), 1);
    }
}

#[test]
fn opening_a_controller_leaves_nothing_in_its_error_log() {
    for zoned in ["no", "yes"] {
        let config = Config::parse(&format!("size=64M lba=4k zone=4M zoned={zoned}")).unwrap();
        let drive = Drive::new(config);
        let namespace = drive.controller.namespace(1).unwrap();
        assert_eq!(namespace.zones().is_some(), zoned == "yes");
        let mut log = [0; 512];
        drive.controller.log_page(LogPage::HEALTH, u32::MAX, true, &mut log).unwrap();
        let health = HealthLog::read_from_bytes(&log[..]).unwrap();
        assert_eq!(health.error_log_entries.get(), 0, "zoned={zoned}");
    }
}

#[test]
fn data_at_addresses_that_are_not_mapped_is_an_error_of_that_command_alone() {
    let mut drive = Drive::new(small(512));
    let namespace = drive.controller.namespace(1).unwrap();
    let mut queue = drive.queue(4);
    let data = drive.buffer(4096);
    let submit = queue.read(0, &namespace, 0, 8, DataWindow::new(0x1000, 4096));
    assert_eq!(refused(&mut queue, submit), Status::DATA_TRANSFER_ERROR);
    let submit = queue.read(0, &namespace, 0, 8, data.slice);
    done(&mut queue, submit);
    assert_eq!(drive.controller.resets(), 0);
}

#[test]
fn data_lands_where_it_should_at_the_edges_of_pages_and_lists() {
    let config = Config { size_bytes: 8 << 20, most_bytes: 4 << 20, ..Config::default() };
    let mut drive = Drive::with(config, ControllerOptions { max_transfer_bytes: 4 << 20, ..options() });
    let namespace = drive.controller.namespace(1).unwrap();
    let data = drive.buffer((4 << 20) + 16384);
    let bytes = data.pattern(1);
    let sgl = drive.controller.facts().sgl();
    for pointer in [DataPointer::Prp, DataPointer::Sgl] {
        if pointer == DataPointer::Sgl && !sgl {
            continue;
        }
        let queue = QueueOptions { data_pointer: pointer, ..queue_options(2) };
        let mut queue = drive.controller.queue_pair(queue).unwrap();
        for offset in [4096usize, 4100, 4608, 8188] {
            // Lengths around one page, two pages, and one and two pages of a list.
            for blocks in [1, 7, 8, 9, 15, 16, 17, 25, 4095, 4096, 4097, 4104, 4105, 8183, 8184, 8185, 8191, 8192] {
                if blocks > namespace.max_blocks() {
                    continue;
                }
                let range = offset..offset + blocks as usize * 512;
                data.memory.write(range.start, &bytes[range.clone()]);
                let slice = DataWindow::new(data.slice.address() + offset as u64, blocks * 512);
                let submit = queue.write(0, &namespace, 0, blocks, slice);
                done(&mut queue, submit);
                // A margin on both sides shows that nothing else is changed.
                let around = range.start - 64..range.end + 64;
                data.memory.fill(around.start, around.len(), 0xaa);
                let submit = queue.read(1, &namespace, 0, blocks, slice);
                done(&mut queue, submit);
                let mut seen = vec![0; around.len()];
                data.memory.read(around.start, &mut seen);
                let mut expected = vec![0xaa; around.len()];
                expected[64..around.len() - 64].copy_from_slice(&bytes[range]);
                assert!(seen == expected, "{pointer:?}, {blocks} blocks at {offset}");
            }
        }
    }
}

#[test]
fn queues_of_every_size_wrap_and_fill() {
    let mut drive = Drive::new(small(512));
    let namespace = drive.controller.namespace(1).unwrap();
    let data = drive.buffer(4096);
    let most = drive.controller.facts().capabilities.max_queue_entries();
    for (entries, slots) in [(2, 1), (2, 7), (3, 3), (17, 16), (16, 40), (most, 300)] {
        let options = QueueOptions { entries, ..queue_options(slots) };
        let mut queue = drive.controller.queue_pair(options).unwrap();
        let mut idle: Vec<u16> = (0..slots).collect();
        let mut done = 0u32;
        while done < 3 * entries.min(500) + 5 {
            let mut accepted = 0;
            while let Some(slot) = idle.pop() {
                match queue.read(slot, &namespace, u64::from(slot), 1, data.slice) {
                    Submit::Accepted => accepted += 1,
                    Submit::Full => {
                        idle.push(slot);
                        break;
                    }
                    Submit::Refused(refusal) => panic!("{refusal}"),
                }
            }
            for completion in collect(&mut queue, accepted) {
                assert_eq!(completion.outcome, CommandOutcome::Done);
                idle.push(completion.slot);
                done += 1;
            }
        }
    }
    assert_eq!(drive.controller.resets(), 0);
}

#[test]
fn zones_are_reported_appended_to_and_managed() {
    let zones = ZoneLayout { zone_bytes: 1 << 20, capacity_bytes: 768 << 10, max_open: 2, max_active: 3 };
    let config = Config { zones: Some(zones), size_bytes: 8 << 20, lba_bytes: 4096, ..Config::default() };
    let mut drive = Drive::new(config);
    let namespace = drive.controller.namespace(1).unwrap();
    let layout = *namespace.zones().expect("a zoned namespace");
    assert_eq!((layout.zone_blocks, layout.max_open, layout.max_active), (256, Some(2), Some(3)));
    let mut queue = drive.queue(4);
    let (data, back, report) = (drive.buffer(16384), drive.buffer(16384), drive.buffer(64 * 9));
    let states = |queue: &mut QueuePair, which: ReportedZones| {
        let submit = queue.report_zones(3, &namespace, 0, which, report.slice);
        done(queue, submit);
        let zones = ZoneReport::parse(&report.contents()).expect("a report").zones;
        zones.iter().map(|zone| (zone.zslba.get(), zone.state(), zone.wp.get())).collect::<Vec<_>>()
    };
    let all = states(&mut queue, ReportedZones::ALL);
    assert_eq!(all.len(), 8);
    assert_eq!(all[3], (768, ZoneState::EMPTY, 768));
    let bytes = data.pattern(5);
    let submit = queue.append(0, &namespace, 256, 4, data.slice);
    assert_eq!(done(&mut queue, submit), 256);
    let submit = queue.append(0, &namespace, 256, 4, data.slice);
    assert_eq!(done(&mut queue, submit), 260);
    let submit = queue.read(1, &namespace, 260, 4, back.slice);
    done(&mut queue, submit);
    assert!(back.contents() == bytes);
    assert_eq!(states(&mut queue, ReportedZones::IMPLICITLY_OPENED), [(256, ZoneState::IMPLICITLY_OPENED, 264)]);
    let submit = queue.write(0, &namespace, 300, 1, data.slice);
    assert_eq!(refused(&mut queue, submit), Status::ZONE_INVALID_WRITE);
    for (action, state) in [
        (ZoneSendAction::OPEN, ZoneState::EXPLICITLY_OPENED),
        (ZoneSendAction::CLOSE, ZoneState::CLOSED),
        (ZoneSendAction::FINISH, ZoneState::FULL),
        (ZoneSendAction::RESET, ZoneState::EMPTY),
    ] {
        let submit = queue.manage_zone(2, &namespace, Some(256), action);
        done(&mut queue, submit);
        assert_eq!(states(&mut queue, ReportedZones::ALL)[1].1, state, "{action}");
    }
    let submit = queue.append(0, &namespace, 0, 1, data.slice);
    done(&mut queue, submit);
    let submit = queue.manage_zone(2, &namespace, None, ZoneSendAction::RESET);
    done(&mut queue, submit);
    assert!(states(&mut queue, ReportedZones::ALL).iter().all(|zone| zone.1 == ZoneState::EMPTY));
    let too_long = queue.append(0, &namespace, 0, namespace.max_append_blocks() + 1, data.slice);
    assert_eq!(too_long, Submit::Refused(Refusal::Length));
}

#[test]
fn interrupts_end_a_wait() {
    let mut drive = Drive::new(small(512));
    let namespace = drive.controller.namespace(1).unwrap();
    let data = drive.buffer(4096);
    for wait in [WaitPolicy::Interrupt { vector: 1 }, WaitPolicy::Adaptive { vector: 2, spin_ns: 50_000 }] {
        let mut queue = drive.controller.queue_pair(QueueOptions { wait, ..queue_options(2) }).unwrap();
        for lba in 0..20 {
            let submit = queue.read(0, &namespace, lba, 1, data.slice);
            done(&mut queue, submit);
        }
    }
}

/// A step of a random mixture. A model of the namespace predicts the results.
#[derive(Debug, Clone)]
enum Step {
    Write { lba: u64, blocks: u32 },
    Read { lba: u64, blocks: u32 },
    Zero { lba: u64, blocks: u32 },
    Trim { lba: u64, blocks: u32 },
    Flush,
    Reset,
}

fn step() -> impl proptest::strategy::Strategy<Value = Step> {
    use proptest::prelude::*;
    let range = (0u64..120, 1u32..40);
    prop_oneof![
        6 => range.clone().prop_map(|(lba, blocks)| Step::Write { lba, blocks }),
        6 => range.clone().prop_map(|(lba, blocks)| Step::Read { lba, blocks }),
        1 => range.clone().prop_map(|(lba, blocks)| Step::Zero { lba, blocks }),
        1 => range.prop_map(|(lba, blocks)| Step::Trim { lba, blocks }),
        1 => Just(Step::Flush),
        1 => Just(Step::Reset),
    ]
}

const SLOTS: u16 = 6;
const SLOT_BYTES: usize = 40 * 512 + 512;

/// A command in flight: its first block, the one after its last, and what a read must return.
type Busy = (u64, u64, Option<Vec<u8>>);

/// Runs the steps with up to [`SLOTS`] in flight over two queue pairs. A step waits for steps in
/// flight that access the same blocks, so that the model knows what a read returns.
fn run(steps: &[Step]) {
    let mut drive = Drive::new(Config { size_bytes: 1 << 20, ..Config::default() });
    let namespace = drive.controller.namespace(1).unwrap();
    let mut queues = [drive.queue(SLOTS), drive.queue(SLOTS)];
    let buffers: Vec<Buffer> = (0..2 * SLOTS).map(|_| drive.buffer(SLOT_BYTES)).collect();
    let mut model = vec![0u8; 1 << 20];
    let mut busy: Vec<Option<Busy>> = vec![None; buffers.len()];
    for (number, step) in steps.iter().enumerate() {
        let (lba, blocks) = match step {
            Step::Write { lba, blocks } | Step::Read { lba, blocks } => (*lba, u64::from(*blocks)),
            Step::Zero { lba, blocks } | Step::Trim { lba, blocks } => (*lba, u64::from(*blocks)),
            Step::Flush => (0, 0),
            Step::Reset => {
                drive.controller.reset().unwrap();
                continue;
            }
        };
        let meets =
            |other: &Option<Busy>| other.as_ref().is_some_and(|(start, end, _)| *start < lba + blocks && lba < *end);
        while busy.iter().any(meets) || busy.iter().all(Option::is_some) {
            settle(&mut queues, &buffers, &mut busy);
        }
        let place = (0..busy.len()).map(|at| (at + number) % busy.len()).find(|at| busy[*at].is_none()).unwrap();
        let (queue, slot) = (&mut queues[place / usize::from(SLOTS)], place as u16 % SLOTS);
        // The offsets within a page differ between slots; each slot always uses the same one.
        let slice = DataWindow::new(buffers[place].slice.address() + place as u64 % 8 * 64, (blocks * 512) as u32);
        let range = (lba * 512) as usize..((lba + blocks) * 512) as usize;
        let mut expected = None;
        let submit = match step {
            Step::Write { blocks, .. } => {
                let bytes = buffers[place].pattern(number as u64);
                let start = place % 8 * 64;
                model[range.clone()].copy_from_slice(&bytes[start..start + range.len()]);
                queue.write(slot, &namespace, lba, *blocks, slice)
            }
            Step::Read { blocks, .. } => {
                buffers[place].memory.fill(0, SLOT_BYTES, 0xee);
                expected = Some(model[range].to_vec());
                queue.read(slot, &namespace, lba, *blocks, slice)
            }
            Step::Zero { blocks, .. } => {
                model[range].fill(0);
                queue.write_zeroes(slot, &namespace, lba, *blocks, true)
            }
            Step::Trim { blocks, .. } => {
                model[range].fill(0);
                queue.deallocate(slot, &namespace, &[(lba, *blocks)])
            }
            Step::Flush | Step::Reset => queue.flush_cache(slot, &namespace),
        };
        assert_eq!(submit, Submit::Accepted);
        busy[place] = Some((lba, lba + blocks, expected));
    }
    while busy.iter().any(Option::is_some) {
        settle(&mut queues, &buffers, &mut busy);
    }
}

fn settle(queues: &mut [QueuePair; 2], buffers: &[Buffer], busy: &mut [Option<Busy>]) {
    for (number, queue) in queues.iter_mut().enumerate() {
        queue.flush();
        queue.wait(50_000).unwrap();
        queue
            .reap(4, |completion| {
                let place = number * usize::from(SLOTS) + usize::from(completion.slot);
                assert_eq!(completion.outcome, CommandOutcome::Done);
                let (_, _, expected) = busy[place].take().expect("a slot comes back once");
                if let Some(expected) = expected {
                    let start = place % 8 * 64;
                    assert!(buffers[place].contents()[start..start + expected.len()] == expected[..]);
                }
            })
            .unwrap();
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 60, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_mix_of_commands_and_resets_reads_what_was_written(steps in proptest::collection::vec(step(), 1..80)) {
        run(&steps);
    }
}

#[test]
fn commands_of_any_opcode_get_the_answer_of_the_device() {
    let mut drive = Drive::new(small(512));
    let mut queue = drive.queue(4);
    let data = drive.buffer(4096);
    for opcode in 0..=255u8 {
        if IoOpcode(opcode).name().is_none() {
            let entry = iolab_nvme_spec::SubmissionEntry::new(opcode, 0).with_nsid(1);
            let submit = queue.raw_with_data(0, entry, data.slice);
            assert_eq!(refused(&mut queue, submit), Status::INVALID_OPCODE, "{opcode:#x}");
        }
    }
}
