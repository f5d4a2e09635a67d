//! The program's command line, and where its output goes.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use iolab_engine::OpenError;
use iolab_guard::{LayoutMark, layout_mark, mark_layout};
use iolab_options::Settings;

/// What is started.
#[derive(Debug)]
pub(super) struct ProgramLine {
    program: String,
    arguments: Vec<String>,
    /// Files for standard output and standard error.
    output: Option<[File; 2]>,
}

impl ProgramLine {
    /// From the options of `exec`; opens the files of the program's output.
    pub(super) fn from_options(options: &Settings, allowed: &[PathBuf]) -> Result<ProgramLine, OpenError> {
        let words = |name: &str| -> Vec<String> {
            let text = options.text(name).unwrap_or_default();
            text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        // As in fio, words after the program's name are its first arguments.
        let mut line = words("program").into_iter().chain(words("arguments"));
        let Some(program) = line.next() else {
            let message = "exec needs a program to run, e.g. program=/usr/bin/vmstat arguments=1".to_owned();
            return Err(OpenError { message, errno: None });
        };
        let arguments = line.collect();
        let output = if options.flag("std_redirect").unwrap_or(true) {
            let prefix = options.text("std_prefix").filter(|prefix| !prefix.is_empty()).unwrap_or("exec");
            Some([open(&format!("{prefix}.stdout"), allowed)?, open(&format!("{prefix}.stderr"), allowed)?])
        } else {
            None
        };
        Ok(ProgramLine { program, arguments, output })
    }

    pub(super) fn program(&self) -> &str {
        &self.program
    }

    /// Starts the program in a process group of its own, without standard input.
    pub(super) fn start(&self) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null()).process_group(0);
        match &self.output {
            Some([out, error]) => command.stdout(out.try_clone()?).stderr(error.try_clone()?),
            None => command.stdout(io::stderr()),
        };
        command.spawn()
    }
}

/// Opens a file for the program's output, and empties it. What several workers print to one file
/// stands there one after the other.
fn open(name: &str, allowed: &[PathBuf]) -> Result<File, OpenError> {
    let path = Path::new(name);
    let failed = |error: io::Error| OpenError {
        message: format!("the output of the program cannot be written to {name}: {error}"),
        errno: error.raw_os_error(),
    };
    // Opened without O_TRUNC, because its content is judged first.
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o644)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)
        .map_err(failed)?;
    let facts = file.metadata().map_err(failed)?;
    let is_ours = facts.len() == 0 || layout_mark(&file).is_ok_and(|mark| mark == LayoutMark::Present);
    if !facts.is_file() || !(is_ours || allowed.iter().any(|allowed| allowed == path)) {
        let message = format!(
            "{name} exists, and no job of exec has made it; it would be replaced by the output of the program. Move it \
             away, choose other names with std_prefix=NAME, or allow it with --allow-destroy={name}"
        );
        return Err(OpenError { message, errno: Some(libc::EPERM) });
    }
    file.set_len(0).map_err(failed)?;
    // Without extended attributes there is no mark; the next job then asks.
    let _ = mark_layout(&file);
    Ok(file)
}
