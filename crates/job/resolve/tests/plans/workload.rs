//! Patterns, block sizes, mixes, seeds.

use iolab_jobfile::DiagnosticSeverity;
use iolab_options::{Distribution, Percent};
use iolab_plan::{BlockSizes, FileServiceKind, RandomGenerator, RandomMap, Sequencer};
use iolab_resolve::Mode;

use crate::support::{plan, refusals, resolved, section, worker};

#[test]
fn patterns() {
    // text, directions, random, every, skip
    let cases = [
        ("read", 1, false, 1, 0),
        ("readwrite", 2, false, 1, 0),
        ("randrw", 2, true, 1, 0),
        ("trim", 1, false, 1, 0),
        ("randtrimwrite", 2, true, 1, 0),
        ("randread:8", 1, true, 8, 0),
        ("read:8", 1, false, 1, 8),
        ("read:-8k", 1, false, 1, -8192),
        ("write:112k", 1, false, 1, 112 << 10),
    ];
    for (text, directions, random, every, skip) in cases {
        let pattern = worker(&format!("size=1m filename=/dev/disk rw={text}")).workload.pattern;
        let found = (pattern.directions.len(), pattern.random, pattern.every, pattern.skip_bytes);
        assert_eq!(found, (directions, random, every, skip), "{text}");
        assert_eq!(pattern.trim_then_write, text.ends_with("trimwrite"), "{text}");
    }
    assert_eq!(worker("size=1m rw=readwrite").workload.pattern.word, "rw");
    assert_eq!(worker("size=1m rw=randread:8 rw_sequencer=identical").workload.pattern.sequencer, Sequencer::Identical);
}

#[test]
fn block_sizes_inherit_and_the_finer_option_wins() {
    use BlockSizes::{Fixed, Range, Split};
    let cases = [
        ("rw=read", [Fixed(4096), Fixed(4096), Fixed(4096)]),
        ("bs=8k", [Fixed(8192), Fixed(8192), Fixed(8192)]),
        ("bs=4k,8k", [Fixed(4096), Fixed(8192), Fixed(8192)]),
        ("bs=4k,8k,", [Fixed(4096), Fixed(8192), Fixed(4096)]),
        ("bs=,8k", [Fixed(4096), Fixed(8192), Fixed(8192)]),
        ("bs=2k,", [Fixed(2048), Fixed(4096), Fixed(4096)]),
        (
            "bs=8k bsrange=1k-4k,2k-8k",
            [Range { min: 1024, max: 4096 }, Range { min: 2048, max: 8192 }, Range { min: 2048, max: 8192 }],
        ),
        (
            "bs=2k bssplit=4k/30:16k/60:64k/10,8k",
            [Split(vec![(4096, 30), (16384, 60), (65536, 10)]), Fixed(8192), Fixed(8192)],
        ),
        (
            "bssplit=4k/10:64k/50:32k",
            [
                Split(vec![(4096, 10), (65536, 50), (32768, 40)]),
                Split(vec![(4096, 10), (65536, 50), (32768, 40)]),
                Split(vec![(4096, 10), (65536, 50), (32768, 40)]),
            ],
        ),
        (
            "bssplit=4k:8k:16k",
            [
                Split(vec![(4096, 33), (8192, 33), (16384, 34)]),
                Split(vec![(4096, 33), (8192, 33), (16384, 34)]),
                Split(vec![(4096, 33), (8192, 33), (16384, 34)]),
            ],
        ),
    ];
    for (options, expected) in cases {
        assert_eq!(worker(&format!("size=1m {options}")).workload.block_sizes, expected, "{options}");
    }
}

#[test]
fn the_later_of_two_mix_options_counts() {
    let cases = [
        ("rw=randrw", 50),
        ("rw=randrw rwmixread=70", 70),
        ("rw=randrw rwmixwrite=30", 70),
        ("rw=randrw rwmixread=90 rwmixwrite=30", 70),
        ("rw=randrw rwmixwrite=30 rwmixread=90", 90),
    ];
    for (options, expected) in cases {
        assert_eq!(worker(&format!("size=1m {options}")).workload.read_percent, Percent::whole(expected), "{options}");
    }
    let both = resolved(&section("size=1m rw=randrw rwmixread=90 rwmixwrite=30"), |_| {});
    assert!(both.warnings[0].reason.contains("do not add up"), "{:?}", both.warnings);
    let inherited =
        plan("[global]\nrw=randrw\nsize=1m\nrwmixread=90\n[a]\nrwmixwrite=20\n[b]\nrwmixwrite=20\nrwmixread=20\n");
    let shares = inherited.workers.iter().map(|worker| worker.workload.read_percent.to_string());
    assert_eq!(shares.collect::<Vec<_>>(), ["80", "20"]);
}

