//! Job files with `zonemode=zbd`: on zoned virtual SSDs, and on files that have no zones.
//!
//! The virtual SSD refuses every write that is not at a write pointer, so a job that ends without
//! an error has followed them.

use crate::support::Lab;
use serde_json::Value;

/// Sixteen zones of 1 MiB, of which 768 KiB can be written; at most four may be open.
const ZONED: &str = "trtype=VIRT model=ideal size=16M lba=4096 zone=1M zone_capacity=768k max_active=4 max_open=4";

fn job(more: &str) -> String {
    format!("[a]\nioengine=nvme\nfilename={ZONED}\nzonemode=zbd\nbs=16k\n{more}\n")
}

fn bytes(job: &Value, direction: &str) -> u64 {
    job[direction]["io_bytes"].as_u64().unwrap_or_else(|| panic!("{job}"))
}

#[test]
fn a_sequential_job_fills_the_zones_and_a_second_pass_resets_them() {
    let lab = Lab::new();
    for depth in [1, 16] {
        let report = lab.job(&job(&format!("rw=write\niodepth={depth}"))).ended(0, "").json();
        let one = &report["jobs"][0];
        assert_eq!((bytes(one, "write"), &one["zone_resets"]), ((16 * 768) << 10, &Value::from(0)), "{one}");
        let twice = lab.job(&job(&format!("rw=write\nloops=2\niodepth={depth}"))).ended(0, "").json();
        let one = &twice["jobs"][0];
        assert_eq!((bytes(one, "write"), &one["zone_resets"]), ((32 * 768) << 10, &Value::from(16)), "{one}");
    }
    let done = lab.fio([
        "--name=a",
        "--ioengine=nvme",
        "--zonemode=zbd",
        "--bs=64k",
        "--rw=write",
        "--loops=2",
        &format!("--filename={ZONED}"),
    ]);
    assert!(done.printed().contains("; 16 zone resets"), "{}", done.printed());
}

#[test]
fn random_writes_stay_within_the_open_zones() {
    let lab = Lab::new();
    // The device answers with an error when a fifth zone would have to be open.
    let text = job("rw=randwrite\nio_size=48M\nnorandommap=1\niodepth=8\nend_fsync=1");
    let one = lab.job(&text).ended(0, "").json()["jobs"][0].clone();
    assert_eq!(bytes(&one, "write"), 48 << 20);
    assert!(one["zone_resets"].as_u64().unwrap() > 0, "{one}");

    // Without a limit of its own, the job runs into that of the device.
    let ignoring = format!("{text}\nignore_zone_limits=1");
    lab.job(&ignoring).ended(1, "write offset=");
    lab.job(&format!("{text}\nmax_open_zones=5")).ended(2, "the device allows only 4");
    lab.job(&format!("{text}\njob_max_open_zones=1\nnumjobs=4")).ended(0, "");
}

#[test]
fn jobs_share_zones() {
    let lab = Lab::new();
    for more in ["rw=randwrite", "rw=write", "rw=randrw\nrwmixread=30"] {
        let text = job(&format!("{more}\nio_size=6M\nnorandommap=1\niodepth=4\nnumjobs=3\ngroup_reporting=1"));
        let one = lab.job(&text).ended(0, "").json()["jobs"][0].clone();
        assert!(bytes(&one, "write") > 0, "{one}");
        assert_eq!(one["total_err"], Value::Null, "{one}");
    }
}

#[test]
fn reads_go_to_what_was_written() {
    let lab = Lab::new();
    // Two zones are written; random reads of the whole device find their data.
    let text = format!(
        "[global]\nioengine=nvme\nfilename={ZONED}\nzonemode=zbd\nbs=16k\n[write]\nrw=write\nsize=2z\n\
         [read]\nstonewall\nrw=randread\nnumber_ios=300\nnorandommap=1\nio_size=1g\n\
         [all]\nstonewall\nrw=read\n[beyond]\nstonewall\nrw=read\nread_beyond_wp=1\n"
    );
    let report = lab.job(&text).ended(0, "").json();
    let read = |index: usize| bytes(&report["jobs"][index], "read");
    assert_eq!((read(1), read(2), read(3)), ((300 * 16) << 10, (2 * 768) << 10, 16 << 20));
    // Nothing was written, so there is nothing to read.
    let empty = lab.job(&job("rw=randread\nnumber_ios=300\nio_size=1g")).ended(0, "").json();
    assert_eq!(bytes(&empty["jobs"][0], "read"), 0);
}

