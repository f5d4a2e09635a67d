//! Tries the driver on a real NVMe controller behind VFIO; the data of its namespaces is lost.
//!
//! `ci/suites/vfio_guest` runs this program in a guest. It shows what works and roughly how fast;
//! use iolab itself for exact measurements.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod commands;
mod recovery;
mod session;
mod speed;
mod stream;
mod zones;

use std::error::Error;
use std::process::ExitCode;

use iolab_nvme_driver::{QueueOptions, WaitPolicy};
use session::Session;

type Outcome = Result<(), Box<dyn Error>>;

const USAGE: &str = "\
usage: nvme_check commands ADDRESS          every command, on every namespace
       nvme_check recovery ADDRESS          interrupts, and a reset under load
       nvme_check errors ADDRESS READ WRITE blocks that the device cannot read and write
       nvme_check zones ADDRESS             a zoned namespace
       nvme_check fill ADDRESS MIB          writes a pattern and reads it back
       nvme_check verify FILE MIB           looks for the pattern in a file or block device
       nvme_check cat ADDRESS MIB           the first namespace to standard output
       nvme_check iops ADDRESS SECONDS      random reads of 4 KiB at depths of 1 and 64";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("not ok: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Outcome {
    let polled = || QueueOptions::with_slots(64);
    match *words {
        ["commands", address] => commands::check(&mut Session::open(address, polled())?),
        ["recovery", address] => {
            let wait = WaitPolicy::Interrupt { vector: 1 };
            recovery::check(&mut Session::open(address, QueueOptions { wait, ..polled() })?)
        }
        ["errors", address, read, write] => {
            recovery::check_errors(&mut Session::open(address, polled())?, read.parse()?, write.parse()?)
        }
        ["zones", address] => zones::check(&mut Session::open(address, polled())?),
        ["fill", address, mib] => stream::fill(&mut Session::open(address, polled())?, mib.parse()?),
        ["verify", file, mib] => stream::verify(file, mib.parse()?),
        ["cat", address, mib] => stream::cat(&mut Session::open(address, polled())?, mib.parse()?),
        ["iops", address, seconds] => speed::measure(&mut Session::open(address, polled())?, seconds.parse()?),
        _ => Err(USAGE.into()),
    }
}

/// Prints that a check holds, or fails with its description.
fn expect(holds: bool, what: &str) -> Outcome {
    if !holds {
        return Err(what.into());
    }
    println!("ok: {what}");
    Ok(())
}