#[test]
fn a_mix_takes_fractions_which_fio_cuts_off() {
    let of = |options: &str, mode: Mode| {
        let resolved = resolved(&section(&format!("size=1m rw=randrw {options}")), |request| request.mode = mode);
        (resolved.plan.workers[0].workload.read_percent.to_string(), resolved.warnings)
    };
    // options, percent of reads, and in fio mode: these are the shares that fio 3.33 produces.
    let cases = [
        ("rwmixwrite=12.5", "87.5", "88"),
        ("rwmixread=87.5", "87.5", "87"),
        ("rwmixwrite=12.5 rwmixread=87.5", "87.5", "87"),
        ("rwmixwrite=0.5", "99.5", "100"),
        ("rwmixread=33.333", "33.333", "33"),
        ("rwmixread=70", "70", "70"),
    ];
    for (options, expected, as_fio) in cases {
        let (share, warnings) = of(options, Mode::Iolab);
        assert_eq!((share.as_str(), warnings.len()), (expected, 0), "{options}: {warnings:?}");
        let (share, warnings) = of(options, Mode::Fio);
        assert_eq!(share, as_fio, "{options}");
        let told = warnings.iter().filter(|warning| warning.severity == DiagnosticSeverity::Warning).count();
        assert_eq!(told, options.matches('.').count(), "{options}: {warnings:?}");
    }
    let (_, warnings) = of("rwmixwrite=12.5", Mode::Fio);
    assert!(warnings[0].reason.contains("rwmixwrite=12.5 counts as 12"), "{warnings:?}");
}

#[test]
fn alignment_and_the_random_map() {
    // options, alignment of reads, map
    let cases = [
        ("rw=randread", 4096, RandomMap::On),
        ("rw=randread norandommap", 4096, RandomMap::Off),
        ("rw=randread ba=512", 512, RandomMap::Off),
        ("rw=read ba=512", 4096, RandomMap::On),
        ("rw=randread bsrange=1k-4k", 1024, RandomMap::On),
        ("rw=randread random_distribution=zipf:1.2", 4096, RandomMap::Off),
    ];
    for (options, align, map) in cases {
        let load = worker(&format!("size=1m {options}")).workload;
        assert_eq!((load.align_bytes[0], load.random_map), (align, map), "{options}");
    }
    let zipf = worker("size=1m rw=randread random_distribution=zipf:1.2").workload.distributions;
    assert_eq!(zipf[0], Distribution::Zipf { theta: 1.2, center: None });
    assert_eq!(worker("size=1m random_generator=lfsr").workload.generator, RandomGenerator::Lfsr);
}

#[test]
fn a_map_beyond_reason_is_refused_or_dropped() {
    let huge = |more: &str| section(&format!("ioengine=null rw=randread size=1000t bs=512 {more}"));
    assert!(refusals(&huge(""), |_| {})[0].reason.contains("GiB of memory"));
    for more in ["norandommap", "softrandommap=1"] {
        let plan = resolved(&huge(more), |_| {}).plan;
        assert_eq!(plan.workers[0].workload.random_map, RandomMap::Off, "{more}");
    }
}

#[test]
fn which_file_next() {
    use FileServiceKind::{Gauss, Pareto, Random, RoundRobin, Sequential, Zipf};
    let cases = [
        ("nrfiles=4", RoundRobin, 1, 4),
        ("nrfiles=4 openfiles=2", RoundRobin, 1, 2),
        ("nrfiles=4 openfiles=9", RoundRobin, 1, 4),
        ("nrfiles=4 file_service_type=random:8", Random, 8, 4),
        ("nrfiles=4 file_service_type=sequential", Sequential, 1, 4),
        ("nrfiles=4 file_service_type=zipf:1.2", Zipf(1.2), 1, 4),
        ("nrfiles=4 file_service_type=pareto:0.3", Pareto(0.3), 1, 4),
        ("nrfiles=4 file_service_type=gauss:30", Gauss(30.0), 1, 4),
    ];
    for (options, kind, every, open) in cases {
        let service = worker(&format!("size=1m {options}")).workload.file_service;
        assert_eq!((service.kind, service.every, service.open_files), (kind, every, open), "{options}");
    }
}

