//! `--web`: a page about the run, served by a process of its own while the run lasts.
//!
//! It follows the partial recording, as `iolab web` does. A process can be moved away from the
//! workers' processors as a whole, and what is wrong with it cannot become wrong with the run.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use iolab_clock::Clock;

use crate::exit::ExitFailure;

/// How long the server may take to tell its readers that the run is over, ns.
const PATIENCE_NS: u64 = 3_000_000_000;
const BETWEEN_LOOKS_NS: u64 = 10_000_000;

/// The server of a page.
#[derive(Debug)]
pub(crate) struct PageBeside {
    server: Child,
}

impl PageBeside {
    /// Starts the server of the page about the run that appends to `partial`.
    pub(crate) fn start(partial: Option<&Path>) -> Result<PageBeside, ExitFailure> {
        if !cfg!(feature = "web") {
            return Err(ExitFailure::mistake(
                "iolab: --web: this build has no pages: build it with `cargo build --release --features web`",
            ));
        }
        let partial = partial.ok_or_else(|| {
            ExitFailure::mistake(
                "iolab: --web needs a recording in a file: use --record=FILE, or the folder of recordings",
            )
        })?;
        let failed = |error: std::io::Error| ExitFailure::failed(format!("iolab: --web: starting the server: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let server = Command::new(program)
            .args(["web".as_ref(), "--follow".as_ref(), partial.as_os_str()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        Ok(PageBeside { server: server.map_err(failed)? })
    }
}

impl Drop for PageBeside {
    /// The server ends when the run has: it is given the time to say so.
    fn drop(&mut self) {
        let clock = Clock::monotonic();
        let until_ns = clock.now_ns() + PATIENCE_NS;
        while clock.now_ns() < until_ns {
            if !matches!(self.server.try_wait(), Ok(None)) {
                return;
            }
            clock.sleep_until(clock.now_ns() + BETWEEN_LOOKS_NS, 0);
        }
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
