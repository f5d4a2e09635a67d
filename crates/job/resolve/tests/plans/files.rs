//! Names, sizes, offsets, layout.

use iolab_jobfile::DiagnosticSeverity;
use iolab_plan::FileOrigin;
use iolab_resolve::Mode;

use crate::support::{GIB, plan, refusals, resolved, section, worker};

const MIB: u64 = 1 << 20;

#[test]
fn names() {
    let cases: [(&str, &[&str]); 10] = [
        ("nrfiles=2", &["job.0.0", "job.0.1"]),
        ("directory=/data nrfiles=2", &["/data/job.0.0", "/data/job.0.1"]),
        ("filename=a:b\\:c", &["a", "b:c"]),
        ("filename=a:b:c nrfiles=2", &["a", "b"]),
        ("filename=a directory=/data:/more", &["/data/a"]),
        ("filename=/abs directory=/data", &["/data/abs"]),
        ("filename_format=t.$filenum nrfiles=2", &["t.0", "t.1"]),
        ("filename_format=$jobname/$jobnum", &["job/0"]),
        ("opendir=/data", &["/data/big", "/data/small"]),
        ("ioengine=filecreate nrfiles=3 filesize=4k", &["job.0.0", "job.0.1", "job.0.2"]),
    ];
    for (options, expected) in cases {
        let names: Vec<String> =
            worker(&format!("size=1m {options}")).files.iter().map(|file| file.path.display().to_string()).collect();
        assert_eq!(names, expected, "{options}");
    }
    let clones = plan(&section("size=1m numjobs=3 directory=/data:/more"));
    let names: Vec<String> = clones.workers.iter().map(|worker| worker.files[0].path.display().to_string()).collect();
    assert_eq!(names, ["/data/job.0.0", "/more/job.1.0", "/data/job.2.0"]);
    let device = plan("[/dev/disk]\nrw=read\n");
    assert_eq!(device.workers[0].files[0].path.to_str(), Some("/dev/disk"));
    assert_eq!(device.workers[0].files[0].origin, FileOrigin::Named);
    assert!(device.workers[0].files[0].block_device);
}

