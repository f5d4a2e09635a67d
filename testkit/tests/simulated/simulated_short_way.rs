//! A queue of depth 1 is driven by a loop of its own: whatever happens, it records what the general
//! loop records.
//!
//! The general loop is made to run by buffers that are to be filled before each write, which costs
//! no time on a simulated clock and changes nothing that is recorded.

use iolab_clock::Clock;
use iolab_recording::Recording;
use iolab_testkit::simulated::{Fate, make_device};
use iolab_testkit::whole_run::{repeatable, run};

const MS: u64 = 1_000_000;

type Script = fn(u64) -> Fate;

fn recorded(job: &str, script: Script) -> Recording {
    let clock = Clock::simulated(1_000 * MS);
    make_device("short_way", &clock, move |n, _| script(n));
    let mut recording = repeatable(run(&format!("filename=short_way\n[a]\n{job}\n"), &clock));
    // What the two were asked for differs in the buffers; what they did must not.
    for worker in &mut recording.plan.workers {
        worker.buffers.refill = false;
    }
    recording
}

fn served(n: u64) -> Fate {
    Fate::Served(MS / 10 + n % 7 * 1_000)
}

fn troubled(n: u64) -> Fate {
    match n % 11 {
        3 => Fate::Short(512, MS),
        5 => Fate::Failed(libc::EIO, MS),
        8 => Fate::Failed(libc::EIO, 0),
        _ => Fate::Served(MS),
    }
}

fn refusing(n: u64) -> Fate {
    if n == 130 { Fate::Refused(libc::EINVAL) } else { Fate::Served(MS) }
}

#[test]
fn both_ways_record_the_same() {
    let jobs: [(&str, Script); 8] = [
        ("rw=randwrite\nsize=4m\nloops=3", served),
        ("rw=randwrite\nsize=4m\nfsync=7", served),
        ("rw=write\nsize=64m\nruntime=2\ntime_based\nramp_time=1", served),
        ("rw=randwrite\nsize=4m\ngtod_reduce=1", served),
        ("rw=randwrite\nsize=4m\ndisable_slat=1", served),
        ("rw=randwrite\nsize=2m\ncontinue_on_error=all", troubled),
        ("rw=randwrite\nsize=2m\nmax_latency=500us", troubled),
        ("rw=randwrite\nsize=4m", refusing),
    ];
    for (job, script) in jobs {
        let short = recorded(job, script);
        let general = recorded(&format!("{job}\nrefill_buffers=1"), script);
        assert_eq!(short.workers, general.workers, "{job}");
        assert!(short.workers[0].directions[1].ios > 0, "{job}");
    }
}
