//! `iolab fs mount`: serves the file system, in the background by default.
//!
//! The background process is this program again, in its own session. It reports on its standard
//! output that the file system can be used, or why not. The foreground process passes that on.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use iolab_fs_commands::{ServeRequest, processors, serve_image};
use iolab_logfs_fuse::{FuseEvent, Options};
use rustix::fs::OFlags;

use super::targets::CleaningArguments;
use crate::exit::ExitFailure;
use crate::output;
use crate::printing::shown;

/// What to mount, where and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Image: a regular file or block device
    image: PathBuf,
    /// Mount point
    folder: PathBuf,
    /// Mount options, separated by commas: ro, suid, dev, noexec, sync, writeback, noverify,
    /// commit=SECONDS, defragment=PERCENT, max_write=BYTES, depth=N, transport=…
    #[arg(short = 'o', value_name = "OPTIONS")]
    options: Vec<String>,
    /// Memory limit for small writes; 64m by default, less for images below 4g
    #[arg(long, value_parser = super::size)]
    inline: Option<u64>,
    #[command(flatten)]
    cleaning: CleaningArguments,
    /// Number of threads, which share the domains of the image; `cores` is one per processor. No
    /// more threads than domains or processors are used
    #[arg(long, value_name = "N|cores", value_parser = threads, default_value = "1")]
    threads: u32,
    /// Run in the foreground until unmounted or interrupted
    #[arg(long, short)]
    foreground: bool,
    /// Write messages of the background server to this file
    #[arg(long)]
    log: Option<PathBuf>,
    /// Started by another process that waits for one line
    #[arg(long, hide = true)]
    behind: bool,
}

/// Parses `cores`, or a number.
fn threads(text: &str) -> Result<u32, String> {
    match text.parse() {
        _ if text == "cores" => Ok(processors()),
        Ok(number @ 1..=1024) => Ok(number),
        _ => Err("expected cores or a number from 1 to 1024".to_owned()),
    }
}

/// The line that reports that the file system can be used.
const SERVING: &str = "serving";
/// The prefix of lines for the user that come before it.
const NOTE: &str = "note: ";

pub(crate) fn main(arguments: &Arguments) -> Result<u8, ExitFailure> {
    let options = options(arguments)?;
    if !arguments.foreground && !arguments.behind {
        return start_behind(arguments, &options);
    }
    if arguments.behind {
        // If the process already leads a session, the failure is harmless.
        let _leads = rustix::process::setsid();
        if let Err(failure) = foreground(arguments, &options) {
            output::print(&failure.message)?;
            return Ok(failure.code);
        }
        return Ok(0);
    }
    foreground(arguments, &options).map(|()| 0)
}

fn options(arguments: &Arguments) -> Result<Options, ExitFailure> {
    let image = &arguments.image;
    let source = image.canonicalize().unwrap_or_else(|_| image.clone());
    let mut options = Options::new(&arguments.folder, source.to_string_lossy());
    for words in &arguments.options {
        options.apply(words).map_err(|error| ExitFailure::mistake(format!("iolab: {error}")))?;
    }
    Ok(options)
}

/// Opens the image, mounts it, and serves it until it is unmounted.
fn foreground(arguments: &Arguments, options: &Options) -> Result<(), ExitFailure> {
    let request = ServeRequest {
        image: &arguments.image,
        options,
        inline_bytes: arguments.inline,
        policy: arguments.cleaning.policy,
        cleaning_bytes: arguments.cleaning.memory,
        threads: arguments.threads,
    };
    let (image, log, behind) = (arguments.image.clone(), arguments.log.clone(), arguments.behind);
    serve_image(&request, Arc::new(move |moment: &FuseEvent| observe(moment, &image, behind, log.as_deref())))?;
    Ok(())
}

fn observe(moment: &FuseEvent, image: &Path, behind: bool, log: Option<&Path>) {
    match moment {
        FuseEvent::Serving { transport, .. } if behind => {
            let _unheard = output::print(&format!("{SERVING} {transport}\n"));
        }
        FuseEvent::Serving { path, transport } => {
            let _unheard = output::print(&format!(
                "{} is mounted on {} over {transport}. Press Ctrl-C or run `iolab fs umount` to stop.\n",
                image.display(),
                path.display()
            ));
        }
        FuseEvent::Note(text) => pass_on(text, behind, log),
        FuseEvent::Busy => say("in use: it stays mounted until you unmount it; press Ctrl-C again to end now", log),
        FuseEvent::CannotUnmount(reason) => {
            say(&format!("cannot unmount: {reason}; press Ctrl-C again to end anyway"), log);
        }
    }
}

