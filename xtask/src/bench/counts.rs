//! Costs that do not depend on the machine's load: system calls and user instructions per
//! operation.
//!
//! Both are computed from the difference of a long and a short run, so that start and end cancel.
//! strace slows down every system call and callgrind every instruction, so that more completions
//! wait at each poll: the calls per operation are those of a device that is fast relative to the
//! program. Under callgrind the clock is `clock_gettime`, whose instructions are included.

use std::process::Command;

use super::spending;

/// A short and a long run, in operations.
pub(super) type Lengths = (u64, u64);

/// System calls of an operation.
pub(super) fn system_calls(command: impl Fn(u64) -> Command, lengths: Lengths) -> Result<f64, String> {
    slope(lengths, |operations| {
        let table = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
        let mut watch = Command::new("strace");
        watch.args(["-f", "-c", "-U", "calls,name", "-o"]).arg(table.path());
        spending::spend(follow(&mut watch, &command(operations)))?;
        let text = std::fs::read_to_string(table.path()).map_err(|error| error.to_string())?;
        total_calls(&text).ok_or_else(|| format!("strace gave no total: {text}"))
    })
}

/// User instructions of an operation. The program must stay one process.
pub(super) fn instructions(command: impl Fn(u64) -> Command, lengths: Lengths) -> Result<f64, String> {
    slope(lengths, |operations| collected(&command(operations)))
}

/// User instructions of one whole run.
pub(super) fn collected(command: &Command) -> Result<f64, String> {
    let log = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let mut watch = Command::new("valgrind");
    watch.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    watch.arg(format!("--log-file={}", log.path().display()));
    spending::spend(follow(&mut watch, command))?;
    let text = std::fs::read_to_string(log.path()).map_err(|error| error.to_string())?;
    let count = text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    count.ok_or_else(|| format!("callgrind gave no count: {text}"))
}

fn follow<'a>(watch: &'a mut Command, watched: &Command) -> &'a mut Command {
    watch.arg(watched.get_program()).args(watched.get_args())
}

fn slope(lengths: Lengths, measure: impl Fn(u64) -> Result<f64, String>) -> Result<f64, String> {
    let (short, long) = lengths;
    Ok((measure(long)? - measure(short)?) / (long - short) as f64)
}

/// The number in strace's last line, named total.
fn total_calls(table: &str) -> Option<f64> {
    let line = table.lines().rev().find(|line| line.trim_end().ends_with("total"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_cancels() {
        assert_eq!(slope((100, 300), |operations| Ok(5000.0 + 2.0 * operations as f64)).unwrap(), 2.0);
    }

    #[test]
    fn the_total_is_found() {
        let table = "    calls syscall\n--------- ------\n       12 read\n--------- ------\n       19 total\n";
        assert_eq!(total_calls(table), Some(19.0));
        assert_eq!(total_calls(""), None);
    }
}
