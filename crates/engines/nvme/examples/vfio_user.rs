//! The cost of vfio-user compared with the project's own link to served devices: one virtual SSD in
//! its own process, one dispatcher, 4 KiB reads of a device that keeps nothing, in turns.
//!
//! `vfio_user [cpus=DRIVER,DEVICE] [rounds=N] [ms=N] [reads=N]`: by default on the first two
//! processors that it may use. A line has path, depth, unit, and the median of all rounds with the
//! lowest and the highest in brackets. The last lines are the ratios of vfio-user to the link,
//! round by round.
#![allow(clippy::print_stdout, reason = "an example prints its result")]

mod load;

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use iolab_clock::Clock;
use iolab_device_link::{RunningDrive, ServeOptions, listen};
use iolab_vfio_user::VfioUserServer;
use iolab_virtual_ssd::{Config, Subsystem};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use load::{End, Load, quantile};

const DEPTHS: [u16; 3] = [1, 32, 128];
const PATHS: [&str; 2] = ["link", "vfio-user"];

/// The parameters of the command line.
#[derive(Debug)]
struct Wanted {
    driver_cpu: usize,
    device_cpu: usize,
    rounds: usize,
    for_ns: u64,
    reads: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [serve, folder, cpu] = words.as_slice()
        && serve == "serve"
    {
        return serve_both(Path::new(folder), cpu.parse()?);
    }
    let wanted = wanted(&words)?;
    let mut driver = CpuSet::new();
    driver.set(wanted.driver_cpu);
    let folder = std::env::temp_dir().join(format!("iolab-vfio-user-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let served = Server::start(&folder, wanted.device_cpu)?;
    sched_setaffinity(None, &driver)?;
    let measured = measure(&wanted, &folder);
    drop(served);
    std::fs::remove_dir_all(&folder)?;
    measured
}

fn wanted(words: &[String]) -> Result<Wanted, Box<dyn Error>> {
    let allowed = sched_getaffinity(None)?;
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let (Some(driver_cpu), Some(device_cpu)) = (cpus.next(), cpus.next()) else {
        return Err("driver and device need a processor each, and there is only one".into());
    };
    let mut wanted = Wanted { driver_cpu, device_cpu, rounds: 15, for_ns: 100_000_000, reads: 50_000 };
    for word in words {
        let (name, value) = word.split_once('=').ok_or("words are name=value, see the head of the source")?;
        match name {
            "cpus" => {
                let (driver, device) = value.split_once(',').ok_or("cpus=DRIVER,DEVICE")?;
                (wanted.driver_cpu, wanted.device_cpu) = (driver.parse()?, device.parse()?);
            }
            "rounds" => wanted.rounds = value.parse::<usize>()?.max(1),
            "ms" => wanted.for_ns = value.parse::<u64>()? * 1_000_000,
            "reads" => wanted.reads = value.parse()?,
            _ => return Err(format!("{name} is no word, see the head of the source").into()),
        }
    }
    Ok(wanted)
}

/// The device's process: serves both sockets until its standard input ends.
fn serve_both(folder: &Path, cpu: usize) -> Result<(), Box<dyn Error>> {
    let drive = Subsystem::new(Config::parse("size=1G media=null lba=4k")?)?;
    let options = ServeOptions { dispatchers: 1, cpus: vec![cpu], ..ServeOptions::default() };
    let drive = RunningDrive::start("cost", &drive, &Clock::best().0, &options)?;
    let link = listen(&socket(folder, PATHS[0]), &drive)?;
    let functions = VfioUserServer::start(&socket(folder, PATHS[1]), drive.functions())?;
    println!("ready");
    std::io::stdin().read_line(&mut String::new())?;
    drop((link, functions));
    Ok(())
}

fn socket(folder: &Path, path: &str) -> PathBuf {
    folder.join(format!("{path}.sock"))
}

/// The device's process, which ends with its standard input.
struct Server(Child);

impl Server {
    fn start(folder: &Path, cpu: usize) -> Result<Server, Box<dyn Error>> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .arg(folder)
            .arg(cpu.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let said = child.stdout.take().ok_or("no output")?;
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line)?;
        if line == "ready\n" { Ok(Server(child)) } else { Err("the device's process did not start".into()) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It ends by itself; its exit status does not matter.
        let _ = self.0.wait();
    }
}

fn measure(wanted: &Wanted, folder: &Path) -> Result<(), Box<dyn Error>> {
    let names = PATHS.map(|path| {
        let kind = if path == "link" { "VIRT" } else { "VFIOUSER" };
        format!("trtype={kind} traddr={}", socket(folder, path).display())
    });
    for depth in DEPTHS {
        let mut rates = [Vec::new(), Vec::new()];
        for round in 0..wanted.rounds {
            for turn in 0..2 {
                // The first of the two changes from round to round.
                let which = (turn + round) % 2;
                let (reads, spent_ns) = Load::on(&names[which], depth)?.reads(End::AfterNs(wanted.for_ns))?;
                rates[which].push(reads as f64 * 1e9 / spent_ns as f64);
            }
        }
        print(depth, "IOPS", &rates);
    }
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..wanted.rounds {
        for turn in 0..2 {
            let which = (turn + round) % 2;
            let mut all = Vec::new();
            Load::on(&names[which], 1)?.one_by_one(wanted.reads, |_, start_ns, end_ns| all.push(end_ns - start_ns))?;
            times[which].push(quantile(&mut all, 0.5) as f64);
        }
    }
    print(1, "p50 ns", &times);
    Ok(())
}

fn print(depth: u16, unit: &str, values: &[Vec<f64>; 2]) {
    let line = |name: &str, mut values: Vec<f64>, digits: usize| {
        values.sort_unstable_by(f64::total_cmp);
        let (low, high) = (values[0], values[values.len() - 1]);
        println!(
            "{name}\tdepth {depth}\t{unit}\t{:.digits$} [{low:.digits$} {high:.digits$}]",
            values[values.len() / 2]
        );
    };
    for (name, values) in PATHS.iter().zip(values) {
        line(name, values.clone(), 0);
    }
    let ratios = values[1].iter().zip(&values[0]).map(|(one, other)| one / other).collect();
    line("ratio", ratios, 3);
}
