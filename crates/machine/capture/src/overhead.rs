//! The cost of being traced, measured in a child that does nothing else; and the least possible
//! cost.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};

use iolab_clock::Clock;
use iolab_trace::{Facts, Writer};

use crate::capture::Recorder;
use crate::one_cpu::OneCpu;
use crate::stop_loop::StopLoop;
use crate::tracee::{self, Body, Child, Resume, Stop, TRIAL_CALLS, Waited};

/// The additional cost per call of being traced, ns.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Overhead {
    /// To a call that is seen.
    pub traced_call_ns: f64,
    /// To any other.
    pub other_call_ns: f64,
    /// The cost of the cheapest call without a tracer.
    pub bare_call_ns: f64,
}

/// Measures.
pub(crate) fn measure(clock: &Clock) -> io::Result<Overhead> {
    let child = Child::make(&Body::Trial(clock))?;
    let output: Box<dyn io::Write> = Box::new(io::sink());
    let mut recorder = Recorder::new(Writer::new(output, &Facts::default())?);
    StopLoop::run(&child, clock, &mut recorder);
    let mut said = Vec::new();
    File::from(child.says).read_to_end(&mut said)?;
    if let Ok(errno) = <[u8; 4]>::try_from(said.as_slice()) {
        return Err(io::Error::from_raw_os_error(i32::from_le_bytes(errno)));
    }
    let of_call = |index: usize| {
        let bytes = said.get(index * 8..index * 8 + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?) as f64 / TRIAL_CALLS as f64)
    };
    let (Some(bare), Some(other), Some(traced)) = (of_call(0), of_call(1), of_call(2)) else {
        return Err(io::Error::other("the calibration ended early"));
    };
    let more = |ns: f64| (ns - bare).max(0.0);
    Ok(Overhead { traced_call_ns: more(traced), other_call_ns: more(other), bare_call_ns: bare })
}

/// Runs a command whose calls stop as in a capture, without inspecting them: no tracer that stops
/// calls by ptrace can cost less. For measurements.
///
/// # Errors
/// It cannot be started, or one of its words holds a zero byte.
pub fn stop_only(command: &[String]) -> io::Result<()> {
    let words: Result<Vec<CString>, _> = command.iter().map(|word| CString::new(word.as_bytes())).collect();
    let child = Child::make(&Body::Command(&words?))?;
    let mut place = OneCpu::stay();
    child.begin();
    loop {
        match tracee::wait(true) {
            Waited::For(_, Stop::Ended { .. }) | Waited::Interrupted | Waited::Nothing => {}
            Waited::For(thread, stop) => {
                place.stopped(thread);
                let (way_on, signal) = match stop {
                    Stop::CallBegins => (Resume::ToEndOfCall, 0),
                    Stop::Signal(signal) => (Resume::On, signal),
                    _ => (Resume::On, 0),
                };
                if let Stop::Makes(made) = stop {
                    place.made(thread, made);
                }
                tracee::resume(thread, way_on, signal);
            }
            Waited::NoneLeft => return Ok(()),
        }
    }
}
