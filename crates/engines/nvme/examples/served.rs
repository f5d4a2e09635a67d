//! A virtual SSD served by one processor to a driver on another, over shared memory: reads per
//! second, the time of one, and how late completions are.
//!
//! `served [cpus=DRIVER,DEVICE] [ms=N] [reads=N] [size=BYTES]`: by default on the first two
//! processors that it may use. A line has shape, unit and value, separated by tabs.
//!
//! Lateness is measured for a drive of the simple model, against the same model evaluated at the
//! time of submission. So it includes the way of the command to the device and of the completion
//! back, and is never less than the device's own.
#![allow(clippy::print_stdout, reason = "an example prints its result")]

mod load;

use std::error::Error;

use iolab_clock::Clock;
use iolab_device_link::{ServeOptions, Service, serve};
use iolab_ssd_timing::{Capacity, CompletionTime, TimedCommand, TimingModel};
use iolab_virtual_ssd::{Config, Subsystem};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use load::{BYTES, End, Load, quantile};

/// Tolerated lateness of a completion.
const AWAY_NS: u64 = 2_000;

/// The parameters of the command line.
#[derive(Debug)]
struct Wanted {
    driver_cpu: usize,
    device_cpu: usize,
    for_ns: u64,
    /// Reads that are timed one by one.
    reads: u64,
    size: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let allowed = sched_getaffinity(None)?;
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    let (Some(driver_cpu), Some(device_cpu)) = (cpus.next(), cpus.next()) else {
        return Err("driver and device need a processor each, and there is only one".into());
    };
    let mut wanted = Wanted { driver_cpu, device_cpu, for_ns: 200_000_000, reads: 200_000, size: "256M".to_owned() };
    for word in std::env::args().skip(1) {
        let (name, value) = word.split_once('=').ok_or("words are name=value, see the head of the source")?;
        match name {
            "cpus" => {
                let (driver, device) = value.split_once(',').ok_or("cpus=DRIVER,DEVICE")?;
                (wanted.driver_cpu, wanted.device_cpu) = (driver.parse()?, device.parse()?);
            }
            "ms" => wanted.for_ns = value.parse::<u64>()? * 1_000_000,
            "reads" => wanted.reads = value.parse()?,
            "size" => wanted.size = value.to_owned(),
            _ => return Err(format!("{name} is no word, see the head of the source").into()),
        }
    }
    let mut driver = CpuSet::new();
    driver.set(wanted.driver_cpu);
    sched_setaffinity(None, &driver)?;
    for media in ["null", "ram"] {
        let parameters = format!("size={} media={media} populate=yes lba=4k", wanted.size);
        let (_service, name) = served(&parameters, wanted.device_cpu)?;
        for depth in [1, 4, 32, 128] {
            let mut load = Load::on(&name, depth)?;
            load.lay_out()?;
            let (reads, spent_ns) = load.reads(End::AfterNs(wanted.for_ns))?;
            let iops = reads as f64 * 1e9 / spent_ns as f64;
            println!("served media={media} model=ideal depth={depth}\tIOPS\t{iops:.0}");
        }
        let mut times = Vec::new();
        Load::on(&name, 1)?.one_by_one(wanted.reads, |_, start_ns, end_ns| times.push(end_ns - start_ns))?;
        print_times(&format!("served media={media} model=ideal depth=1"), "ns", &mut times);
    }
    lateness(&wanted)?;
    absence(&wanted)
}

/// Serves the device until the returned service is dropped.
fn served(parameters: &str, cpu: usize) -> Result<(Service, String), Box<dyn Error>> {
    let socket = std::env::temp_dir().join(format!("iolab-served-{}.sock", std::process::id()));
    let drive = Subsystem::new(Config::parse(parameters)?)?;
    let options = ServeOptions { dispatchers: 1, cpus: vec![cpu], ..ServeOptions::default() };
    let service = serve(&socket, "cost", &drive, &Clock::best().0, &options)?;
    Ok((service, format!("trtype=VIRT traddr={}", socket.display())))
}

fn lateness(wanted: &Wanted) -> Result<(), Box<dyn Error>> {
    let parameters = format!("size={} media=null model=simple lba=4k", wanted.size);
    let config = Config::parse(&parameters)?;
    // A drive of this model answers within a few microseconds to tens of them: a tenth of the reads
    // suffices.
    let reads = (wanted.reads / 10).max(1);
    for place in ["inline", "served"] {
        let mut model = TimingModel::build(&config.timing, Capacity::Visible(config.size_bytes))?;
        let mut late = Vec::new();
        let mut each = |offset_bytes: u64, start_ns: u64, end_ns: u64| {
            if let CompletionTime::At(target_ns) =
                model.schedule(start_ns, &TimedCommand::read(offset_bytes, BYTES.into()))
            {
                late.push(end_ns.saturating_sub(target_ns));
            }
        };
        if place == "inline" {
            Load::inline(&parameters, &Clock::best().0, 1)?.one_by_one(reads, &mut each)?;
        } else {
            let (_service, name) = served(&parameters, wanted.device_cpu)?;
            Load::on(&name, 1)?.one_by_one(reads, &mut each)?;
        }
        print_times(&format!("{place} media=null model=simple depth=1"), "late ns", &mut late);
    }
    Ok(())
}

/// Measures both processors at once, with a thread on each that only reads the clock.
fn absence(wanted: &Wanted) -> Result<(), Box<dyn Error>> {
    let clock = Clock::best().0;
    let away = |cpu: usize| -> rustix::io::Result<f64> {
        let mut here = CpuSet::new();
        here.set(cpu);
        sched_setaffinity(None, &here)?;
        Ok(away_share(&clock, wanted.for_ns))
    };
    let (driver, device) = std::thread::scope(|scope| {
        let device = scope.spawn(|| away(wanted.device_cpu));
        (away(wanted.driver_cpu), device.join())
    });
    println!("a thread that only looks at the clock, driver's processor\taway %\t{:.3}", driver? * 100.0);
    let device = device.map_err(|_| "the device's thread panicked")??;
    println!("a thread that only looks at the clock, device's processor\taway %\t{:.3}", device * 100.0);
    Ok(())
}

/// The share of all moments from which the next reading of the clock is more than [`AWAY_NS`] away.
fn away_share(clock: &Clock, for_ns: u64) -> f64 {
    let start_ns = clock.now_ns();
    let (mut last_ns, mut away_ns) = (start_ns, 0);
    while last_ns - start_ns < for_ns {
        let now_ns = clock.now_ns();
        away_ns += (now_ns - last_ns).saturating_sub(AWAY_NS);
        last_ns = now_ns;
    }
    away_ns as f64 / (last_ns - start_ns) as f64
}

fn print_times(shape: &str, unit: &str, times: &mut [u64]) {
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        println!("{shape}\t{name} {unit}\t{}", quantile(times, share));
    }
}
