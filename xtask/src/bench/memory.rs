//! The memory of a program's workers at work, according to /proc/PID/smaps_rollup (proc(5)).

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How often workers are looked for before they count as missing, and the interval.
const LOOKS: u32 = 2000;
const PAUSE: Duration = Duration::from_millis(10);
/// How long workers run before the measurement, so that their memory is touched.
const WARM: Duration = Duration::from_millis(300);

/// Average per worker.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Memory {
    /// Private pages.
    pub(super) private_mib: f64,
    /// Private pages and a proportional share of each shared page.
    pub(super) proportional_mib: f64,
}

/// Starts this number of workers on the null engine, measures them, and ends them.
pub(super) fn of_workers(program: &Path, workers: u32) -> Result<Memory, String> {
    let words = "--name=bench --ioengine=null --rw=randread --bs=4k --size=1g --iodepth=32 --time_based --runtime=60";
    let mut command = Command::new(program);
    command.args(words.split(' ')).arg(format!("--numjobs={workers}"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
    let looked = look(&child, workers as usize);
    let ended = end(&mut child);
    let memory = looked?;
    ended.map_err(|error| format!("{}: {error}", program.display()))?;
    Ok(memory)
}

fn look(child: &Child, workers: usize) -> Result<Memory, String> {
    let mut looks = 0;
    while children(child.id())?.len() < workers {
        if looks == LOOKS {
            return Err(format!("{workers} workers did not start in time"));
        }
        looks += 1;
        std::thread::sleep(PAUSE);
    }
    std::thread::sleep(WARM);
    let mut found = Vec::new();
    for pid in children(child.id())? {
        // A helper that has just ended is not a worker.
        if let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) {
            found.push(of_rollup(&text));
        }
    }
    let mean = |of: fn(&Memory) -> f64| found.iter().map(of).sum::<f64>() / found.len().max(1) as f64;
    Ok(Memory {
        private_mib: mean(|memory| memory.private_mib),
        proportional_mib: mean(|memory| memory.proportional_mib),
    })
}

/// Interrupts it like Ctrl-C, so that the program ends its workers itself.
fn end(child: &mut Child) -> std::io::Result<()> {
    Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
    child.wait().map(|_| ())
}

fn children(parent: u32) -> Result<Vec<u32>, String> {
    let entries = std::fs::read_dir("/proc").map_err(|error| format!("/proc: {error}"))?;
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        parent_of(&stat) == Some(parent)
    };
    Ok(pids.filter(is_child).collect())
}

/// The fourth field of /proc/PID/stat; the second is a name in parentheses and may hold anything.
fn parent_of(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn of_rollup(text: &str) -> Memory {
    let mib = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
    };
    Memory { private_mib: mib("Private_Clean") + mib("Private_Dirty"), proportional_mib: mib("Pss") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_texts_are_read() {
        assert_eq!(parent_of("12 (a) b) S 7 12 12 0"), Some(7));
        assert_eq!(parent_of(""), None);
        let text = "00-ff ---p 00 00:00 0 [rollup]\nRss: 900 kB\nPss:  512 kB\nPss_Dirty: 1 kB\nPrivate_Clean: 100 kB\nPrivate_Dirty: 156 kB\n";
        assert_eq!(of_rollup(text), Memory { private_mib: 0.25, proportional_mib: 0.5 });
    }
}