#[test]
fn seeds_repeat_unless_told() {
    let seed = |options: &str| worker(&format!("size=1m rw=randread {options}")).workload.seed;
    assert_eq!(seed(""), seed("randrepeat=1"));
    assert_eq!(seed(""), seed("randseed=137"));
    assert_ne!(seed(""), seed("randseed=138"));
    assert_ne!(seed(""), seed("randrepeat=0"));
    assert_eq!(seed("randseed=5"), seed("randseed=5 randrepeat=0"));
    let text = section("size=1m rw=randread randrepeat=0");
    let with = |entropy| resolved(&text, |request| request.overrides.entropy = entropy).plan.workers[0].workload.seed;
    assert_ne!(with(1), with(2));
    let clones = plan(&section("size=1m rw=randread numjobs=3"));
    let mut seeds: Vec<u64> = clones.workers.iter().map(|worker| worker.workload.seed).collect();
    seeds.extend(clones.workers.iter().map(|worker| worker.workload.buffer_seed));
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 6);
}

#[test]
fn flushes_and_strides() {
    let sync = worker("size=1m rw=write fsync=32 fdatasync=1 sync_file_range=wait_before,write:8").workload.sync;
    let range = sync.file_range.expect("given");
    assert_eq!((sync.fsync_every, sync.fdatasync_every, range.flags, range.every), (32, 1, 3, 8));
    let stride =
        worker("size=1m zonemode=strided zonesize=4k zonerange=64k zoneskip=8k").workload.stride.expect("given");
    assert_eq!((stride.zone_bytes, stride.range_bytes, stride.skip_bytes), (4096, 65536, 8192));
    assert!(refusals(&section("size=1m zonemode=strided"), |_| {})[0].reason.contains("zonesize"));
    assert!(refusals(&section("size=1m zonesize=4096"), |_| {})[0].reason.contains("zonemode"));
}

#[test]
fn zones_come_from_the_device_or_from_the_job() {
    let zoned = |more: &str| {
        worker(&format!("filename=/dev/zoned direct=1 zonemode=zbd rw=randwrite bs=64k {more}")).workload.zones.unwrap()
    };
    let plain = zoned("");
    assert_eq!((plain.zone_bytes, plain.emulated, plain.most_open, plain.job_most_open), (256 << 20, false, 14, 0));
    for (more, most_open) in
        [("max_open_zones=3", 3), ("ignore_zone_limits=1", 0), ("ignore_zone_limits=1 max_open_zones=99", 99)]
    {
        assert_eq!(zoned(more).most_open, most_open, "{more}");
    }
    let resets = zoned("zone_reset_threshold=0.6 zone_reset_frequency=0.03").resets.unwrap();
    assert_eq!((resets.threshold, resets.every), (0.6, 33));
    let file =
        worker("filename=/data/big zonemode=zbd zonesize=64m zonecapacity=48m rw=write bs=64k").workload.zones.unwrap();
    assert_eq!((file.zone_bytes, file.capacity_bytes, file.emulated, file.most_open), (64 << 20, 48 << 20, true, 0));
}

#[test]
fn sizes_count_zones_and_the_job_uses_whole_ones() {
    let extent = |more: &str| {
        let file = worker(&format!("filename=/dev/zoned direct=1 zonemode=zbd rw=write bs=64k {more}")).files.remove(0);
        (file.start_bytes >> 20, file.length_bytes >> 20)
    };
    assert_eq!(extent(""), (0, 8192));
    assert_eq!(extent("offset=2z size=4z"), (512, 1024));
    assert_eq!(extent("offset=100m size=1g"), (256, 768));
    assert_eq!(extent("size=50%"), (0, 4096));
    let io = worker("filename=/dev/zoned direct=1 zonemode=zbd rw=write bs=64k io_size=3z").limits.io_bytes;
    assert_eq!(io, 768 << 20);
    let job = |more: &str| section(&format!("filename=/dev/zoned zonemode=zbd rw=write bs=64k {more}"));
    for (more, said) in [
        ("", "any order"),
        ("direct=1 zonesize=1m", "have 268435456 bytes"),
        ("direct=1 max_open_zones=15", "allows only 14"),
        ("direct=1 size=100m", "no whole zone"),
        ("direct=1 flow=3", "does not work together"),
        ("direct=1 bs=512m", "more than a zone"),
    ] {
        let found = refusals(&job(more), |_| {});
        assert!(found.iter().any(|one| one.reason.contains(said)), "{more}: {found:?}");
    }
    let different = "[a]\nfilename=/dev/zoned\ndirect=1\nzonemode=zbd\nrw=randwrite\nbs=64k\nzone_reset_frequency=0.1\n\
                     size=2z\nnumjobs=2\noffset_increment=2z\n";
    assert!(refusals(different, |_| {}).iter().any(|one| one.reason.contains("same range")));
}