#[test]
fn an_engine_with_devices_of_its_own_says_how_large_they_are() {
    let text = section("ioengine=drives filename=bus=7\u{1}unit=1 directory=/data bs=8k").replace('\u{1}', " ");
    let drive = plan(&text).workers.remove(0);
    assert_eq!(drive.files[0].path.to_str(), Some("bus=7 unit=1"), "a name of a device is no path");
    assert_eq!((drive.files[0].length_bytes, drive.files[0].layout_bytes), (GIB, 0));
    assert!(drive.process.thread, "one device is shared by threads");
    let refused = |options: &str| {
        let text = section(options).replace('\u{1}', " ");
        refusals(&text, |_| {}).into_iter().map(|finding| finding.reason).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(refused("ioengine=drives filename=bus=8 size=1m"), "bus=8: there is no such drive");
    let severities = |unit: u32| {
        let text = section(&format!("ioengine=drives filename=bus=7\u{1}unit={unit} size=1m")).replace('\u{1}', " ");
        refusals(&text, |_| {}).into_iter().map(|finding| finding.severity).collect::<Vec<_>>()
    };
    assert_eq!(
        (severities(2), severities(3)),
        (vec![DiagnosticSeverity::Refusal], vec![DiagnosticSeverity::Error]),
        "safety, and a mistake"
    );
    assert_eq!(refused("ioengine=drives size=1m"), "engine drives needs the name of a device");
    assert!(refused("ioengine=drives filename=bus=7\u{1}unit=1 bs=6k").contains("blocks of 4096 bytes"));
    assert!(refused("ioengine=drives filename=bus=7\u{1}unit=1 size=2g").contains("has only"));
}

#[test]
fn objects_have_the_sizes_of_the_job() {
    let worker = plan(&section("ioengine=objects size=8m nrfiles=2")).workers.remove(0);
    let files: Vec<_> = worker.files.iter().map(|file| (file.length_bytes, file.layout_bytes)).collect();
    assert_eq!(files, [(4 << 20, 0); 2], "nothing is laid out on this machine");
    assert!(worker.process.thread, "the library of the store has threads of its own");
    assert!(refusals(&section("ioengine=objects"), |_| {})[0].reason.contains("size is not set"));
}

#[test]
fn an_option_of_the_engine_names_its_device() {
    let named = plan(&section("ioengine=exports address=far://shelf bs=8k"));
    let worker = &named.workers[0];
    assert_eq!((worker.files.len(), worker.files[0].path.to_str()), (1, Some("far://shelf")));
    assert_eq!((worker.files[0].length_bytes, worker.process.thread), (GIB, true));
    let named = plan(&section("ioengine=exports filename=far\\://shelf bs=8k"));
    assert_eq!(named.workers[0].files[0].path.to_str(), Some("far://shelf"), "without the option, filename does");
    let findings = refusals(&section("ioengine=exports size=1m"), |_| {});
    assert_eq!(findings[0].reason, "engine exports needs the name of a device");
    assert_eq!(findings[0].suggestion.as_deref(), Some("give address="));
    let both = resolved(&section("ioengine=exports address=far://shelf filename=far://none"), |_| {});
    let said: Vec<&str> = both.warnings.iter().map(|finding| finding.reason.as_str()).collect();
    assert!(said.contains(&"address names the device, so filename has no effect"), "{said:?}");
    let findings = refusals(&section("ioengine=exports address=far://none filename=far://shelf"), |_| {});
    assert_eq!(findings[0].reason, "far://none: there is no such drive");
}

#[test]
fn extents() {
    // options, (start, length) of each file, bytes of a pass
    type Extents = &'static [(u64, u64)];
    let cases: [(&str, Extents, u64); 20] = [
        ("size=1m", &[(0, MIB)], MIB),
        ("filename=/dev/disk", &[(0, 8 * GIB)], 8 * GIB),
        ("filename=/data/big", &[(0, GIB)], GIB),
        ("filename=/data/big size=2g", &[(0, 2 * GIB)], 2 * GIB),
        ("filename=/data/big size=50%", &[(0, GIB / 2)], GIB / 2),
        ("filename=/dev/disk offset=50%", &[(4 * GIB, 4 * GIB)], 4 * GIB),
        ("filename=/dev/disk offset=1g size=50%", &[(GIB, 4 * GIB)], 4 * GIB),
        ("filename=/dev/odd offset=50%", &[(8192, 1808)], 0),
        ("filename=/dev/odd size=100%", &[(0, 10_000)], 10_000),
        ("filename=/dev/odd size=99%", &[(0, 8192)], 8192),
        ("nrfiles=3 size=14k", &[(0, 4778), (0, 4778), (0, 4778)], 14334),
        ("nrfiles=2 size=1m filesize=1m", &[(0, MIB), (0, MIB)], MIB),
        ("nrfiles=2 filesize=64k", &[(0, 65536), (0, 65536)], 131_072),
        ("filesize=64k offset=16k", &[(16384, 49152)], 49152),
        ("filename=/data/big filesize=1k-2g", &[(0, GIB)], GIB),
        ("size=1m io_size=4m", &[(0, MIB)], 4 * MIB),
        ("size=1m io_size=25%", &[(0, MIB)], MIB / 4),
        ("filename=/data/big file_append=1 size=1m rw=write", &[(GIB, MIB)], MIB),
        ("filename=new fill_device=1 rw=write", &[(0, 3 * GIB)], 3 * GIB),
        ("size=9000 bs=4090", &[(0, 9000)], 9000),
    ];
    for (options, extents, pass) in cases {
        if pass == 0 {
            assert!(refusals(&section(options), |_| {})[0].reason.contains("less than one block"), "{options}");
            continue;
        }
        let worker = worker(options);
        let found: Vec<(u64, u64)> = worker.files.iter().map(|file| (file.start_bytes, file.length_bytes)).collect();
        assert_eq!((found.as_slice(), worker.limits.io_bytes), (extents, pass), "{options}");
    }
}

#[test]
fn offsets_of_clones() {
    let starts = |options: &str| -> Vec<u64> {
        plan(&section(options)).workers.iter().map(|worker| worker.files[0].start_bytes).collect()
    };
    assert_eq!(starts("filename=/dev/disk size=1g offset_increment=2g numjobs=3"), [0, 2 * GIB, 4 * GIB]);
    assert_eq!(starts("filename=/dev/disk size=1g offset=1g offset_increment=25% numjobs=3"), [GIB, 3 * GIB, 5 * GIB]);
    assert_eq!(starts("filename=/dev/disk size=1m offset=33% offset_align=1048576"), [2704 * MIB]);
}

#[test]
fn random_file_sizes_stay_in_range_and_differ() {
    let sizes: Vec<u64> = worker("nrfiles=32 filesize=64k-1m").files.iter().map(|file| file.length_bytes).collect();
    assert!(sizes.iter().all(|size| (65536..=MIB).contains(size) && size % 4096 == 0));
    assert!(sizes.windows(2).any(|pair| pair[0] != pair[1]));
}

#[test]
fn layout() {
    // Files get their length before the job starts (with data before reads, with space only before
    // writes), unless they are created when opened or grow at their end. Devices are used as they
    // are.
    let cases = [
        ("rw=read size=1m", MIB),
        ("rw=write size=1m", MIB),
        ("rw=randwrite size=1m offset=1m", 2 * MIB),
        ("rw=write size=1m create_on_open=1", 0),
        ("rw=write filename=new fill_device=1", 0),
        ("rw=write size=1m ioengine=mmap create_on_open=1", MIB),
        ("rw=write size=1m overwrite=1", MIB),
        ("rw=rw size=1m", MIB),
        ("rw=read size=1m create_on_open=1", 0),
        ("rw=read filename=/dev/disk", 0),
        ("rw=read size=1m offset=1m", 2 * MIB),
        ("rw=read size=1m ioengine=null", 0),
        ("rw=write size=1m file_append=1", 0),
        // As in fio: a job that only reads does not append.
        ("rw=read size=1m file_append=1", MIB),
    ];
    for (options, bytes) in cases {
        assert_eq!(worker(options).files[0].layout_bytes, bytes, "{options}");
    }
    let direct = [
        ("direct=1", true),
        ("buffered=0", true),
        ("direct=1 buffered=1", false),
        ("ioengine=libaio atomic=1", true),
        ("rw=read", false),
    ];
    for (options, expected) in direct {
        assert_eq!(worker(&format!("size=1m {options}")).layout.direct, expected, "{options}");
    }
    assert!(!worker("size=1m pre_read=1").layout.invalidate);
}

#[test]
fn sizes_that_cannot_be() {
    let cases = [
        ("rw=read filename=missing", "does not exist"),
        ("rw=read ioengine=null", "size is not set"),
        ("rw=read filename=/dev/char", "size is not set"),
        ("filename=missing size=50%", "has no size yet"),
        ("filename=/dev/disk size=9g", "has only"),
        ("filename=/dev/disk size=1g offset=8g", "beyond the end"),
        ("filename=/data/big offset=2g", "beyond the end"),
        ("size=1k", "less than one block"),
        ("nrfiles=100 size=100k", "each file gets at most"),
        ("size=1m directory=/none", "not a directory"),
        ("size=1m filename=/data", "is a directory"),
        ("size=1m filename=/dev/none", "no device"),
        ("size=1m filename=new allow_file_create=0", "forbids creating it"),
        ("opendir=/none", "cannot list"),
        ("opendir=/more", "contains no files"),
        ("size=1m filename=-", "standard input"),
    ];
    for (options, reason) in cases {
        let refusals = refusals(&section(options), |_| {});
        assert!(refusals.iter().any(|finding| finding.reason.contains(reason)), "{options}: {refusals:?}");
    }
}

#[test]
fn as_fio_a_job_ends_at_the_end_of_the_device() {
    let resolved = resolved(&section("filename=/dev/disk size=4g offset=6g"), |request| request.mode = Mode::Fio);
    let file = &resolved.plan.workers[0].files[0];
    assert_eq!((file.start_bytes, file.length_bytes), (6 * GIB, 2 * GIB));
    assert!(resolved.warnings[0].reason.contains("has only"));
}

#[test]
fn engines_without_files_need_none() {
    let spinner = worker("ioengine=cpuio runtime=5 time_based");
    assert!(spinner.files[0].length_bytes > 1 << 60);
    let null = worker("ioengine=null size=1t".replace("1t", "1024g").as_str());
    assert_eq!(null.files[0].length_bytes, 1024 * GIB);
    let creators = worker("ioengine=filecreate nrfiles=100 filesize=4k");
    assert_eq!((creators.files.len(), creators.limits.io_bytes), (100, 409_600));
}

#[test]
fn a_read_only_run_makes_nothing() {
    let readonly = |text: &str| refusals(&section(text), |request| request.overrides.readonly = true);
    assert!(readonly("filename=/data/big rw=randrw")[0].reason.contains("--readonly is set"));
    assert!(readonly("filename=/dev/disk rw=trim")[0].reason.contains("--readonly is set"));
    assert!(readonly("size=1m rw=read")[0].reason.contains("created or extended"));
    let reads = resolved(&section("filename=/data/big rw=read"), |request| request.overrides.readonly = true);
    assert!(reads.plan.workers[0].layout.read_only);
}
