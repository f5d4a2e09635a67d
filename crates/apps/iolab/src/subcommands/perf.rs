//! `iolab perf`: SPDK perf's command line, as a job for the common runner.
//!
//! Each core of the mask becomes a job on that core. As in SPDK perf, devices are assigned to the
//! cores in turn, until each core has a device and each device has a core; with `--use-every-core`,
//! every core drives all devices. Each device has depth `-q` and `-P` queue pairs. Features that
//! SPDK perf does not have are named as in job files.

mod spdk_words;

use iolab_report::PerfDetail;
use iolab_resolve::Mode;

use crate::arguments::PerfArguments;
use crate::exit::ExitFailure;
use crate::outcomes;
use crate::output::Format;
use crate::subcommands::run;
use crate::{pipeline, subcommands};

pub(crate) use spdk_words::SpdkWords;

pub(crate) fn main(arguments: &PerfArguments) -> Result<u8, ExitFailure> {
    let words = words(arguments)?;
    arguments.spdk.without_effect().iter().for_each(|note| eprintln!("iolab: {note}"));
    let asked = subcommands::run::take_apart(&words, Mode::Iolab)?;
    let planned = pipeline::plan(&asked, Mode::Iolab)?;
    run::show_warnings(&planned);
    let format = if arguments.json { Format::Json } else { Format::Perf(detail(arguments)) };
    let recording = run::execute_as(&planned, &asked.run, Mode::Iolab, Some(format))?;
    outcomes::show_outcomes(&recording, "iolab");
    Ok(outcomes::exit_code(&recording, Mode::Iolab))
}

fn detail(arguments: &PerfArguments) -> PerfDetail {
    match arguments.latency {
        0 => PerfDetail::Table,
        1 => PerfDetail::Percentiles,
        _ => PerfDetail::Histograms,
    }
}

/// The job, as arguments of `iolab run`.
fn words(arguments: &PerfArguments) -> Result<Vec<String>, ExitFailure> {
    let mistake = |text: &str| ExitFailure::mistake(format!("iolab: {text}"));
    let cores = cores(&arguments.core_mask).ok_or_else(|| {
        mistake(&format!("-c {} is not a core mask: use bits (0xF) or a list ([0,2-3])", arguments.core_mask))
    })?;
    if arguments.io_count.is_none() && arguments.seconds.is_none() {
        return Err(mistake("set the length of the run: -t SECONDS or -d OPERATIONS"));
    }
    let mixes = ["rw", "randrw"].contains(&arguments.pattern.as_str());
    if mixes != arguments.read_share.is_some() {
        let text = if mixes { "-w rw and -w randrw need -M, the share of reads" } else { "-M is for rw and randrw" };
        return Err(mistake(text));
    }
    if let Some(refusal) = arguments.spdk.refusal() {
        return Err(mistake(&refusal));
    }
    let devices = devices(arguments);
    if devices.is_empty() {
        return Err(mistake("no device: name one with -r 'trtype:VIRT model:nand size:1G', or a path"));
    }
    let mut words: Vec<String> = Vec::new();
    for (place, core) in cores.iter().enumerate() {
        let own = dealt(&devices, place, cores.len(), arguments.use_every_core);
        words.push(format!("--name=core{core}"));
        words.push(format!("--cpus_allowed={core}"));
        words.extend(job(arguments, &own));
    }
    words.extend(arguments.allow_destroy.iter().map(|target| format!("--allow-destroy={target}")));
    if let Some(record) = &arguments.record {
        words.push(format!("--record={}", record.display()));
    }
    if arguments.force {
        words.push("--force".to_owned());
    }
    Ok(words)
}

