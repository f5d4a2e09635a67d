//! The application: a command that does a bounded amount of work and ends, and the source of its
//! rate.

use std::io::{Read, Seek};
use std::process::{Command, Stdio};

use iolab_activity::Failure;
use iolab_clock::Clock;

/// The text before the rate in the output of common programs.
const KNOWN: [&str; 3] = ["tps = ", "transactions per second: ", "transactions:"];
/// Largest part of an output that is searched, bytes.
const MOST_OUTPUT: u64 = 16 << 20;

/// Where the rate of the application comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum RateSource {
    /// The last number after this text in its output.
    Says(String),
    /// The number of its commits per run.
    Commits(u64),
    /// Its output contains one of the known texts.
    Known,
}

/// An application.
#[derive(Debug, Clone)]
pub struct Application {
    /// For `sh -c`.
    pub command: String,
    /// Its rate.
    pub rate: RateSource,
}

impl Application {
    /// Runs it. Returns commits per second, and its duration, ns.
    ///
    /// # Errors
    /// It cannot be run, it failed, or its output has no rate.
    pub fn run(&self, clock: &Clock) -> Result<(f64, u64), Failure> {
        let named = |what: &str| Failure::failed(format!("iolab: validate: `{}` {what}", self.command));
        let unwritable = |error: std::io::Error| named(&format!("has nowhere to write: {error}"));
        let mut output = tempfile::tempfile().map_err(unwritable)?;
        let (one, other) = (output.try_clone().map_err(unwritable)?, output.try_clone().map_err(unwritable)?);
        let begun_ns = clock.now_ns();
        let status = Command::new("sh")
            .args(["-c", &self.command])
            .stdin(Stdio::null())
            .stdout(one)
            .stderr(other)
            .status()
            .map_err(|error| named(&format!("cannot be run: {error}")))?;
        let took_ns = clock.now_ns() - begun_ns;
        let mut bytes = Vec::new();
        output.rewind().and_then(|()| output.take(MOST_OUTPUT).read_to_end(&mut bytes)).map_err(unwritable)?;
        let text = String::from_utf8_lossy(&bytes);
        if !status.success() {
            let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
            return Err(named(&format!("failed ({status}): {last}")));
        }
        let rate = match &self.rate {
            RateSource::Commits(count) => Some(*count as f64 * 1e9 / took_ns.max(1) as f64),
            RateSource::Says(before) => number_behind(&text, before),
            RateSource::Known => KNOWN.iter().find_map(|before| number_behind(&text, before)),
        };
        let rate = rate.filter(|rate| *rate > 0.0).ok_or_else(|| {
            named("does not say its rate: give --says 'TEXT BEFORE THE NUMBER', or --commits with how many it makes each time")
        })?;
        Ok((rate, took_ns))
    }
}

/// The number after the last occurrence of a text; in a line like sysbench's
/// (`4000 (399.2 per sec.)`), the one in parentheses.
fn number_behind(text: &str, before: &str) -> Option<f64> {
    let line = text[text.rfind(before)? + before.len()..].lines().next()?;
    let of_rate = line.contains("per sec").then(|| line.split('(').nth(1)).flatten().unwrap_or(line);
    let number: String = of_rate
        .trim_start()
        .chars()
        .take_while(|letter| letter.is_ascii_digit() || ".eE+-".contains(*letter))
        .collect();
    number.parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_in_outputs() {
        for (text, before, rate) in [
            ("x\ntps = 147.521719 (without initial connection time)\n", "tps = ", Some(147.521_719)),
            ("tps = 1\ntps = 2\n", "tps = ", Some(2.0)),
            ("    transactions:      4000   (399.20 per sec.)\n", "transactions:", Some(399.2)),
            ("done: 3e2/s", "done:", Some(300.0)),
            ("tps = none", "tps = ", None),
            ("", "tps = ", None),
        ] {
            assert_eq!(number_behind(text, before), rate, "{text}");
        }
    }

    #[test]
    fn a_command_that_fails_or_says_nothing_is_refused() {
        let clock = Clock::best().0;
        let run = |command: &str, rate: RateSource| Application { command: command.to_owned(), rate }.run(&clock);
        assert_eq!(run("echo 'tps = 5.5'", RateSource::Known).unwrap().0, 5.5);
        assert!(run("true", RateSource::Commits(7)).unwrap().0 > 0.0);
        let failed = run("echo away >&2; exit 3", RateSource::Known).unwrap_err();
        assert!(format!("{failed:?}").contains("away"), "{failed:?}");
        assert!(format!("{:?}", run("true", RateSource::Known).unwrap_err()).contains("--says"));
    }
}
