//! Job files with `ioengine=nvme` (or `spdk`) on embedded virtual SSDs.

use crate::support::Lab;
use serde_json::Value;

const DEVICE: &str = "trtype=VIRT model=ideal size=64M ns=1";

fn ios(job: &Value, direction: &str) -> u64 {
    job[direction]["total_ios"].as_u64().unwrap_or_else(|| panic!("{job}"))
}

#[test]
fn a_job_file_made_for_spdks_plugin_runs_with_another_filename() {
    let lab = Lab::new();
    let text = format!(
        "[global]\nioengine=spdk\nthreads=1\nrw=randrw\nfilename={DEVICE}\nblocksize=4kb\nsize=4G\ntime_based=1\n\
         ramp_time=0\nruntime=1\nrefill_buffers=1\nnorandommap=1\ngroup_reporting=1\ndirect=1\nverify=0\n\n\
         [test]\nnumjobs=1\n"
    );
    let done = lab.job(&text.replace("size=64M", "size=8G"));
    let report = done.ended(0, "").json();
    let job = &report["jobs"][0];
    assert!(ios(job, "read") > 0 && ios(job, "write") > 0, "{report}");
    assert_eq!(job["error"], 0);
    assert!(lab.recording().workers[0].runtime_ns >= 1_000_000_000);

    // The job is larger than the device, so it is refused before anything happens.
    lab.job(&text).ended(2, "which has only 67108864 bytes");
}

#[test]
fn the_plan_shows_the_device() {
    let lab = Lab::new();
    lab.file("job.fio", format!("[a]\nioengine=nvme\nfilename={DEVICE}\nrw=read\nbs=4k\n"));
    let plan = lab.run(["plan", "job.fio"]).ended(0, "").printed();
    assert!(plan.contains(DEVICE) && plan.contains("nvme"), "{plan}");
}

#[test]
fn jobs_on_one_embedded_device_see_the_same_data() {
    let lab = Lab::new();
    let keeper = lab.path("drive.data");
    let device = format!("trtype=VIRT model=ideal size=16M media=file\\:{}", keeper.display());
    // Four threads write one quarter each; the next stage, on the same drive, overwrites a part of
    // one.
    let text = format!(
        "[global]\nioengine=nvme\nfilename={device}\nbs=4k\nsize=4M\niodepth=4\n\n\
         [write]\nrw=randwrite\nnumjobs=4\noffset_increment=4M\nbuffer_pattern=0xa7\nend_fsync=1\n\n\
         [again]\nstonewall\nrw=write\noffset=8M\nsize=1M\nbuffer_pattern=0x18\nend_fsync=1\n"
    );
    let report = lab.job(&text).ended(0, "").json();
    let jobs = report["jobs"].as_array().unwrap();
    assert_eq!(jobs.iter().map(|job| ios(job, "write")).collect::<Vec<_>>(), [1024, 1024, 1024, 1024, 256]);
    let bytes = std::fs::read(&keeper).unwrap();
    assert_eq!(bytes.len(), 16 << 20);
    for (at, byte) in bytes.iter().enumerate() {
        let expected = if (8 << 20..9 << 20).contains(&at) { 0x18 } else { 0xa7 };
        assert!(*byte == expected, "{byte:#x} instead of {expected:#x} at {at}");
    }
}

#[test]
fn faults_of_the_device_are_errors_of_the_job() {
    let lab = Lab::new();
    let job = |fault: &str, more: &str| {
        format!("[a]\nioengine=nvme\nfilename=trtype=VIRT model=ideal size=1M fault={fault}\nrw=read\nbs=4k\n{more}")
    };
    // Blocks 128 to 135 are the operation at 64 KiB.
    let report = lab.job(&job("media-error\\:lba=128+8", "")).ended(1, "read offset=65536").json();
    let worker = lab.recording().workers.remove(0);
    assert_eq!((worker.directions[0].ios, worker.directions[0].dropped_ios), (16, 1));
    assert_ne!(report["jobs"][0]["error"].as_u64(), Some(0), "{report}");

    let report = lab.job(&job("media-error\\:lba=128+8", "continue_on_error=read\n")).ended(0, "offset=65536").json();
    assert_eq!(report["jobs"][0]["total_err"].as_u64(), Some(1), "{report}");
    assert_eq!(lab.recording().workers[0].directions[0].ios, 255);

    // One device has two faults; a command that is never answered is given up after its timeout.
    let two = "media-error\\:lba=0,times=1 fault=timeout\\:after=20,times=1,op=read";
    let done = lab.job(&job(two, "continue_on_error=read\ncommand_timeout=100ms\n"));
    let report = done.ended(0, "offset=0").json();
    assert_eq!(report["jobs"][0]["total_err"].as_u64(), Some(2), "{report}");

    lab.job(&job("meda-error", "")).ended(2, "did you mean `media-error`?");
}