/// File names as in job files: a colon separates names, so colons within a name are escaped.
fn devices(arguments: &PerfArguments) -> Vec<String> {
    let (header, data) = (arguments.enable_tcp_hdgst, arguments.enable_tcp_ddgst);
    let digest = match (header, data) {
        (false, false) => None,
        (true, false) => Some("header"),
        (false, true) => Some("data"),
        (true, true) => Some("both"),
    };
    let digest = digest.map(|digest| format!(" digest:{digest}")).unwrap_or_default();
    let mut secrets = String::new();
    for (key, path) in [("dhchap_secret", &arguments.dhchap_key), ("dhchap_ctrl_secret", &arguments.dhchap_ctrlr_key)] {
        if let Some(path) = path {
            secrets += &format!(" {key}:{}", path.display());
        }
    }
    let with_more = |name: &String| match transport(name).as_deref() {
        Some("tcp") => format!("{name}{digest}{secrets}"),
        Some("rdma") => format!("{name}{secrets}"),
        _ => name.clone(),
    };
    let transports = arguments.transports.iter().map(|name| with_more(&whole(name)));
    transports.chain(arguments.paths.iter().cloned()).map(|name| name.replace(':', "\\:")).collect()
}

/// A bare word is the name of a created device.
fn whole(name: &str) -> String {
    if name.contains([':', '=', ' ']) { name.to_owned() } else { format!("trtype:VIRT traddr:{name}") }
}

/// The transport of a device, in lower case.
fn transport(name: &str) -> Option<String> {
    name.split_whitespace().find_map(|word| {
        let (key, value) = word.split_once([':', '='])?;
        key.eq_ignore_ascii_case("trtype").then(|| value.to_ascii_lowercase())
    })
}

/// The devices of the core with number `place`, of `cores` cores.
fn dealt(devices: &[String], place: usize, cores: usize, every_core: bool) -> Vec<String> {
    if every_core {
        return devices.to_vec();
    }
    let turns = devices.len().max(cores);
    (place..turns).step_by(cores).map(|turn| devices[turn % devices.len()].clone()).collect()
}

fn job(arguments: &PerfArguments, devices: &[String]) -> Vec<String> {
    let engine = match (arguments.transports.is_empty(), arguments.uring) {
        (false, _) => "nvme",
        (true, true) => "io_uring",
        (true, false) => "libaio",
    };
    let pairs = arguments.queue_pairs;
    let depth = u64::from(arguments.depth) * u64::from(pairs) * devices.len() as u64;
    let mut words = vec![
        format!("--ioengine={engine}"),
        format!("--filename={}", devices.join(":")),
        format!("--nrfiles={}", devices.len()),
        "--file_service_type=roundrobin".into(),
        format!("--rw={}", arguments.pattern),
        format!("--iodepth={depth}"),
        "--direct=1".into(),
        "--thread".into(),
        "--norandommap".into(),
        "--group_reporting=0".into(),
    ];
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("--{name}={value}")));
    };
    match &arguments.block_mix {
        Some(mix) => option("bssplit", Some(mix.clone())),
        None => option("bs", Some(arguments.io_size.clone())),
    }
    option("queue_pairs", (engine == "nvme" && pairs > 1).then(|| pairs.to_string()));
    option("queue_size", arguments.queue_size.map(|size| size.to_string()).filter(|_| engine == "nvme"));
    option("wait", (arguments.interrupt && engine == "nvme").then(|| "interrupt".into()));
    option("iodepth_batch_complete_max", arguments.most_completions.map(|most| most.to_string()));
    option("continue_on_error", arguments.continue_on_error.map(|_| "all".into()));
    option("rwmixread", arguments.read_share.map(|share| share.to_string()));
    option("time_based", arguments.seconds.map(|_| "1".into()));
    option("runtime", arguments.seconds.map(|seconds| format!("{seconds}s")));
    option("ramp_time", arguments.warm_up.map(|seconds| format!("{seconds}s")));
    option("number_ios", arguments.io_count.map(|count| (count * devices.len() as u64).to_string()));
    option("random_distribution", arguments.zipf.map(|theta| format!("zipf:{theta}")));
    option("rate_iops", arguments.rate.map(|rate| rate.to_string()));
    option("rate_process", arguments.poisson.then(|| "poisson".into()));
    option("randseed", arguments.seed.map(|seed| seed.to_string()));
    option("fsync", arguments.flush_every.map(|count| count.to_string()));
    option("interval", arguments.interval.clone());
    option("per_file_stats", (devices.len() > 1).then(|| "1".into()));
    words
}