#[test]
fn what_was_written_is_verified() {
    let lab = Lab::new();
    for more in [
        "rw=write\nverify=crc32c",
        "rw=write\nverify=md5\nloops=3\niodepth=8",
        "rw=randwrite\nverify=crc32c\niodepth=8\nnorandommap=1\nio_size=40M",
        "rw=randrw\nverify=crc32c\niodepth=4\nio_size=20M\nnorandommap=1",
        "rw=randwrite\nverify=crc32c\nbsrange=4k-32k\nio_size=20M\nnorandommap=1",
    ] {
        lab.job(&job(more)).ended(0, "");
        let verified = lab.recording().workers[0].verification.clone().unwrap();
        // Each byte of the zones, at least those of the zones that are full.
        assert!(verified.intervals > 0 && verified.damaged == 0, "{more}: {verified:?}");
    }
}

#[test]
fn damage_in_a_zone_is_found() {
    let lab = Lab::new();
    let text =
        |more: &str| format!("[a]\nfilename=f\nsize=1m\nbs=16k\nzonemode=zbd\nzonesize=256k\nverify=crc32c\n{more}\n");
    lab.job(&text("rw=write\ndo_verify=0")).ended(0, "");
    lab.job(&text("rw=read\nread_beyond_wp=1")).ended(0, "");
    let mut content = std::fs::read(lab.path("f")).unwrap();
    content[300_000] ^= 1;
    std::fs::write(lab.path("f"), content).unwrap();
    lab.job(&text("rw=read\nread_beyond_wp=1")).ended(1, "");
    assert_eq!(lab.recording().workers[0].verification.as_ref().unwrap().damaged, 1);
}

#[test]
fn trims_reset_zones_that_hold_something() {
    let lab = Lab::new();
    let text = format!(
        "[global]\nioengine=nvme\nfilename={ZONED}\nzonemode=zbd\n[write]\nrw=write\nbs=16k\nsize=3z\n\
         [trim]\nstonewall\nrw=trim\nbs=1m\n[again]\nstonewall\nrw=randtrim\nbs=1m\n\
         [more]\nstonewall\nrw=write\nbs=16k\nsize=3z\n"
    );
    let report = lab.job(&text).ended(0, "").json();
    assert_eq!(report["jobs"][1]["trim"]["total_ios"], 3);
    assert_eq!(report["jobs"][2]["trim"]["total_ios"], 0, "nothing was left to be reset");
    assert_eq!(report["jobs"][3]["zone_resets"], 0, "the zones were empty");
    lab.job(&job("rw=trim")).ended(2, "use bs=,,1048576");
}

#[test]
fn resets_come_as_often_as_asked_for() {
    let lab = Lab::new();
    let text =
        job("rw=randwrite\nio_size=8M\nsize=8z\nnorandommap=1\nzone_reset_threshold=0.1\nzone_reset_frequency=0.25");
    let one = lab.job(&text).ended(0, "").json()["jobs"][0].clone();
    let (writes, resets) = (one["write"]["total_ios"].as_u64().unwrap(), one["zone_resets"].as_u64().unwrap());
    assert_eq!(writes, 512);
    // From a tenth on, each fourth write; a reset brings the share below the threshold again.
    assert!((15..=128).contains(&resets), "{resets}");
    let never = text.replace("zone_reset_threshold=0.1", "zone_reset_threshold=1");
    let only_full = lab.job(&never).ended(0, "").json()["jobs"][0]["zone_resets"].as_u64().unwrap();
    assert!(only_full * 2 < resets, "{only_full} of {resets}");
    let each = text.replace("zone_reset_threshold=0.1\nzone_reset_frequency=0.25", "zone_reset_frequency=1");
    assert_eq!(
        lab.job(&each).ended(0, "").json()["jobs"][0]["zone_resets"],
        512 - 4,
        "all but the first of each open zone"
    );
}