#[test]
fn sprandom_writes_the_whole_flash_once() {
    let worker_of = |options: &str| worker(&format!("size=40m rw=randwrite sprandom=1 {options}"));
    let usual = worker_of("");
    let plan = usual.workload.sprandom.expect("it was asked for");
    assert_eq!((plan.over_provisioning, plan.regions, plan.cache_bytes), (0.15, 100, 0));
    assert_eq!(usual.limits.io_bytes, 46 << 20);
    assert_eq!(worker_of("spr_op=0.5 io_size=1m bs=8k").limits.io_bytes, 60 << 20);
    assert_eq!(worker_of("random_generator=lfsr nrfiles=4").limits.io_bytes, 46 << 20);
    assert_eq!(worker("size=40m rw=randwrite").workload.sprandom, None);
    let refused = [
        ("rw=randread", "conditions a drive by random writes, and rw is randread"),
        ("rw=write", "conditions a drive by random writes"),
        ("rw=randwrite bsrange=4k-8k", "needs one block size"),
        ("rw=randwrite ba=512", "needs one block size"),
        ("rw=randwrite random_generator=tausworthe", "which this random_generator does not"),
        ("rw=randwrite spr_op=0", "no steady state"),
        ("rw=randwrite spr_num_regions=1", "at least two regions"),
        ("rw=randwrite spr_num_regions=100000", "too few for 100000 regions"),
        ("rw=randwrite spr_cs=1m", "would hold all of it"),
        ("rw=randwrite random_distribution=zipf:1.1", "both decide where writes go"),
    ];
    for (options, reason) in refused {
        let refused = refusals(&section(&format!("size=40m sprandom=1 {options}")), |_| {});
        assert!(refused[0].reason.contains(reason), "{options}: {}", refused[0].reason);
    }
}

#[test]
fn a_trim_of_several_ranges_is_as_long_as_all_of_them() {
    let of = |options: &str| worker(&format!("ioengine=exports address=far://shelf bs=8k rw=randtrim {options}"));
    let several = of("num_range=4").workload;
    assert_eq!((several.trim_ranges, several.block_sizes[2].clone()), (Some(4), BlockSizes::Fixed(32 << 10)));
    assert_eq!(several.align_bytes[2], 32 << 10);
    assert_eq!(of("num_range=1").workload.trim_ranges, None);
    let refused = [
        ("ioengine=exports address=far://shelf rw=randrw", "num_range is for trims, and rw is randrw"),
        ("ioengine=exports address=far://shelf rw=trimwrite", "num_range is for trims"),
        ("ioengine=libaio size=1m rw=trim filename=/dev/disk", "libaio trims one range at a time"),
        ("ioengine=exports address=far://shelf rw=trim bsrange=4k-8k", "needs one block size"),
        ("ioengine=exports address=far://shelf rw=trim bs=1g", "more than 2 GiB"),
        ("ioengine=exports address=far://shelf rw=randtrim random_distribution=zipf", "both decide what is trimmed"),
    ];
    for (options, reason) in refused {
        let refused = refusals(&section(&format!("{options} num_range=4")), |_| {});
        assert!(refused.iter().any(|one| one.reason.contains(reason)), "{options}: {refused:?}");
    }
}

#[test]
fn trims_are_counted_in_blocks_of_their_size() {
    let of = |options: &str| worker(&format!("size=1m block_error_percentiles=1 {options}")).measurement;
    assert_eq!(of("rw=trimwrite bs=8k filename=/dev/disk").block_errors_bytes, Some(8192));
    assert_eq!(of("rw=write bs=16k").block_errors_bytes, Some(16384));
    assert_eq!(of("rw=read").block_errors_bytes, None);
    let refused = refusals(&section("size=2t bs=4k rw=randwrite norandommap block_error_percentiles=1"), |_| {});
    assert!(refused[0].reason.contains("of 536870912 blocks would take 2 GiB"), "{refused:?}");
}
