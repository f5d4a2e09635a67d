//! logfs compared with XFS and ext4: the same jobs, in turn, each file system on its own device of
//! the same kind.
//!
//! logfs is accessed by the engine `logfs`, the others by io_uring with `O_DIRECT`. All three use
//! this repository's program, so that the same loop takes the latencies. logfs reads with and
//! without comparing checksums, which the others do not have. As a check, the installed fio also
//! runs on the kernel's file systems, and jobs on XFS compare what they read with checksums, as
//! logfs does. Devices are RAM disks of the kernel, and loop devices over files. Only root can make
//! them: otherwise, logfs runs alone on a file.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::pairs::middle_ratio;
use super::sheet::Sheet;
use super::turns::{self, Entrant, Figures};
use super::{Bench, Size};
use crate::area::{Device, Mounted};
use crate::spread::{ratios, spread};

const COLUMNS: [&str; 5] = ["MB/s", "p50 us", "p95 us", "p99 us", "p99.9 us"];
/// Index of the figures with targets among the columns.
const P95: usize = 2;
const P999: usize = 4;
/// Rounds in each placement in which those without targets run, too.
const ROUNDS_OF_CHECKS: usize = 3;
/// Workers, each with a file of its own; logfs gives each a domain.
const WORKERS: u32 = 2;
const DEPTH: u32 = 10;

/// One kind of job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Case {
    name: &'static str,
    words: &'static str,
    /// Writes beyond the end of files that are made for it, once through.
    appends: bool,
}

/// Reads come first: each write to a RAM disk (zram) gets another page of memory, so that after
/// many writes a file's pages lie apart, if a log wrote them. The appends come last: they use the
/// file system alone.
const CASES: [Case; 5] = [
    Case { name: "sequential read 256 KiB", words: "--rw=read --bs=256k", appends: false },
    Case { name: "random read 256 KiB", words: "--rw=randread --bs=256k", appends: false },
    Case { name: "sequential write 128 KiB", words: "--rw=write --bs=128k --overwrite=1", appends: false },
    Case { name: "sequential write 4 KiB", words: "--rw=write --bs=4k --overwrite=1", appends: false },
    Case { name: "append 128 KiB", words: "--rw=write --bs=128k", appends: true },
];

/// Writes files whose blocks begin with the checksums of their content.
const WITH_SUMS: Case =
    Case { name: "blocks with checksums", words: "--rw=write --bs=256k --overwrite=1 --do_verify=0", appends: false };

/// A file system, who drives jobs on it, and where it is.
#[derive(Debug)]
struct Side<'a> {
    name: &'static str,
    program: &'a Path,
    place: Place<'a>,
    role: Role,
}

/// What the figures of a side are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Its latencies have targets.
    Judged,
    /// The targets are its latencies.
    Rival,
    /// Runs in a few rounds, without targets.
    Check,
}

#[derive(Debug)]
enum Place<'a> {
    Logfs(&'a Path),
    /// Its reads are not compared with checksums, as on the other file systems.
    Unverified(&'a Path),
    Folder(&'a Path),
    /// Files whose blocks have checksums, which the job compares, because the file system has none.
    Checked(&'a Path),
}

impl Side<'_> {
    /// Whether it differs from the others in this case: checksums are compared by reads only.
    fn suits(&self, case: Case) -> bool {
        !matches!(self.place, Place::Unverified(_) | Place::Checked(_)) || case.words.contains("read")
    }
}

/// How much each worker has.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    device: u64,
    file: u64,
    appended: u64,
}

impl Sizes {
    fn of(size: Size) -> Sizes {
        match size {
            Size::Small => Sizes { device: 96 << 20, file: 2 << 20, appended: 1 << 20 },
            Size::Real => Sizes { device: 4 << 30, file: 512 << 20, appended: 512 << 20 },
        }
    }
}

pub(super) fn run(bench: &Bench) -> Result<Sheet, String> {
    let mut sheet = Sheet::new("logfs", &COLUMNS);
    let sizes = Sizes::of(bench.size);
    if bench.size == Size::Small {
        sheet.skip("XFS and ext4: the small size needs no root");
        return alone(bench, sizes, sheet);
    }
    for kind in ["RAM disk", "loop device"] {
        let make = |name: &str| match kind {
            "RAM disk" => Device::ram_disk(sizes.device),
            _ => Device::over_a_file(&bench.folder, name, sizes.device),
        };
        match ["first", "second", "third"].map(make) {
            [Ok(first), Ok(second), Ok(third)] => on_devices(bench, kind, sizes, &[first, second, third], &mut sheet)?,
            made => {
                made.into_iter().filter_map(Result::err).take(1).for_each(|why| sheet.skip(format!("{kind}: {why}")))
            }
        }
    }
    if sheet.rows.is_empty() { alone(bench, sizes, sheet) } else { Ok(sheet) }
}

/// All cases, with each file system on each of the devices in turn: two devices of one kind may
/// differ more than two file systems.
fn on_devices(bench: &Bench, kind: &str, sizes: Sizes, devices: &[Device; 3], sheet: &mut Sheet) -> Result<(), String> {
    let rounds = bench.rounds.div_ceil(devices.len());
    let mut found: [Found; CASES.len()] = Default::default();
    for turn in 0..devices.len() {
        let [logfs, xfs, ext4] = [0, 1, 2].map(|place| &devices[(place + turn) % devices.len()]);
        let xfs = Mounted::new("mkfs.xfs", &["-q", "-f", "-K"], xfs)?;
        let options = ["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"];
        let ext4 = Mounted::new("mkfs.ext4", &options, ext4)?;
        let sides = sides(bench, &logfs.path, [xfs.folder(), ext4.folder()]);
        for (case, found) in CASES.into_iter().zip(&mut found) {
            println!("{kind}, placement {} of {}, {}", turn + 1, devices.len(), case.name);
            let schedule = Schedule { rounds, runtime_ms: bench.runtime_ms, first: turn };
            measure(case, sizes, schedule, &sides, found)?;
        }
    }
    CASES.iter().zip(&found).for_each(|(case, found)| judge(&format!("{kind}, {}", case.name), found, sheet));
    Ok(())
}

fn sides<'a>(bench: &'a Bench, device: &'a Path, [xfs, ext4]: [&'a Path; 2]) -> Vec<Side<'a>> {
    let side = |name, program, place, role| Side { name, program, place, role };
    let (iolab, fio) = (bench.iolab.as_path(), Path::new("fio"));
    vec![
        side("iolab, logfs", iolab, Place::Logfs(device), Role::Judged),
        side("iolab, XFS", iolab, Place::Folder(xfs), Role::Rival),
        side("iolab, ext4", iolab, Place::Folder(ext4), Role::Rival),
        side("iolab, logfs without checksums", iolab, Place::Unverified(device), Role::Judged),
        side("iolab, XFS with checksums", iolab, Place::Checked(xfs), Role::Check),
        side("fio, XFS", fio, Place::Folder(xfs), Role::Check),
        side("fio, ext4", fio, Place::Folder(ext4), Role::Check),
    ]
}

