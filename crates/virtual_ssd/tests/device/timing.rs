//! Completions come at the time of the model, on a simulated clock to the nanosecond.

use std::time::Duration;

use iolab_nvme_spec::{IoOpcode, Status};
use iolab_pci_device::PciFunction;
use iolab_ssd_timing::{Capacity, Model, Preset, Request, Verdict};

use crate::host::{Host, transfer};

#[test]
fn the_device_takes_exactly_as_long_as_the_model() {
    let config = "size=1G model=nand preset=970pro media=null";
    let mut host = Host::new(config, 1);
    let parameters = Preset::named("970pro").unwrap().parameters();
    let mut model = Model::build(&parameters, Capacity::Visible(1 << 30)).unwrap();
    for step in 0..500u64 {
        let lba = step * 8 * 7919 % (1 << 20);
        let is_write = step % 3 != 0;
        let command = if is_write { host.write(lba, 8) } else { host.read(lba, 8) };
        let request = if is_write { Request::write(lba << 9, 4096) } else { Request::read(lba << 9, 4096) };
        let Verdict::At(target_ns) = model.schedule(host.clock.now_ns(), &request) else { panic!("a full buffer") };
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
    // 60 writes of 128 KiB are far more than the buffer of the drive.
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