#[test]
fn a_file_has_zones_if_the_job_says_so() {
    let lab = Lab::new();
    for engine in ["psync", "libaio", "io_uring", "mmap"] {
        let text = format!(
            "[a]\nfilename=f\nioengine={engine}\niodepth=8\nzonemode=zbd\nzonesize=256k\nzonecapacity=192k\nsize=4m\nbs=16k\n\
             rw=randwrite\nnorandommap=1\nio_size=6m\nmax_open_zones=3\nverify=crc32c\n"
        );
        let one = lab.job(&text).ended(0, "").json()["jobs"][0].clone();
        assert_eq!((bytes(&one, "write"), one["error"].as_i64()), (6 << 20, Some(0)), "{engine}");
        assert!(one["zone_resets"].as_u64().unwrap() > 0, "{engine}");
    }
    // The last quarter of each zone is never touched.
    let fill = "[a]\nfilename=g\nzonemode=zbd\nzonesize=256k\nzonecapacity=192k\nsize=1m\nbs=16k\nrw=write\n\
                buffer_pattern=0xee\n";
    lab.job(fill).ended(0, "");
    let content = std::fs::read(lab.path("g")).unwrap();
    for (number, zone) in content.chunks(256 << 10).enumerate() {
        let (written, gap) = zone.split_at(192 << 10);
        assert!(written.iter().all(|byte| *byte == 0xee) && gap.iter().all(|byte| *byte == 0), "zone {number}");
    }
}

#[test]
fn the_rest_of_a_zone_is_written_only_if_asked_for() {
    let lab = Lab::new();
    // 768 KiB are 15 blocks of 48 KiB and 48 KiB more; 13 of 56 KiB leave 40 KiB.
    let text = job("rw=write\nsize=4z").replace("bs=16k", "bs=56k");
    let one = lab.job(&text).ended(0, "").json()["jobs"][0].clone();
    assert_eq!(bytes(&one, "write"), 4 * 13 * (56 << 10));
    let whole = lab.job(&format!("{text}write_zone_remainder=1\n")).ended(0, "").json();
    assert_eq!(bytes(&whole["jobs"][0], "write"), (4 * 768) << 10);
}

#[test]
fn what_does_not_work_with_zones_is_refused() {
    let lab = Lab::new();
    for (more, said) in [
        ("rw=write\nzonesize=2m", "the zones of the device have 1048576 bytes"),
        ("rw=write\nzoneskip=1m", "zoneskip has no meaning"),
        ("rw=write\nsize=512k", "no whole zone"),
        ("rw=write\nverify=md5\nverify_backlog=8", "verify_backlog does not work together"),
        ("rw=write\nio_submit_mode=offload", "offload does not work together"),
        ("rw=write:16k", "written in order"),
        ("rw=trimwrite", "written in order"),
    ] {
        lab.job(&job(more)).ended(2, said);
    }
    lab.job(&job("rw=write").replace("bs=16k", "bs=1m")).ended(1, "more than a zone can hold (786432 bytes)");
    let file = |more: &str| format!("[a]\nfilename=f\nsize=4m\nrw=write\nzonemode=zbd\n{more}\n");
    lab.job(&file("")).ended(2, "needs zonesize");
    lab.job(&file("zonesize=1m\nzonecapacity=2m")).ended(2, "more than a zone has");
    lab.job("[a]\nfilename=f\nsize=4z\nrw=write\n").ended(2, "set zonemode=zbd");
    lab.job("[a]\nfilename=f\nsize=4m\nrw=read\nmax_open_zones=4\n").ended(0, "no effect without zonemode=zbd");
}