/// logfs on a plain file.
fn alone(bench: &Bench, sizes: Sizes, mut sheet: Sheet) -> Result<Sheet, String> {
    let folder = tempfile::tempdir_in(&bench.folder).map_err(|error| error.to_string())?;
    let image = folder.path().join("image.img");
    let file = std::fs::File::create(&image).map_err(|error| error.to_string())?;
    file.set_len(sizes.device).map_err(|error| error.to_string())?;
    let side = Side { name: "iolab, logfs", program: &bench.iolab, place: Place::Logfs(&image), role: Role::Judged };
    let sides = [side];
    for case in CASES {
        let mut found = Found::default();
        println!("file, {}", case.name);
        let schedule = Schedule { rounds: bench.rounds, runtime_ms: bench.runtime_ms, first: 0 };
        measure(case, sizes, schedule, &sides, &mut found)?;
        judge(&format!("file, {}", case.name), &found, &mut sheet);
    }
    Ok(sheet)
}

/// What the sides of one case have shown.
type Found = Vec<(&'static str, Role, Figures)>;

/// How often and for how long each side runs in one placement.
#[derive(Debug, Clone, Copy)]
struct Schedule {
    rounds: usize,
    runtime_ms: u64,
    /// Index of the side that lays out its files first. It gets other pages of the memory than the
    /// others, and reads them faster or slower.
    first: usize,
}

/// Lets all sides take turns at one case, and adds what they show.
fn measure(case: Case, sizes: Sizes, schedule: Schedule, sides: &[Side<'_>], found: &mut Found) -> Result<(), String> {
    let Schedule { rounds, runtime_ms, first } = schedule;
    let sides: Vec<&Side<'_>> = sides.iter().filter(|side| side.suits(case)).collect();
    // Runs that do not count lay out the files and make the file system.
    for side in sides.iter().filter(|side| matches!(side.place, Place::Checked(_))) {
        perform(side, WITH_SUMS, sizes, 0, false)?;
    }
    let has_files = |side: &&&Side<'_>| matches!(side.place, Place::Logfs(_)) || side.role == Role::Rival;
    let laid_out: Vec<&&Side<'_>> = sides.iter().filter(has_files).collect();
    for side in laid_out.iter().cycle().skip(first).take(laid_out.len()) {
        perform(side, case, sizes, 30, case == CASES[0])?;
    }
    if found.is_empty() {
        found.extend(sides.iter().map(|side| (side.name, side.role, vec![Vec::new(); COLUMNS.len()])));
    }
    let checked = rounds.min(ROUNDS_OF_CHECKS);
    for (rounds, with_checks) in [(checked, true), (rounds - checked, false)] {
        // Checks are the last of the sides, so that those without them are the first of `found`.
        let takes_part = |side: &&Side<'_>| with_checks || side.role != Role::Check;
        let run = |side| Entrant::new(side_name(side), move || perform(side, case, sizes, runtime_ms, false));
        let entrants: Vec<Entrant<'_>> = sides.iter().copied().filter(takes_part).map(run).collect();
        for ((_, _, figures), taken) in found.iter_mut().zip(turns::take(&entrants, rounds)?) {
            figures.iter_mut().zip(taken).for_each(|(figure, values)| figure.extend(values));
        }
    }
    Ok(())
}

/// Fills the sheet with what one case has shown.
fn judge(name: &str, found: &Found, sheet: &mut Sheet) {
    for (side, _, figures) in found {
        sheet.row(name, side, figures.iter().map(|values| Some(spread(values))).collect());
    }
    let of_role = |wanted| found.iter().filter(move |(_, role, _)| *role == wanted);
    let short = |side: &'static str| side.trim_start_matches("iolab, ");
    for (judged, _, ours) in of_role(Role::Judged) {
        for (rival, _, theirs) in of_role(Role::Rival) {
            for (what, column) in [("p99.9", P999), ("p95", P95)] {
                let ratio = middle_ratio(&ratios(&ours[column], &theirs[column]));
                let target = format!("{name}: {what} of {} by that of {}", short(judged), short(rival));
                sheet.target_of_ratio(target, ratio);
            }
        }
    }
}

fn side_name(side: &Side<'_>) -> String {
    side.name.to_owned()
}

/// One run of this many milliseconds, or of all files if they are 0: its figures.
fn perform(side: &Side<'_>, case: Case, sizes: Sizes, ms: u64, makes: bool) -> Result<Vec<f64>, String> {
    let mut words = format!(
        "--numjobs={WORKERS} --iodepth={DEPTH} --group_reporting --lat_percentiles=1 --output-format=json --direct=1 {}",
        case.words
    );
    if case.appends {
        words += &format!(" --name=appended --size={}", sizes.appended);
    } else {
        let name = if matches!(side.place, Place::Checked(_)) { "checked" } else { "file" };
        words += &format!(" --name={name} --size={}", sizes.file);
        if ms > 0 {
            words += &format!(" --time_based --runtime={ms}ms");
        }
    }
    let mut arguments: Vec<String> = words.split(' ').map(str::to_owned).collect();
    match side.place {
        Place::Logfs(device) | Place::Unverified(device) => {
            if matches!(side.place, Place::Unverified(_)) {
                arguments.push("--logfs_verify=0".to_owned());
            }
            arguments.extend(["--ioengine=logfs".to_owned(), format!("--logfs_device={}", device.display())]);
            if makes || case.appends {
                arguments.extend(["--logfs_mkfs=1".to_owned(), format!("--logfs_domains={WORKERS}")]);
            }
            if case.appends {
                arguments.push("--logfs_layout=0".to_owned());
            }
        }
        Place::Folder(folder) | Place::Checked(folder) => {
            arguments.extend(["--ioengine=io_uring".to_owned(), format!("--directory={}", folder.display())]);
            if matches!(side.place, Place::Checked(_)) {
                arguments.push("--verify=crc32c".to_owned());
            }
            if case.appends {
                arguments.extend(["--fallocate=none", "--create_on_open=1", "--unlink=1"].map(str::to_owned));
            }
        }
    }
    let output = Command::new(side.program).args(&arguments).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("{} {}: {}", side.name, arguments.join(" "), String::from_utf8_lossy(&output.stderr)));
    }
    figures(&String::from_utf8_lossy(&output.stdout))
}

