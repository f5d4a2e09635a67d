//! The seccomp filter: calls of the table stop, all others pass (seccomp(2), bpf of
//! Documentation/userspace-api/seccomp_filter.rst).
//!
//! ```text
//!  not of this machine's kind ──▶ pass
//!  mmap without a file, fcntl that copies no descriptor and sets no flags ──▶ pass
//!  a number of the table ──▶ stop
//!  else ──▶ pass
//! ```
//! The kernel decides cases that depend on the number alone without running the filter.

use libc::{BPF_ABS, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter};

use crate::calls::{self, Shape};

#[cfg(target_arch = "x86_64")]
const MACHINE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const MACHINE: u32 = 0xc000_00b7;
/// Numbers from here on are of another kind (x32).
const OTHER_KIND: u32 = 0x4000_0000;

/// Where the filter's data has the number, the kind of machine, and the arguments.
const NUMBER_AT: u32 = 0;
const MACHINE_AT: u32 = 4;
const fn argument_at(index: u32) -> u32 {
    16 + 8 * index
}

const STOP: u32 = libc::SECCOMP_RET_TRACE;
const PASS: u32 = libc::SECCOMP_RET_ALLOW;

fn load(at: u32) -> sock_filter {
    sock_filter { code: (BPF_LD | BPF_W | BPF_ABS) as u16, jt: 0, jf: 0, k: at }
}

fn answer(what: u32) -> sock_filter {
    sock_filter { code: (BPF_RET | BPF_K) as u16, jt: 0, jf: 0, k: what }
}

/// Continues if the loaded word is `word`; otherwise skips `otherwise` instructions.
fn unless_equal(word: u32, otherwise: usize) -> sock_filter {
    sock_filter { code: (BPF_JMP | BPF_JEQ | BPF_K) as u16, jt: 0, jf: otherwise as u8, k: word }
}

/// The program.
pub(crate) fn program() -> Vec<sock_filter> {
    let mut program = vec![
        load(MACHINE_AT),
        sock_filter { code: (BPF_JMP | BPF_JEQ | BPF_K) as u16, jt: 1, jf: 0, k: MACHINE },
        answer(PASS),
        load(NUMBER_AT),
        sock_filter { code: (BPF_JMP | BPF_JGE | BPF_K) as u16, jt: 0, jf: 1, k: OTHER_KIND },
        answer(PASS),
    ];
    for (number, shape) in calls::all() {
        let number = number as u32;
        // The deciding argument, the deciding words, and their meaning.
        let (argument, words, then, otherwise): (u32, &[i32], u32, u32) = match shape {
            Shape::Map => (4, &[-1], PASS, STOP),
            Shape::Control => (1, &[libc::F_DUPFD, libc::F_DUPFD_CLOEXEC, libc::F_SETFL], STOP, PASS),
            _ => {
                program.extend([unless_equal(number, 1), answer(STOP)]);
                continue;
            }
        };
        program.push(unless_equal(number, 2 + 2 * words.len()));
        program.push(load(argument_at(argument)));
        for word in words {
            program.extend([unless_equal(*word as u32, 1), answer(then)]);
        }
        program.push(answer(otherwise));
    }
    program.push(answer(PASS));
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel does, as far as it uses the language.
    fn run(machine: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let mut data = Vec::new();
        data.extend(number.to_le_bytes());
        data.extend(machine.to_le_bytes());
        data.extend([0; 8]);
        arguments.iter().for_each(|argument| data.extend(argument.to_le_bytes()));
        let program = program();
        let (mut at, mut loaded) = (0, 0);
        loop {
            let step = program[at];
            at += 1;
            let place = step.k as usize;
            let jump = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
            match u32::from(step.code) & 0x07 {
                0 => loaded = u32::from_le_bytes(data[place..place + 4].try_into().unwrap()),
                5 => {
                    at += jump(if u32::from(step.code) & 0xf0 == BPF_JGE { loaded >= step.k } else { loaded == step.k })
                }
                _ => return step.k,
            }
        }
    }

    #[test]
    fn what_stops_and_what_passes() {
        let with = |index: usize, value: i32| {
            let mut arguments = [0; 6];
            arguments[index] = u64::from(value as u32);
            arguments
        };
        for (number, arguments, answer) in [
            (libc::SYS_read, [0; 6], STOP),
            (libc::SYS_pwritev2, [0; 6], STOP),
            (libc::SYS_io_uring_enter, [0; 6], STOP),
            (libc::SYS_execve, [0; 6], STOP),
            (libc::SYS_getppid, [0; 6], PASS),
            (libc::SYS_futex, [0; 6], PASS),
            (libc::SYS_mmap, with(4, -1), PASS),
            (libc::SYS_mmap, with(4, 3), STOP),
            (libc::SYS_fcntl, with(1, libc::F_GETFL), PASS),
            (libc::SYS_fcntl, with(1, libc::F_SETFL), STOP),
            (libc::SYS_fcntl, with(1, libc::F_DUPFD_CLOEXEC), STOP),
        ] {
            assert_eq!(run(MACHINE, number as u32, arguments), answer, "{number}");
        }
        assert_eq!(run(MACHINE ^ 1, libc::SYS_read as u32, [0; 6]), PASS);
        assert_eq!(run(MACHINE, OTHER_KIND, [0; 6]), PASS);
        for (number, _) in calls::all() {
            assert!(calls::shape_of(number as u64).is_some());
        }
    }
}