/// Passes messages that precede the use of the file system to the foreground process, if there is
/// one.
fn pass_on(text: &str, behind: bool, log: Option<&Path>) {
    say(text, log);
    if behind {
        let _unheard = output::print(&format!("{NOTE}{text}\n"));
    }
}

/// Opens the log for appending. The target of a link, and anything but a regular file, is left
/// alone.
fn open_log(path: &Path) -> Option<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = std::fs::OpenOptions::new().append(true).create(true).custom_flags(flags).open(path).ok()?;
    file.metadata().is_ok_and(|metadata| metadata.is_file()).then_some(file)
}

fn say(text: &str, log: Option<&Path>) {
    use std::io::Write;
    match log.and_then(open_log) {
        // If it cannot be written, there is no way to report that.
        Some(mut file) => drop(writeln!(file, "iolab: {}", shown(text))),
        None => tell(text),
    }
}

fn tell(text: &str) {
    eprintln!("iolab: {text}");
}

/// Starts the server as a separate process, and waits until it serves or reports why not.
fn start_behind(arguments: &Arguments, options: &Options) -> Result<u8, ExitFailure> {
    let failed = |error: std::io::Error| ExitFailure::failed(format!("iolab: starting the server: {error}"));
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args([OsStr::new("fs"), OsStr::new("mount"), OsStr::new("--behind")]);
    for words in &arguments.options {
        command.args(["-o", words]);
    }
    if let Some(bytes) = arguments.inline {
        command.arg(format!("--inline={bytes}"));
    }
    if let Some(policy) = arguments.cleaning.policy {
        command.arg(format!("--policy={policy}"));
    }
    if let Some(bytes) = arguments.cleaning.memory {
        command.arg(format!("--cleaning-memory={bytes}"));
    }
    if arguments.threads > 1 {
        command.arg(format!("--threads={}", arguments.threads));
    }
    if let Some(log) = &arguments.log {
        command.arg("--log").arg(absolute(log));
    }
    command.arg("--").arg(absolute(&arguments.image)).arg(absolute(&arguments.folder));
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = command.spawn().map_err(failed)?;
    let Some(output) = server.stdout.take() else { return Err(failed(std::io::ErrorKind::BrokenPipe.into())) };
    let mut output = BufReader::new(output);
    let mut said = String::new();
    loop {
        said.clear();
        output.read_line(&mut said).map_err(failed)?;
        let Some(note) = said.strip_prefix(NOTE) else { break };
        tell(note.trim_end());
    }
    if let Some(transport) = said.strip_prefix(SERVING) {
        let (image, folder) = (arguments.image.display(), options.mount_point.display());
        output::print(&format!(
            "{image} is mounted on {folder} over{}; run `iolab fs umount {folder}` to unmount it\n",
            transport.trim_end()
        ))?;
        return Ok(0);
    }
    output.read_to_string(&mut said).map_err(failed)?;
    let code = server.wait().map_err(failed)?.code();
    let code = code.and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0);
    if said.is_empty() {
        "iolab: the server ended without a message; try --foreground".clone_into(&mut said);
    }
    Err(ExitFailure { code: code.unwrap_or(crate::exit::FAILED), message: said })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_added_to_a_regular_file_and_to_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("notes.txt"), "the user's\n").unwrap();
        std::fs::write(path("thesis"), "years of work").unwrap();
        std::os::unix::fs::symlink(path("thesis"), path("link")).unwrap();
        std::os::unix::fs::symlink(path("nowhere"), path("dangling")).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        for name in ["notes.txt", "new", "link", "dangling", "pipe", "."] {
            say("something\u{1b}[2J is said", Some(&path(name)));
        }
        say("and more", Some(&path("notes.txt")));
        let text = |name: &str| std::fs::read_to_string(path(name)).unwrap();
        assert_eq!(text("notes.txt"), "the user's\niolab: something\\u001b[2J is said\niolab: and more\n");
        assert_eq!(text("new"), "iolab: something\\u001b[2J is said\n");
        assert_eq!(text("thesis"), "years of work");
        assert_eq!(
            iolab_testkit::folder::names(folder.path()),
            ["dangling", "link", "new", "notes.txt", "pipe", "thesis"]
        );
    }
}
