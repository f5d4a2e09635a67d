//! Completions arrive at the time that the model computes; on a simulated clock, exactly to the
//! nanosecond.

use std::time::Duration;

use iolab_nvme_spec::{AdminOpcode, IoOpcode, Status};
use iolab_pci_device::PciFunction;
use iolab_ssd_timing::{Capacity, CompletionTime, Preset, TimedCommand, TimingModel};

use crate::host::{Host, admin, transfer};

#[test]
fn the_device_takes_exactly_as_long_as_the_model() {
    let config = "size=1G model=nand preset=970pro media=null";
    let mut host = Host::new(config, 1);
    let parameters = Preset::named("970pro").unwrap().parameters();
    let mut model = TimingModel::build(&parameters, Capacity::Visible(1 << 30)).unwrap();
    for step in 0..500u64 {
        let lba = step * 8 * 7919 % (1 << 20);
        let is_write = step % 3 != 0;
        let command = if is_write { host.write(lba, 8) } else { host.read(lba, 8) };
        let request = if is_write { TimedCommand::write(lba << 9, 4096) } else { TimedCommand::read(lba << 9, 4096) };
        let CompletionTime::At(target_ns) = model.schedule(host.clock.now_ns(), &request) else {
            panic!("a full buffer")
        };
        assert_eq!(host.io(command), Ok(0));
        assert_eq!(host.clock.now_ns(), target_ns, "step {step}");
    }
    let statistics = host.device.subsystem().timing_statistics().unwrap();
    assert_eq!(statistics.host_written_bytes, model.statistics().host_written_bytes);
}

#[test]
fn a_full_write_buffer_holds_the_queue_and_loses_nothing() {
    let mut host = Host::new("size=1G model=nand preset=970pro media=null", 1);
    let mut sent = Vec::new();
    // 60 writes of 128 KiB are far more than the buffer of the drive holds.
    for n in 0..60u64 {
        let cid = host.cid();
        let data = iolab_nvme_spec::sgl::SglDescriptor::data_block(host.data.address, 131_072);
        host.pairs[0].push(transfer(IoOpcode::WRITE, n * 256, 256).with_sgl(data).with_cid(cid));
        sent.push(cid);
    }
    host.ring(0);
    let begun_ns = host.clock.now_ns();
    let mut seen = Vec::new();
    for _ in 0..10_000 {
        host.device.pause(Duration::from_secs(1));
        while let Some(entry) = host.reap(0) {
            assert_eq!(entry.status(), Status::SUCCESS);
            seen.push(entry.cid());
        }
        if seen.len() == sent.len() {
            break;
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, sent);
    let took_ns = host.clock.now_ns() - begun_ns;
    let alone_ns = 60 * 131_072 * 1_000_000_000 / (3360 << 20);
    assert!(took_ns > alone_ns, "{took_ns} ns: not faster than the link");
}

#[test]
fn the_earliest_completes_first_whatever_the_order_of_sending() {
    let mut host =
        Host::new("size=16M fault=slow:lba=0,extra=9us fault=slow:lba=1,extra=5us fault=slow:lba=2,extra=7us", 1);
    for lba in 0..4 {
        let command = host.read(lba, 1).with_cid(lba as u16);
        host.pairs[0].push(command);
    }
    host.ring(0);
    let mut seen = Vec::new();
    for _ in 0..10 {
        host.device.pause(Duration::from_millis(1));
        while let Some(entry) = host.reap(0) {
            seen.push((entry.cid(), host.clock.now_ns() - 1_000_000));
        }
    }
    assert_eq!(seen, [(3, 0), (1, 5_000), (2, 7_000), (0, 9_000)]);
}

#[test]
fn a_pause_is_never_longer_than_asked() {
    let mut host = Host::new("size=16M fault=slow:extra=1ms", 1);
    host.send(host.read(0, 1));
    let begun_ns = host.clock.now_ns();
    host.device.pause(Duration::from_micros(300));
    assert_eq!((host.clock.now_ns() - begun_ns, host.reap(0)), (300_000, None));
    host.device.pause(Duration::from_secs(1));
    assert_eq!(host.clock.now_ns() - begun_ns, 1_000_000);
    assert!(host.reap(0).is_some());
}

#[test]
fn an_identifier_that_is_in_use_is_refused_until_its_command_has_ended() {
    let mut host = Host::new("size=16M model=simple media=null", 1);
    let read = host.read(0, 8).with_cid(77);
    for _ in 0..2 {
        host.pairs[0].push(read);
        host.pairs[0].push(read.with_cid(78));
        host.pairs[0].push(read);
        host.ring(0);
        let mut seen = Vec::new();
        while seen.len() < 3 {
            host.device.pause(Duration::from_secs(1));
            seen.extend(std::iter::from_fn(|| host.reap(0)).map(|entry| (entry.cid(), entry.status().code())));
        }
        assert_eq!(seen[0], (77, Status::COMMAND_ID_CONFLICT), "at once, because the first of the two is under way");
        seen.sort_by_key(|(cid, status)| (*cid, *status == Status::COMMAND_ID_CONFLICT));
        assert_eq!(seen[0], (77, Status::SUCCESS), "the first command is as it would be alone");
        assert_eq!(seen[2], (78, Status::SUCCESS));
    }
}

#[test]
fn a_formatted_drive_is_a_fresh_one() {
    let parameters = "size=256M model=nand preset=970pro media=null";
    let write_all = |host: &mut Host| {
        let start_ns = host.clock.now_ns();
        for lba in (0..256 << 11).step_by(8 * 997) {
            assert_eq!(host.io(host.write(lba, 8)), Ok(0));
            assert_eq!(host.io(host.read(lba, 8)), Ok(0));
        }
        host.clock.now_ns() - start_ns
    };
    let fresh_ns = write_all(&mut Host::new(parameters, 1));
    let mut host = Host::new(&format!("{parameters} age=steady"), 1);
    write_all(&mut host);
    assert_eq!(host.admin(admin(AdminOpcode::FORMAT_NVM).with_nsid(1)), Ok(0));
    assert_eq!(host.device.subsystem().timing_statistics().unwrap().host_written_bytes, 0);
    assert_eq!(write_all(&mut host), fresh_ns);
    assert_eq!(host.io(host.read(1, 1)), Ok(0));
}
