//! The device of a study: served and attached to the kernel while the study runs, unless another
//! process already does that. Both are separate processes of this program, as users start them.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use iolab_activity::{Failure, FailureContext, FailureKind};
use iolab_process::kill;
use iolab_study::ServedDevice;

/// Its number, signal(7).
const SIGINT: i32 = 2;
/// The text that both print when they are ready.
const READY: &str = "Press Ctrl-C";
/// The file in the folder of an attached device.
const FILE: &str = "disk";

/// The device of this name, and where the kernel will show it.
pub(crate) fn named(name: &str) -> Result<ServedDevice, Failure> {
    let is_word =
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
    if !is_word {
        return Err(Failure::mistake(format!(
            "--device={name}: expected the name of a created device (iolab device create {}, iolab device list)",
            "fast --preset optane --size 4G"
        )));
    }
    Ok(ServedDevice::new(name, &folder(name).join(FILE).display().to_string()))
}

fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("iolab-device-{name}"))
}

/// Does `work` while the device is served and attached; without a device, just does `work`.
///
/// # Errors
/// Those of `work`; otherwise of serving and attaching.
pub fn with_device<T, E: From<Failure>>(name: Option<&str>, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let Some(name) = name else { return work() };
    named(name)?;
    // From here on, an interrupt ends the current work, and these processes with it.
    iolab_process::count_signals();
    // Dropped in reverse order: the attached device is removed before its server.
    let _server = start(&["device", "serve", name], &[FailureKind::Refused])?;
    let folder = folder(name);
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let is_shown = folder.join(FILE).exists();
    let place = folder.display().to_string();
    let _attached = match is_shown {
        true => None,
        false => start(&["device", "attach", name, &place], &[])?,
    };
    work()
}

/// A process that is ended when it is dropped.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        kill(self.0.id() as i32, SIGINT);
        // It has reported its own failures.
        let _ = self.0.wait();
    }
}

/// Starts this program and waits until it is ready; `None` if it ended for one of the `tolerated`
/// reasons, because it already runs.
fn start(words: &[&str], tolerated: &[FailureKind]) -> Result<Option<Service>, Failure> {
    let mut child = Command::new(std::env::current_exe().context("finding this program")?)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A terminal's SIGINT ends trials; this process ends after them.
        .process_group(0)
        .spawn()
        .with_context(|| format!("starting iolab {}", words.join(" ")))?;
    let lines = child.stdout.take().map(|out| BufReader::new(out).lines());
    for line in lines.into_iter().flatten() {
        if line.with_context(|| format!("reading what iolab {} prints", words.join(" ")))?.contains(READY) {
            return Ok(Some(Service(child)));
        }
    }
    let status = child.wait().context("waiting for it")?;
    let kind = status.code().and_then(FailureKind::of_exit_code).unwrap_or(FailureKind::Failed);
    if tolerated.contains(&kind) {
        return Ok(None);
    }
    let mut said = String::new();
    if let Some(errors) = child.stderr.take() {
        let read: Vec<String> = BufReader::new(errors).lines().map_while(Result::ok).collect();
        said = read.join("\n");
    }
    Err(Failure { kind, ..Failure::failed(format!("iolab {} ended:\n{said}", words.join(" "))) })
}