/// The figures of a report, in the order of the columns. Latencies are those of whole operations:
/// a device that transfers during submission would otherwise be fast for whoever takes the time
/// after it.
fn figures(report: &str) -> Result<Vec<f64>, String> {
    let start = report.find('{').ok_or("a report without JSON")?;
    let value: Value = serde_json::from_str(&report[start..]).map_err(|error| error.to_string())?;
    let job = &value["jobs"][0];
    let side = ["read", "write"].into_iter().map(|side| &job[side]).find(|side| side["total_ios"].as_u64() > Some(0));
    let side = side.ok_or("a report without operations")?;
    let percentile = |name: &str| side["lat_ns"]["percentile"][name].as_f64().map(|ns| ns / 1e3);
    let all = [
        side["bw_bytes"].as_f64().map(|bytes| bytes / 1e6),
        percentile("50.000000"),
        percentile("95.000000"),
        percentile("99.000000"),
        percentile("99.900000"),
    ];
    all.into_iter().collect::<Option<Vec<f64>>>().ok_or("a report without percentiles".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read() {
        let latencies = r#"{"percentile":{"50.000000":1000,"95.000000":2000,"99.000000":3000,"99.900000":4000}}"#;
        let report = format!(
            r#"a note {{"jobs":[{{"read":{{"total_ios":0}},"write":{{"total_ios":7,"bw_bytes":5000000,"lat_ns":{latencies}}}}}]}}"#
        );
        assert_eq!(figures(&report), Ok(vec![5.0, 1.0, 2.0, 3.0, 4.0]));
        assert!(figures("{}").is_err() && figures("nothing").is_err());
    }
}