/// Parses cores from a mask (`0xF`) or a list (`[0,2-3]`), as SPDK does.
fn cores(text: &str) -> Option<Vec<usize>> {
    let cores: Vec<usize> = match text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(list) => {
            let mut cores = Vec::new();
            for part in list.split(',') {
                let (first, last) = part.split_once('-').unwrap_or((part, part));
                let (first, last): (usize, usize) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
                if last < first || last > 4095 {
                    return None;
                }
                cores.extend(first..=last);
            }
            cores
        }
        None => {
            let digits = text.strip_prefix("0x").or(text.strip_prefix("0X")).unwrap_or(text);
            let mask = u128::from_str_radix(digits, 16).ok()?;
            (0..128).filter(|core| mask >> core & 1 == 1).collect()
        }
    };
    (!cores.is_empty()).then_some(cores)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        perf: PerfArguments,
    }

    fn of(line: &str) -> Result<String, String> {
        let parsed = Line::try_parse_from(line.split('|')).map_err(|error| error.to_string())?;
        words(&parsed.perf).map(|words| words.join(" ")).map_err(|failure| failure.message)
    }

    #[test]
    fn core_masks_and_lists() {
        for (text, expected) in
            [("0x1", vec![0]), ("F", vec![0, 1, 2, 3]), ("0xA", vec![1, 3]), ("[0,2-3]", vec![0, 2, 3])]
        {
            assert_eq!(cores(text), Some(expected), "{text}");
        }
        for text in ["", "0", "0xG", "[]", "[3-1]", "[0"] {
            assert_eq!(cores(text), None, "{text}");
        }
    }

    #[test]
    fn the_command_line_of_the_documents_becomes_a_job_for_each_core() {
        let words = of("perf|-q|32|-s|4096|-w|randwrite|-t|1200|-c|0x3|-r|trtype:PCIe traddr:0000:06:00.0").unwrap();
        assert_eq!(words.matches("--name=core").count(), 2);
        for expected in [
            "--name=core1 --cpus_allowed=1",
            "--ioengine=nvme",
            "--filename=trtype\\:PCIe traddr\\:0000\\:06\\:00.0",
            "--rw=randwrite",
            "--iodepth=32",
            "--bs=4096",
            "--runtime=1200s",
        ] {
            assert!(words.contains(expected), "{expected} in {words}");
        }
    }

    #[test]
    fn several_devices_share_a_core_and_each_has_its_depth() {
        let words = of("perf|-q|8|-P|2|-o|4k|-w|randrw|-M|70|-a|2|-d|100|-F|1.1|-r|trtype:VIRT a:1|-r|trtype:VIRT a:2")
            .unwrap();
        for expected in [
            "--iodepth=32",
            "--nrfiles=2",
            "--queue_pairs=2",
            "--rwmixread=70",
            "--ramp_time=2s",
            "--number_ios=200",
            "--random_distribution=zipf:1.1",
        ] {
            assert!(words.contains(expected), "{expected} in {words}");
        }
        let bare = of("perf|-q|1|-o|4k|-w|read|-t|1|-r|fast").unwrap();
        assert!(bare.contains("--filename=trtype\\:VIRT traddr\\:fast"), "{bare}");
        let kernel = of("perf|-q|1|-o|4k|-w|read|-t|1|-R|/dev/zram0").unwrap();
        assert!(kernel.contains("--ioengine=io_uring") && kernel.contains("--filename=/dev/zram0"), "{kernel}");
    }

    #[test]
    fn devices_are_dealt_out_over_the_cores() {
        let names = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>();
        for (devices, cores, expected) in [
            (4, 1, vec!["0123"]),
            (4, 2, vec!["02", "13"]),
            (1, 3, vec!["0", "0", "0"]),
            (3, 2, vec!["02", "1"]),
            (2, 3, vec!["0", "1", "0"]),
        ] {
            let dealt: Vec<String> =
                (0..cores).map(|place| dealt(&names(devices), place, cores, false).concat()).collect();
            assert_eq!(dealt, expected, "{devices} devices, {cores} cores");
        }
        assert_eq!(dealt(&names(3), 1, 2, true).concat(), "012");
        let words = of("perf|-q|4|-o|4k|-w|read|-t|1|-c|0x3|-r|trtype:VIRT a:1|-r|trtype:VIRT a:2").unwrap();
        assert_eq!(words.matches("--iodepth=4").count(), 2, "{words}");
        assert!(!words.contains("per_file_stats"), "{words}");
        let words =
            of("perf|-q|4|-o|4k|-w|read|-t|1|-c|0x3|--use-every-core|-r|trtype:VIRT a:1|-r|trtype:VIRT a:2").unwrap();
        assert_eq!(words.matches("--iodepth=8").count(), 2, "{words}");
        assert_eq!(words.matches("--per_file_stats=1").count(), 2, "{words}");
    }

    #[test]
    fn words_of_spdk_run_or_say_why_not() {
        let line = "perf|-q|4|-o|4k|-w|read|-t|1|-H|-I|-C|8|-E|-Q|-r|trtype:TCP traddr:1.2.3.4|-r|trtype:VIRT a:2";
        let words = of(line).unwrap();
        for expected in [
            "--filename=trtype\\:TCP traddr\\:1.2.3.4 digest\\:both:trtype\\:VIRT a\\:2 ",
            "--iodepth_batch_complete_max=8",
            "--wait=interrupt",
            "--continue_on_error=all",
        ] {
            assert!(words.contains(expected), "{expected} in {words}");
        }
        for (word, said) in [
            ("-O|512", "-O"),
            ("-A|8192", "-A"),
            ("-i|1", "-i"),
            ("-e|PRACT=1", "-e"),
            ("-b|0000:06:00.0", "-r 'trtype:PCIe"),
            ("-V", "VMD"),
            ("-S|ssl", "-S"),
            ("-k|1000", "-k"),
            ("-l", "-L"),
            ("--tos|1", "RDMA"),
        ] {
            let message = of(&format!("perf|-q|1|-o|4k|-w|read|-t|1|-r|trtype:VIRT|{word}")).unwrap_err();
            assert!(message.contains(said), "{word}: {message}");
        }
        let line = "perf|-q|1|-o|4k|-w|read|-t|1|-r|trtype:VIRT|-g|-D|-A|4096|-N|-T|all|-m|-U|2|-Z|1";
        let parsed = Line::try_parse_from(line.split('|')).unwrap();
        assert_eq!(parsed.perf.spdk.refusal(), None);
        assert_eq!(parsed.perf.spdk.without_effect().len(), 7);
    }

    #[test]
    fn mistakes_are_named() {
        let cases = [
            ("perf|-q|1|-o|4k|-w|read|-r|trtype:VIRT", "set the length of the run"),
            ("perf|-q|1|-o|4k|-w|rw|-t|1|-r|trtype:VIRT", "-M"),
            ("perf|-q|1|-o|4k|-w|read|-M|5|-t|1|-r|trtype:VIRT", "-M"),
            ("perf|-q|1|-o|4k|-w|read|-t|1", "no device"),
            ("perf|-q|1|-o|4k|-w|read|-t|1|-c|zz|-r|trtype:VIRT", "core mask"),
            ("perf|-q|1|-o|4k|-w|sideways|-t|1|-r|trtype:VIRT", "sideways"),
        ];
        for (line, expected) in cases {
            let message = of(line).unwrap_err();
            assert!(message.contains(expected), "{line}: {message}");
        }
    }
}
