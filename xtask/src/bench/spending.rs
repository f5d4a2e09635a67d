//! One run of a program, and its costs: time, processor time, memory.
//!
//! Processor time is that of the process and of all processes it waited for (wait4(2)), including
//! kernel workers of its rings. The sum is exact; its division into user and system time is sampled
//! by the kernel at timer ticks, and rough.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::process::{Command, Stdio};
use std::time::Instant;

use wait4::Wait4;

/// The costs and the output of a run.
#[derive(Debug)]
pub(crate) struct Spent {
    pub(crate) output: String,
    pub(crate) wall_s: f64,
    pub(crate) user_s: f64,
    pub(crate) system_s: f64,
}

impl Spent {
    pub(crate) fn processor_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

/// Runs the command to its end; an error if it cannot be started or fails.
pub(crate) fn spend(command: &mut Command) -> Result<Spent, String> {
    let text = format!("{command:?}");
    let failed = |error: std::io::Error| format!("{text}: {error}");
    // Files, because a pipe would not be read while the child runs.
    let (mut output, mut errors) = (tempfile::tempfile().map_err(failed)?, tempfile::tempfile().map_err(failed)?);
    command.stdin(Stdio::null());
    command.stdout(output.try_clone().map_err(failed)?).stderr(errors.try_clone().map_err(failed)?);
    #[allow(clippy::disallowed_methods, reason = "this program times others; no run is simulated in it")]
    let started = Instant::now();
    let end = command.spawn().map_err(failed)?.wait4().map_err(failed)?;
    let wall_s = started.elapsed().as_secs_f64();
    if !end.status.success() {
        return Err(format!("{text}: {}: {}", end.status, whole(&mut errors).map_err(failed)?.trim()));
    }
    let (user_s, system_s) = (end.rusage.utime.as_secs_f64(), end.rusage.stime.as_secs_f64());
    Ok(Spent { output: whole(&mut output).map_err(failed)?, wall_s, user_s, system_s })
}

fn whole(file: &mut File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_heard_and_accounted_for() {
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done";
        let spent = spend(Command::new("sh").args(["-c", script])).unwrap();
        assert_eq!(spent.output, "done\n");
        assert!(spent.processor_s() > 0.0 && spent.wall_s > 0.0);
        let error = spend(Command::new("sh").args(["-c", "echo why >&2; exit 3"])).unwrap_err();
        assert!(error.contains("why"), "{error}");
    }
}
