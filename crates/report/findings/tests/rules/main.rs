//! Checks every rule on recordings of real runs: the findings of each are exactly those that are
//! true of it. States that the available machine could not produce are made from these by changing
//! a number.

mod expected;
mod network_rules;

use expected::EXPECTED;
use iolab_findings::{BottleneckKind, RULES, find, limits};
use iolab_recording::{DamageRecording, NetworkSeries, QuotaUse, Recording, Severity, VerificationRecording};

fn recording(name: &str) -> Recording {
    let path = format!("{}/tests/recordings/{name}.json", env!("CARGO_MANIFEST_DIR"));
    Recording::from_json(&std::fs::read_to_string(&path).expect(&path)).expect(name)
}

fn rules_of(recording: &Recording) -> Vec<String> {
    find(recording).into_iter().map(|finding| finding.rule).collect()
}

#[test]
fn each_recording_has_its_findings_and_no_others() {
    for (name, expected) in EXPECTED {
        assert_eq!(rules_of(&recording(name)), *expected, "{name}");
    }
}

/// A change of a recording that makes a rule fire which did not before.
type Edge = (&'static str, &'static str, fn(&mut Recording));

const EDGES: &[Edge] = &[
    ("littles-law", "queue-read", |recording| recording.workers[0].runtime_ns /= 3),
    ("bandwidth", "direct-read", |recording| recording.workers[0].directions[0].bytes += 1 << 30),
    ("bandwidth", "direct-read", |recording| recording.workers[0].directions[0].bytes /= 2),
    ("steal", "loop-direct", |recording| {
        let host = &mut recording.observations.as_mut().expect("observed").host;
        host.last_mut().expect("samples").steal_ns += 1_000_000_000;
    }),
    ("thermal", "loop-direct", |recording| {
        let host = &mut recording.observations.as_mut().expect("observed").host;
        host.first_mut().expect("samples").thermal_events = Some(1_200);
        host.last_mut().expect("samples").thermal_events = Some(1_237);
    }),
    ("cpu-quota", "loop-direct", |recording| {
        let host = &mut recording.observations.as_mut().expect("observed").host;
        host.first_mut().expect("samples").quota = Some(QuotaUse::default());
        let throttled = QuotaUse { periods: 20, throttled_periods: 1, throttled_ns: 30_000_000 };
        host.last_mut().expect("samples").quota = Some(throttled);
    }),
    ("host-busy", "loop-direct", |recording| {
        let host = &mut recording.observations.as_mut().expect("observed").host;
        let (idle_ns, waited_ns) = (host[0].idle_ns, host[0].cpu_some_ns);
        let last = host.last_mut().expect("samples");
        last.user_ns += last.idle_ns - idle_ns;
        last.idle_ns = idle_ns;
        last.iowait_ns = last.iowait_ns.min(last.at_ns);
        last.cpu_some_ns = waited_ns.map(|waited_ns| waited_ns + last.at_ns);
    }),
    ("clock", "zram-read", |recording| {
        recording.host.clock = "clock_gettime".to_owned();
        recording.calibration.as_mut().expect("calibrated").loops[0].stamp_ps = 900_000;
    }),
    ("other-traffic", "direct-read", |recording| recording.devices[0].after.write_sectors += 1 << 20),
    ("too-few-samples", "merged-read", |recording| {
        let direction = &mut recording.workers[0].directions[0];
        (direction.lat.count, direction.clat.count) = (999, 999);
    }),
    ("damaged-data", "paced", |recording| {
        let block = DamageRecording {
            file: "f".to_owned(),
            offset: 8192,
            length: 4096,
            reason: "there is no header".to_owned(),
            damage: "zeroes".to_owned(),
        };
        let found = VerificationRecording { intervals: 64, damaged: 2, first: vec![block], aftermath: None };
        recording.workers[0].verification = Some(found);
    }),
    ("loop-page-cache", "loop-direct", |recording| of_layer(recording, &[("loop/dio", "0")])),
    ("array-not-whole", "loop-direct", |recording| {
        of_layer(recording, &[("md/level", "raid5"), ("md/degraded", "1"), ("md/raid_disks", "3")]);
    }),
    ("array-not-whole", "loop-direct", |recording| {
        of_layer(recording, &[("md/level", "raid1"), ("md/degraded", "0"), ("md/sync_action", "resync")]);
    }),
    ("interrupted", "paced", |recording| recording.interrupted = true),
    ("rate-not-reached", "paced", |recording| {
        let schedule = recording.workers[0].schedule.as_mut().expect("paced");
        schedule.sent /= 2;
    }),
    ("network-limit", "rbd-copies", |recording| {
        let link = &mut network(recording).links[0].samples;
        link.last_mut().expect("samples").bits_per_second = 3_000_000_000;
        link.last_mut().expect("samples").sent_bytes = 5_000_000_000;
    }),
    // Faster than a round trip.
    ("client-cache", "rbd-direct", |recording| {
        network(recording).peers.iter_mut().flat_map(|peer| &mut peer.samples).for_each(|sample| {
            sample.least_round_trip_ns = 10_000_000_000;
        });
    }),
    ("client-cache", "rbd-direct", |recording| {
        network(recording)
            .peers
            .iter_mut()
            .for_each(|peer| peer.samples.last_mut().expect("samples").received_bytes = 0);
    }),
    // Without counts of the mount, the links say what can have been carried.
    ("client-cache", "nfs-direct", |recording| {
        let network = network(recording);
        network.mounts[0].samples.clear();
        network.links.iter_mut().for_each(|link| link.samples.last_mut().expect("samples").received_bytes = 1 << 20);
    }),
    ("server-cache", "rbd-direct", |recording| {
        let servers = &mut network(recording).servers;
        servers.iter_mut().for_each(|server| server.samples.last_mut().expect("samples").read_bytes = 0);
    }),
    ("stripe-misaligned", "raid1-write", |recording| of_layer(recording, &[("alignment_offset", "512")])),
    ("network-losses", "slow-server", |recording| {
        network(recording).peers[0].samples.last_mut().expect("samples").retransmitted = 1000;
    }),
];

