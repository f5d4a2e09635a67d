//! Where a serving thread runs, and how it shares processors with the program that it serves.
//!
//! A thread with only one processor shares it with that program, or with none. It then runs as
//! `SCHED_BATCH` (sched(7)): when it wakes up it does not preempt the program, which continues to
//! submit requests until it has to wait; all of them are then served in one turn. A thread with
//! several processors is left as it is, because it may have to compete with programs that never
//! wait.

use std::io;

/// Binds the calling thread, number `queue`, to its processor of `cpus`, if there are any. The
/// error names the processor.
pub fn place_thread(cpus: &[usize], queue: usize) -> Result<(), (usize, io::Error)> {
    let wanted = cpus.get(queue % cpus.len().max(1)).copied();
    if let Some(cpu) = wanted {
        iolab_process::set_cpus(&[cpu]).map_err(|error| (cpu, error))?;
    }
    match iolab_process::cpus_allowed().as_slice() {
        [only] => iolab_process::set_batch().map_err(|error| (*only, error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> i32 {
        let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // The fields after the name in parentheses begin with field 3 (proc_pid_stat(5)).
        let rest = text.rsplit_once(')').unwrap().1;
        rest.split_whitespace().nth(41 - 3).unwrap().parse().unwrap()
    }

    #[test]
    fn a_thread_with_one_processor_waits_for_its_turn() {
        std::thread::spawn(|| {
            let before = iolab_process::cpus_allowed();
            place_thread(&[], 0).unwrap();
            assert_eq!(iolab_process::cpus_allowed(), before);
            let last = *before.last().unwrap();
            place_thread(&[last + 4000, last], 3).unwrap();
            assert_eq!((iolab_process::cpus_allowed(), policy()), (vec![last], libc::SCHED_BATCH));
            let (cpu, _) = place_thread(&[1000], 1).unwrap_err();
            assert_eq!(cpu, 1000);
        })
        .join()
        .unwrap();
    }
}