#[test]
fn trims_and_errors_of_each_block_are_counted() {
    let lab = Lab::new();
    // The fault is for the page at 64 KiB, and for trims as well as writes: after one of each, its
    // next trim fails, or after another trim, its next write.
    for (after, end, name, trims) in [(2, "trim", "trim_failed", 1), (3, "write", "write_failed", 2)] {
        let text = format!(
            "[a]\nioengine=nvme\nrw=trimwrite\nbs=4k\nloops=5\ncontinue_on_error=all\nblock_error_percentiles=1\n\
             percentile_list=50:100\nfilename=trtype=VIRT model=ideal size=1M \
             fault=media-error\\:op=write,lba=128+8,after={after}\n"
        );
        let report = lab.job(&text).ended(0, &format!("{end} offset=65536")).json();
        let blocks = &report["jobs"][0]["block_errors"];
        let found = lab.recording().workers.remove(0).block_errors.expect("the job counts them");
        assert_eq!(found.intact.0, [(5, 255)], "{report}");
        let failed =
            found.ends().into_iter().skip(1).flat_map(|(end, trims)| trims.0.iter().map(move |one| (end, *one)));
        assert_eq!(failed.collect::<Vec<_>>(), [(&*format!("{end} failed"), (trims, 1))], "{report}");
        assert_eq!(blocks["intact"]["blocks"].as_u64(), Some(255), "{report}");
        assert_eq!(blocks[name]["trims_percentile"]["100.000000"].as_u64(), Some(u64::from(trims)), "{report}");
    }
}

#[test]
fn a_trim_of_several_ranges_reaches_every_block() {
    let lab = Lab::new();
    for (rw, depth) in [("trim", 1), ("randtrim", 4)] {
        let text = format!(
            "[global]\nioengine=nvme\nfilename=trtype=VIRT model=ideal size=4M\nbs=4k\n\n\
             [fill]\nrw=write\nbuffer_pattern=0xa7\n\n\
             [half]\nstonewall\nrw={rw}\nsize=2M\nnum_range=8\niodepth={depth}\n\n\
             [gone]\nstonewall\nrw=read\nsize=2M\nverify=pattern\nverify_pattern=0x00\n\n\
             [kept]\nstonewall\nrw=read\noffset=2M\nverify=pattern\nverify_pattern=0xa7\n"
        );
        let report = lab.job(&text).ended(0, "").json();
        let trim = &report["jobs"][1]["trim"];
        assert_eq!((trim["total_ios"].as_u64(), trim["io_bytes"].as_u64()), (Some(64), Some(2 << 20)), "{report}");
    }
}

#[test]
fn a_run_survives_a_confused_device_and_ends_with_a_removed_one() {
    let lab = Lab::new();
    let job = |faults: &str| {
        format!(
            "[a]\nioengine=nvme\ncommand_timeout=200ms\nrw=read\nbs=64k\n\
             filename=trtype=VIRT model=ideal size=4M {faults}\n"
        )
    };
    let confused = "fault=drop\\:after=5,times=1 fault=double\\:after=10,times=1 \
                    fault=wrong-phase\\:after=15,times=1 fault=wrong-cid\\:after=20,times=1";
    for faults in [confused, "fault=fatal\\:after=10,times=1"] {
        let report = lab.job(&job(faults)).ended(0, "").json();
        assert_eq!((ios(&report["jobs"][0], "read"), report["jobs"][0]["error"].as_u64()), (64, Some(0)), "{report}");
    }
    lab.job(&job("fault=removal\\:after=10")).ended(1, "No such device: read offset=655360");
    assert_eq!(lab.recording().workers[0].directions[0].ios, 10);
}

#[test]
fn what_the_device_cannot_do_is_refused_before_the_run() {
    let lab = Lab::new();
    let job = |device: &str, more: &str| format!("[a]\nioengine=nvme\nfilename={device}\nrw=randread\n{more}\n");
    let large_blocks = "trtype=VIRT model=ideal size=64M lba=4096";
    for (text, said) in [
        (job(large_blocks, "bs=512"), "4096"),
        (job(large_blocks, "bs=6k"), "4096"),
        (job("trtype=VIRT model=idael", "bs=4k"), "ideal"),
        (job("trtype=VIRT siez=1G", "bs=4k"), "did you mean `size`?"),
        (job("trtype=VIRT size=64M ns=2", "bs=4k"), "its namespaces are 1"),
        (job("trtype=FC traddr=1.2.3.4", "bs=4k"), "unknown transport trtype=FC"),
        (job("trtype=PCIe traddr=zz", "bs=4k"), "is not a PCI address"),
        (job("disk", "bs=4k"), "is not KEY=VALUE"),
        ("[a]\nioengine=nvme\nrw=read\nsize=1M\n".to_owned(), "needs the name of a device"),
    ] {
        let done = lab.job(&text).ended(2, said);
        assert_eq!(done.printed(), "", "{text}");
        assert_eq!(done.errors().matches("error:").count(), 1, "said once: {done:?}");
    }
}
