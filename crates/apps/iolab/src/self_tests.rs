//! fio's measurements of the machine and of itself, without a job: checksums (`--crctest`), memory
//! copies (`--memcpytest`), the processor's clock (`--cpuclock-test`), a unit of idle work
//! (`--idle-prof=calibrate`).

use std::fmt::Write as _;

use iolab_clock::Clock;
use iolab_pipeline::IdleThreads;
use iolab_plan::VerifyKind;

use crate::exit::ExitFailure;

/// Bytes of one checksum, as in fio.
const BLOCK: usize = 128 << 10;
/// How long each kind is measured, ns.
const FOR_NS: u64 = 100_000_000;

/// Measures each kind of checksum and returns a line for each; `kinds` is a list, empty for all.
///
/// # Errors
/// An unknown kind; the error lists those that exist.
pub(crate) fn checksums(kinds: &str) -> Result<String, ExitFailure> {
    let known: Vec<VerifyKind> = VerifyKind::ALL.iter().copied().filter(|kind| kind.digest_bytes() > 0).collect();
    let names: Vec<&str> = known.iter().map(|kind| kind.name()).collect();
    let chosen = chosen("hash", &names, kinds)?;
    let block: Vec<u8> = (0..BLOCK).map(|at| ((at * 31) >> 3) as u8).collect();
    let mut text = String::new();
    for kind in known.iter().filter(|kind| chosen.contains(&kind.name())) {
        let rate = mib_per_second(BLOCK, || _ = std::hint::black_box(iolab_verify::checksum(*kind, &block)));
        let _ = writeln!(text, "{:<12}\t{rate:8.2} MiB/sec", format!("{}:", kind.name()));
    }
    Ok(text)
}

/// Measures copies of each size and returns a line for each.
///
/// # Errors
/// An unknown method of copying.
pub(crate) fn copies(types: &str) -> Result<String, ExitFailure> {
    chosen("type", &["memcpy"], types)?;
    let mut text = "memcpy\n".to_owned();
    for shift in (3..=19).step_by(2) {
        let bytes = 1 << shift;
        let (from, mut to) = (vec![1_u8; bytes], vec![0_u8; bytes]);
        let rate = mib_per_second(bytes, || std::hint::black_box(&mut to).copy_from_slice(std::hint::black_box(&from)));
        let _ = writeln!(text, "\t{bytes:7} bytes:\t{rate:8.2} MiB/sec");
    }
    Ok(text)
}

/// How long a unit of idle work takes.
///
/// # Errors
/// A thread could not be bound to its processor.
pub(crate) fn idle_calibration() -> Result<String, ExitFailure> {
    let measured = IdleThreads::calibrate().and_then(IdleThreads::calibration_only);
    let failed = |error| ExitFailure::failed(format!("iolab: --idle-prof=calibrate: {error}"));
    measured.map(|idleness| iolab_report::calibration_report(&idleness)).map_err(failed)
}

/// Whether the processor's clock can be trusted, and the exit code.
pub(crate) fn clock() -> (String, u8) {
    let (clock, unfit) = Clock::best();
    match unfit {
        None => (format!("cpuclock-test: {} can be used\n", clock.name()), 0),
        Some(reason) => (format!("cpuclock-test: {reason}; {} is used instead\n", clock.name()), 1),
    }
}

fn chosen<'a>(what: &str, known: &[&'a str], list: &str) -> Result<Vec<&'a str>, ExitFailure> {
    if list.is_empty() || list == "all" {
        return Ok(known.to_vec());
    }
    let find = |name: &str| known.iter().copied().find(|known| *known == name);
    let unknown =
        |name: &str| ExitFailure::mistake(format!("iolab: unknown {what} `{name}`; there are {}", known.join(", ")));
    list.split([',', ':']).map(|name| find(name).ok_or_else(|| unknown(name))).collect()
}

fn mib_per_second(bytes: usize, mut work: impl FnMut()) -> f64 {
    work();
    let clock = Clock::monotonic();
    let (begun_ns, mut times) = (clock.now_ns(), 0_u64);
    let took_ns = loop {
        (0..16).for_each(|_| work());
        times += 16;
        let took_ns = clock.now_ns().saturating_sub(begun_ns);
        if took_ns >= FOR_NS {
            break took_ns;
        }
    };
    times as f64 * bytes as f64 / (took_ns as f64 / 1e9) / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_chosen_by_name() {
        assert_eq!(checksums("crc32c,md5").unwrap().lines().count(), 2);
        assert!(checksums("md4").unwrap_err().message.contains("sha3-512"));
        assert!(copies("memmove").is_err());
    }
}