fn network(recording: &mut Recording) -> &mut NetworkSeries {
    &mut recording.observations.as_mut().expect("observed").network[0]
}

/// Gives the first device of a recording parameters of a layer.
fn of_layer(recording: &mut Recording, parameters: &[(&str, &str)]) {
    let devices = &mut recording.observations.as_mut().expect("observed").devices;
    let settings = &mut devices.first_mut().expect("a device").settings;
    settings.extend(parameters.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
}

/// Layers as they should be are no finding.
#[test]
fn whole_arrays_and_direct_loops_are_nothing_to_tell() {
    let mut recording = recording("loop-direct");
    let before = rules_of(&recording);
    let whole = [("md/level", "raid5"), ("md/degraded", "0"), ("md/sync_action", "idle"), ("loop/dio", "1")];
    of_layer(&mut recording, &whole);
    assert_eq!(rules_of(&recording), before);
}

/// Makes a recording one of devices that do not count.
fn stop_counting(recording: &mut Recording) {
    for device in &mut recording.devices {
        device.after = device.before;
    }
    for series in &mut recording.observations.as_mut().expect("observed").devices {
        series.settings.insert("iostats".to_owned(), "0".to_owned());
        let counters = series.samples[0].counters;
        series.samples.iter_mut().for_each(|sample| sample.counters = counters);
    }
}

#[test]
fn nothing_is_concluded_from_counters_that_stand_still() {
    for name in ["direct-read", "direct-write", "buffered-mix", "sparse-read", "zram-read", "stages"] {
        let mut recording = recording(name);
        stop_counting(&mut recording);
        let found = rules_of(&recording);
        let of_counters = ["page-cache", "unwritten-blocks", "device-bytes", "other-traffic"];
        assert!(!found.iter().any(|rule| of_counters.contains(&rule.as_str())), "{name}: {found:?}");
        assert!(found.iter().any(|rule| rule == "uncounted"), "{name}: {found:?}");
    }
}

#[test]
fn a_change_of_one_number_is_noticed() {
    for (rule, name, change) in EDGES {
        let mut recording = recording(name);
        let silent = !rules_of(&recording).iter().any(|found| found == rule);
        change(&mut recording);
        let found = rules_of(&recording);
        assert!(silent && found.iter().any(|found| found == rule), "{rule} in {name}: {silent} {found:?}");
    }
}

/// Quotas and heat without an effect must not be reported, nor unknown ones.
#[test]
fn quotas_and_heat_that_did_nothing_are_not_spoken_of() {
    let quiet = |change: fn(&mut Recording)| {
        let mut recording = recording("loop-direct");
        change(&mut recording);
        assert_eq!(rules_of(&recording), ["too-few-samples"]);
    };
    // A quota that was never used up, one that throttled for a moment, and heat of earlier times.
    quiet(|recording| {
        let host = &mut recording.observations.as_mut().expect("observed").host;
        let before = QuotaUse { periods: 70, throttled_periods: 60, throttled_ns: 5_000_000_000 };
        host.first_mut().expect("samples").quota = Some(before);
        host.last_mut().expect("samples").quota = Some(QuotaUse { periods: 90, ..before });
    });
    quiet(|recording| {
        let host = &mut recording.observations.as_mut().expect("observed").host;
        host.first_mut().expect("samples").quota = Some(QuotaUse::default());
        let moment = QuotaUse { periods: 20, throttled_periods: 1, throttled_ns: 2_000_000 };
        host.last_mut().expect("samples").quota = Some(moment);
    });
    quiet(|recording| {
        let host = &mut recording.observations.as_mut().expect("observed").host;
        host.iter_mut().for_each(|sample| sample.thermal_events = Some(1_237));
    });
    // A processor that went offline: its counter is gone.
    quiet(|recording| {
        let host = &mut recording.observations.as_mut().expect("observed").host;
        host.first_mut().expect("samples").thermal_events = Some(3);
    });
}

/// Rules that no run on the available machine could trigger: two look for defects of iolab, one for
/// a processor without an invariant TSC, one for heat sensors, one for software RAIDs, which its
/// kernel lacks; one is about data that this machine would have to lose, and one about runs that
/// were ended early, of which none was kept.
const ONLY_EDITED: [&str; 7] =
    ["interrupted", "damaged-data", "array-not-whole", "littles-law", "bandwidth", "thermal", "clock"];

#[test]
fn nearly_every_rule_fires_in_a_real_run() {
    let is_real = |rule: &&str| EXPECTED.iter().any(|(_, found)| found.contains(rule));
    let edited: Vec<&str> = RULES.iter().map(|rule| rule.name).filter(|rule| !is_real(rule)).collect();
    assert_eq!(edited, ONLY_EDITED);
}

/// The levels before and after, and the time: as the limit was set, 1500 and 600 IOPS, after 6.5 s.
#[test]
fn a_cliff_is_told_where_it_was() {
    let findings = find(&recording("cliff"));
    let cliff = findings.iter().find(|finding| finding.rule == "cliff").expect("it has one");
    assert!(cliff.evidence.contains("from 1,4") || cliff.evidence.contains("from 1,5"), "{}", cliff.evidence);
    assert!(cliff.evidence.contains("to 600 IOPS (60 %) 6 s"), "{}", cliff.evidence);
}

#[test]
fn the_limit_that_cut_requests_is_named() {
    let split = |name: &str| {
        let findings = find(&recording(name));
        findings.into_iter().find(|finding| finding.rule == "requests-split").expect(name).evidence
    };
    // This recording does not have the other setting.
    assert!(split("large-read").ends_with("vda has max_sectors_kb=4096"), "{}", split("large-read"));
    let by_segments = "vda has max_sectors_kb=4096 and max_segments=254 (pieces of memory in one request)";
    assert!(split("many-segments").ends_with(by_segments), "{}", split("many-segments"));
}

#[test]
fn the_quota_is_named() {
    let findings = find(&recording("cpu-quota"));
    let quota = findings.iter().find(|finding| finding.rule == "cpu-quota").expect("it has one");
    let expected =
        "the CPU quota (20.0 ms of CPU time per 100 ms for control group /box) was used up in 37 of 40 periods";
    assert!(quota.evidence.starts_with(expected), "{}", quota.evidence);
}

/// Most of the I/O, or a part of it: the text says as much as was observed.
#[test]
fn how_much_came_from_the_page_cache_is_said() {
    let mut recording = recording("buffered-mix");
    let consequences = |recording: &Recording| {
        let findings = find(recording).into_iter().filter(|finding| finding.rule == "page-cache");
        findings.map(|finding| (finding.severity, finding.consequence)).collect::<Vec<_>>()
    };
    let seen = consequences(&recording);
    assert!(seen[0].1.starts_with("Most of this I/O came from the page cache: you measured RAM"), "{seen:?}");
    assert!(seen[1].1.starts_with("Most of these writes stopped in the page cache"), "{seen:?}");
    // Seven tenths of the reads reach the device.
    let read: u64 = recording.workers.iter().map(|worker| worker.directions[0].bytes).sum();
    let device = &mut recording.devices[0];
    device.after.read_sectors = device.before.read_sectors + read / 512 * 7 / 10;
    let seen = consequences(&recording);
    let milder = seen.iter().find(|(severity, _)| *severity == Severity::Warning).expect("a warning");
    assert!(milder.1.starts_with("Part of this I/O"), "{seen:?}");
}

#[test]
fn every_rule_fires_somewhere_and_is_silent_somewhere() {
    for rule in RULES {
        let in_table = EXPECTED.iter().filter(|(_, found)| found.contains(&rule.name)).count();
        let by_change = EDGES.iter().filter(|(name, ..)| *name == rule.name).count();
        assert!(in_table + by_change > 0, "{} fires nowhere", rule.name);
        assert!(in_table < EXPECTED.len(), "{} always fires", rule.name);
    }
}

#[test]
fn findings_that_void_the_figures_stand_first() {
    for (name, _) in EXPECTED {
        let severities: Vec<Severity> = find(&recording(name)).iter().map(|finding| finding.severity).collect();
        assert!(severities.is_sorted(), "{name}");
    }
    assert_eq!(find(&recording("buffered-mix"))[0].severity, Severity::Invalid);
}

#[test]
fn jobs_without_statistics_are_not_spoken_of() {
    let mut hidden = recording("synchronous-depth");
    hidden.plan.workers[0].measurement.stats = false;
    assert!(!rules_of(&hidden).iter().any(|rule| rule == "synchronous-engine"));
    assert!(limits(&hidden).is_empty());
}

#[test]
fn a_recording_of_nothing_has_nothing_to_say() {
    let mut empty = recording("direct-read");
    empty.workers[0] = iolab_recording::WorkerRecording::default();
    empty.observations = None;
    assert_eq!(find(&empty), []);
    assert!(limits(&empty).is_empty());
}

/// An answer that names the device while other tasks had the processors would contradict the
/// findings of the same run.
#[test]
fn what_limited_a_run_contradicts_none_of_its_findings() {
    let mut busy = 0;
    for (name, _) in EXPECTED {
        let recording = recording(name);
        let findings = find(&recording);
        for limit in limits(&recording) {
            let agrees = match limit.kind {
                BottleneckKind::Device
                | BottleneckKind::Latency
                | BottleneckKind::Processor
                | BottleneckKind::Unknown => !findings.iter().any(|finding| finding.rule == "host-busy"),
                _ => true,
            };
            assert!(agrees, "{name}: {limit:?}");
            busy += usize::from(limit.kind == BottleneckKind::Host);
            // Other severe findings are reported as well.
            for finding in findings.iter().filter(|one| one.severity <= Severity::Warning) {
                let is_about = finding.jobs.is_empty() || finding.jobs.contains(&limit.job);
                let is_told = limit
                    .evidence
                    .iter()
                    .any(|told| told.contains(&finding.evidence) || finding.evidence.contains(told.as_str()));
                assert!(!is_about || is_told, "{name}: {} is not in {limit:?}", finding.rule);
            }
        }
    }
    assert!(busy >= 3, "{busy} runs on busy machines");
}

#[test]
fn what_limited_a_run_is_said() {
    for (name, expected) in [
        ("buffered-mix", BottleneckKind::Cache),
        ("sparse-read", BottleneckKind::Cache),
        ("loop-cached", BottleneckKind::Cache),
        ("memory-file", BottleneckKind::Cache),
        ("null", BottleneckKind::Tool),
        ("paced", BottleneckKind::Schedule),
        ("zram-read", BottleneckKind::Processor),
        ("buffered-aio", BottleneckKind::Submission),
        ("direct-write", BottleneckKind::Latency),
        ("merged-read", BottleneckKind::Device),
        ("far-nbd", BottleneckKind::Network),
        ("narrow-nbd", BottleneckKind::Network),
        ("rbd-cached-read", BottleneckKind::Cache),
        ("nfs-names", BottleneckKind::Cache),
        ("queue-read", BottleneckKind::Host),
        ("overload", BottleneckKind::Host),
        ("fsync-write", BottleneckKind::Host),
    ] {
        let limits = limits(&recording(name));
        assert_eq!(limits.len(), 1, "{name}");
        assert_eq!(limits[0].kind, expected, "{name}: {limits:?}");
        assert!(limits[0].experiment.contains("iolab "), "{name}: {}", limits[0].experiment);
    }
}
