//! Compares how much two domains on two cores write with one domain on one core, and with one
//! domain that a second core forwards to.
//!
//! `cargo run --release -p iolab-logfs --example domains_throughput -- FILE [BYTES] [WRITES]
//! [ROUNDS]`: FILE is created and removed, preferably in memory (`/dev/shm`). Every core writes
//! WRITES times BYTES to its own files, with a sync now and then. The cases take turns, and each is
//! compared with the first one of the same round: by the clock, and by the processor time of its
//! threads, which shows what idle processors would give if other programs run meanwhile.

#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use std::path::{Path, PathBuf};

use iolab_clock::Clock;
use iolab_disk::{Caching, DiskOptions, open_disk};
use iolab_executor::{Executor, ReadyOrder};
use iolab_logfs::{
    CoreSetup, Disk, Error, InodeId, MkfsOptions, OpenOptions, Owner, Runtime, Volume, core_setups, mkfs,
};

const DISK_BYTES: u64 = 2 << 30;
const FILES: usize = 8;
const FILE_BYTES: u64 = 8 << 20;

/// The work of every core.
#[derive(Debug, Clone)]
struct Load {
    path: PathBuf,
    bytes: usize,
    writes: usize,
}

fn disk(path: &Path) -> Disk {
    let opening = DiskOptions { caching: Caching::PageCache, ..DiskOptions::default() };
    let (device, _) = open_disk(path, &opening).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Disk::new(device)
}

/// MB/s by the clock, and by the processor time of this thread.
#[derive(Debug, Clone, Copy, Default)]
struct Rates {
    wall: f64,
    processor: f64,
}

/// Processor time of this thread (proc_pid_schedstat of proc(5)), ns; the clock's time where the
/// kernel does not count it.
fn processor_ns(clock: &Clock) -> u64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let first = told.as_ref().and_then(|text| text.split_whitespace().next()?.parse().ok());
    first.unwrap_or_else(|| clock.now_ns())
}

/// Writes everything and returns the rates; the first core closes the file system when all are
/// done.
async fn work(fs: Volume, number: usize, cores: usize, load: &Load) -> Result<Rates, Error> {
    let mut files = Vec::new();
    for file in 0..FILES {
        files.push(fs.create(InodeId::ROOT, format!("f{number}.{file}").as_bytes(), Owner::default()).await?);
    }
    let content = vec![number as u8 + 1; load.bytes];
    let clock = Clock::best().0;
    let (began, had) = (clock.now_ns(), processor_ns(&clock));
    for write in 0..load.writes {
        let offset = (write / FILES * load.bytes) as u64 % FILE_BYTES;
        fs.write(files[write % FILES], offset, &content).await?;
        if write % 1024 == 1023 {
            fs.fsync(files[write % FILES]).await?;
        }
    }
    let (taken_ns, used_ns) = (clock.now_ns() - began, processor_ns(&clock) - had);
    if number > 0 {
        fs.create(InodeId::ROOT, format!("done{number}").as_bytes(), Owner::default()).await?;
        fs.closed().await;
    } else {
        for other in 1..cores {
            while fs.lookup(InodeId::ROOT, format!("done{other}").as_bytes()).await.is_err() {
                // A message to every core and back.
                fs.stat(InodeId::ROOT).await?;
            }
        }
        fs.close().await?;
    }
    let rate = |ns: u64| (load.writes * load.bytes) as f64 * 1e3 / ns.max(1) as f64;
    Ok(Rates { wall: rate(taken_ns), processor: rate(used_ns) })
}

fn core(setup: CoreSetup, number: usize, cores: usize, load: &Load) -> Rates {
    let disk = disk(&load.path);
    let (mut executor, mut driver) = (Executor::new(ReadyOrder::Fair), setup.driver(&disk));
    let runtime = Runtime { clock: Clock::best().0, spawner: executor.spawner() };
    let all = async { work(setup.open(&disk, OpenOptions::default(), runtime).await?.0, number, cores, load).await };
    executor.run(&mut driver, all).expect("it goes on").unwrap_or_else(|error| panic!("{error}"))
}

/// All cores together.
fn run(domains: u32, cores: usize, load: &Load) -> Rates {
    let made = disk(&load.path);
    // Use a new id: the file still holds logs of the previous case.
    let id = u128::from(Clock::monotonic().unix_ns()).to_le_bytes();
    let options = MkfsOptions { domains, ..MkfsOptions::new(id, 1) };
    let layout = Executor::new(ReadyOrder::Fair).run(&mut made.clone(), mkfs(&made, &options)).expect("it goes on");
    layout.unwrap_or_else(|error| panic!("{error}"));
    drop(made);
    std::thread::scope(|scope| {
        let core = |(number, setup)| scope.spawn(move || core(setup, number, cores, load));
        let threads: Vec<_> = core_setups(cores).into_iter().enumerate().map(core).collect();
        threads.into_iter().map(|thread| thread.join().expect("no core panics")).fold(Rates::default(), |sum, own| {
            Rates { wall: sum.wall + own.wall, processor: sum.processor + own.processor }
        })
    })
}

fn main() {
    let mut words = std::env::args().skip(1);
    let path = PathBuf::from(words.next().expect("a file to be made, best in /dev/shm"));
    let mut number = |default: usize| words.next().map_or(default, |text| text.parse().expect("a number"));
    let load = Load { path: path.clone(), bytes: number(4096), writes: number(100_000) };
    let rounds = number(7);
    let file = std::fs::File::create_new(&path).expect("the file must not exist");
    file.set_len(DISK_BYTES).expect("a file of this size");
    let cases = [(1, 1, "1 domain, 1 core"), (2, 2, "2 domains, 2 cores"), (1, 2, "1 domain, 2 cores, one forwards")];
    let mut rates = vec![Vec::new(); cases.len()];
    for _ in 0..rounds {
        for ((domains, cores, _), rates) in cases.iter().zip(&mut rates) {
            rates.push(run(*domains, *cores, &load));
        }
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    for ((domains, cores, name), own) in cases.iter().zip(&rates) {
        let pick = |rates: &[Rates], which: fn(&Rates) -> f64| rates.iter().map(which).collect::<Vec<f64>>();
        for (what, which) in
            [("by the clock", (|rates| rates.wall) as fn(&Rates) -> f64), ("by processor", |rates| rates.processor)]
        {
            if what == "by processor" && (*domains as usize) < *cores {
                // A forwarding core has another thread do its work.
                continue;
            }
            let (own, first) = (pick(own, which), pick(&rates[0], which));
            let ratios = own.iter().zip(&first).map(|(own, first)| own / first).collect();
            println!("{name:32} {what}: {:6.0} MB/s, {:.2} of the first", median(own), median(ratios));
        }
    }
    std::fs::remove_file(&path).expect("it was made here");
}
