//! The cost of tracing, measured in turns: `tracing_cost [CALLS [ROUNDS]]` (20000 calls, 5 rounds).
//!
//! A program repeatedly reads the same 512 bytes of a file, and asks as often for its parent, which
//! no capture sees. In each round it runs in several ways: alone; stopped by ptrace and seccomp
//! without inspecting the stops (no tracer of this kind can cost less); under a capture by ptrace
//! and seccomp; watched by tracepoints (as root); and under strace (if installed). So all have the
//! same conditions. The median of the rounds counts.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program whose result is its table")]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use iolab_capture::{AttachRequest, CaptureRequest};
use iolab_clock::Clock;

/// Time of a call that captures see, and of one that they do not, ns.
type Times = (f64, f64);

const WAYS: [&str; 5] = ["alone", "stops alone", "ptrace and seccomp", "tracepoints", "strace -f"];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let number = |place: usize, usual: usize| words.get(place).and_then(|word| word.parse().ok()).unwrap_or(usual);
    if words.get(1).is_some_and(|word| word == "work") {
        work(Path::new(&words[2]), number(3, 1));
        return ExitCode::SUCCESS;
    }
    match measure(&words[0], number(1, 20_000), number(2, 5)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tracing_cost: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The program: waits for a line, makes the calls, and writes both times into `folder`.
fn work(folder: &Path, calls: usize) {
    let clock = Clock::monotonic();
    let file = File::open(folder.join("data")).expect("the data is there");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a line can be read");
    let mut block = [0; 512];
    let begun_ns = clock.now_ns();
    (0..calls).for_each(|_| file.read_exact_at(&mut block, 0).expect("the file has a block"));
    let between_ns = clock.now_ns();
    (0..calls).for_each(|_| {
        std::hint::black_box(std::os::unix::process::parent_id());
    });
    let (seen_ns, other_ns) = (between_ns - begun_ns, clock.now_ns() - between_ns);
    std::fs::write(folder.join("times"), format!("{seen_ns} {other_ns}")).expect("the times can be written");
}

fn measure(program: &str, calls: usize, rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("data"), [7; 512])?;
    let count = calls.to_string();
    let words = [program, "work", folder.path().to_str().ok_or("the folder has no name in UTF-8")?, &count];
    let mut times: [Vec<Times>; WAYS.len()] = Default::default();
    let (mut reader_ns, mut refused) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        for (way, times) in times.iter_mut().enumerate() {
            let done = match way {
                0 => start(&words).and_then(finish).map_err(Into::into),
                1 => iolab_capture::stop_only(&in_shell(&words)).map_err(Into::into),
                2 => traced(&words),
                3 => watched(&words).map(|ns| reader_ns.push((ns, 0.0))),
                _ => start(&[&["strace", "-f", "-o", "/dev/null"], &words[..]].concat())
                    .and_then(finish)
                    .map_err(Into::into),
            };
            match done {
                Ok(()) => times.push(read_times(folder.path(), calls)?),
                Err(error) => refused.push(format!("{}: {error}", WAYS[way])),
            }
        }
    }
    let alone = median(&times[0]);
    println!("{:20} {:>14} {:>8} {:>14} {:>8}", "", "us per read", "times", "ns per getppid", "times");
    for (way, times) in WAYS.iter().zip(&times).filter(|(_, times)| !times.is_empty()) {
        let (seen, other) = median(times);
        let (more, other_more) = (seen / alone.0, other / alone.1);
        println!("{way:20} {:>14.2} {more:>8.2} {other:>14.0} {other_more:>8.3}", seen / 1e3);
    }
    if !reader_ns.is_empty() {
        println!("processor time of the capture per record of a tracepoint: {:.2} us", median(&reader_ns).0 / 1e3);
    }
    refused.dedup();
    refused.iter().for_each(|why| println!("not measured: {why}"));
    Ok(())
}

fn start(words: &[&str]) -> std::io::Result<Child> {
    Command::new(words[0]).args(&words[1..]).stdin(Stdio::piped()).stderr(Stdio::null()).spawn()
}

/// Lets the program start, and waits for its end.
fn finish(mut child: Child) -> std::io::Result<()> {
    child.stdin.take().map_or(Ok(()), |mut input| input.write_all(b"\n"))?;
    let status = child.wait()?;
    if status.success() { Ok(()) } else { Err(std::io::Error::other(format!("it ended with {status}"))) }
}

/// The program with a shell's input, for tracers that start it themselves.
fn in_shell(words: &[&str]) -> Vec<String> {
    let script = "echo | exec \"$0\" \"$@\"";
    ["sh", "-c", script].iter().chain(words).map(|word| (*word).to_owned()).collect()
}

/// Under ptrace.
fn traced(words: &[&str]) -> Result<(), Box<dyn std::error::Error>> {
    let command = in_shell(words);
    iolab_capture::capture(CaptureRequest { command: &command, output: Box::new(std::io::sink()), anonymous: false })?;
    Ok(())
}

/// Watched by tracepoints. Returns the processor time of the watcher for each record, ns.
fn watched(words: &[&str]) -> Result<f64, Box<dyn std::error::Error>> {
    let child = start(words)?;
    let process = child.id() as i32;
    let attached = std::thread::scope(|scope| {
        let watcher = scope.spawn(move || {
            let output = Box::new(std::io::sink());
            let request = AttachRequest { process, children: false, for_ns: None, output, anonymous: false };
            let begun_ns = iolab_clock::thread_processor_ns();
            let attached = iolab_capture::attach(request);
            (attached, iolab_clock::thread_processor_ns() - begun_ns)
        });
        // The tracepoints are open long before this ends.
        std::thread::sleep(std::time::Duration::from_millis(300));
        finish(child)?;
        watcher.join().map_err(|_| std::io::Error::other("the watcher has failed"))
    })?;
    let (attached, spent_ns) = attached;
    let records = 2 * attached?.end.operations;
    Ok(spent_ns as f64 / records.max(1) as f64)
}

fn read_times(folder: &Path, calls: usize) -> Result<Times, Box<dyn std::error::Error>> {
    let mut line = String::new();
    BufReader::new(File::open(folder.join("times"))?).read_line(&mut line)?;
    let (seen, other) = line.split_once(' ').ok_or("the program wrote no times")?;
    Ok((seen.parse::<f64>()? / calls as f64, other.parse::<f64>()? / calls as f64))
}

fn median(times: &[Times]) -> Times {
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    (middle(times.iter().map(|one| one.0).collect()), middle(times.iter().map(|one| one.1).collect()))
}
