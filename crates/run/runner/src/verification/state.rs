//! The expected content of each interval, kept in a file from the first write on
//! (`verify_state_save`), and loaded by a later run (`verify_state_load`).
//!
//! ```text
//!  0     "iolab verify state 2\n"
//!        lines NAME=VALUE, see [`About`]; the last one is "path=" and the name of the verified
//!        file, to the first zero byte
//!  8192  two bytes for each interval, in the order of bytes of the machine
//!        with durable=1, as many again: what is durable
//! ```
//!
//! The file is mapped during the run. An interval is marked before a write is sent, and gets its
//! new generation when the write has succeeded. If the processes die at any time, a marked interval
//! may hold the old or the new data, and all others are as the file says. What a flush covers
//! becomes durable when the flush has succeeded. Nothing is flushed: after a crash of the machine
//! the file may be older than the data, and then it claims less.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use iolab_memory::SharedRegion;
use iolab_verify::{CrashBound, Word, bound_of};

const MAGIC: &str = "iolab verify state 2\n";
const HEAD_BYTES: usize = 8192;
/// Words in front of those of the intervals.
pub(crate) const HEAD_WORDS: usize = HEAD_BYTES / size_of::<Word>();

/// What a state describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The verified file.
    pub path: PathBuf,
    /// Bytes of an interval.
    pub interval_bytes: u64,
    /// Where the first interval begins, bytes.
    pub start_bytes: u64,
    /// Where the verified part of the file ends, bytes.
    pub end_bytes: u64,
    /// The seed of all jobs, if they have the same.
    pub seed: Option<u64>,
    /// When the runs began that wrote it, ns since 1970, the last one last.
    pub runs: Vec<u64>,
    /// Whether it knows what is durable.
    pub durable: bool,
    /// The options that a reader of the file needs: engine, verification, content.
    pub options: Vec<String>,
}

/// The state that an earlier run has kept.
#[derive(Debug, Clone)]
pub struct Kept {
    /// What it describes.
    pub about: About,
    /// A word for each interval.
    pub words: Vec<u16>,
    /// A word for each interval about what is durable; none if that is not known.
    pub durable: Vec<u16>,
}

impl Kept {
    /// What a loss of power may have left of each interval: its offset, its length, and its
    /// possible content.
    pub fn bounds(&self) -> impl Iterator<Item = (u64, u64, CrashBound)> {
        let durable = self.durable.iter().copied().chain(std::iter::repeat(0));
        let about = &self.about;
        self.words.iter().zip(durable).zip(0..).map(move |((word, durable), number)| {
            let offset = about.start_bytes + number * about.interval_bytes;
            let length = about.interval_bytes.min(about.end_bytes.saturating_sub(offset));
            (offset, length, bound_of(*word, durable))
        })
    }
}

/// The name of the state of a verified file. It differs from all names in `taken`, and is added to
/// them.
pub(crate) fn free_name(path: &Path, taken: &mut BTreeSet<String>) -> String {
    let file = path.file_name().map_or_else(|| "data".into(), |name| name.to_string_lossy().into_owned());
    let name = |number: u32| match number {
        1 => format!("local-{file}-verify.state"),
        more => format!("local-{file}.{more}-verify.state"),
    };
    let free = (1..).map(name).find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(free.clone());
    free
}

/// A state being created. It gets its name only once it is complete: until then an older one stays.
#[derive(Debug)]
pub(crate) struct Draft {
    draft: PathBuf,
    path: PathBuf,
}

impl Draft {
    /// Gives the state its name, replacing an older state.
    pub(crate) fn publish(self) -> io::Result<()> {
        std::fs::rename(&self.draft, &self.path).map_err(|error| of_state(&self.path, &error))
    }
}

fn of_state(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the state {}: {error}", path.display()))
}

/// Creates a state for this number of words, all unknown.
pub(crate) fn create(path: &Path, about: &About, words: usize) -> io::Result<(SharedRegion<Word>, Draft)> {
    let said = |error: io::Error| of_state(path, &error);
    let head = head_of(about);
    if head.len() >= HEAD_BYTES {
        return Err(said(ErrorKind::InvalidFilename.into()));
    }
    is_there(path).map_err(said)?;
    let draft = path.with_added_extension("new");
    // A draft that a killed run did not complete.
    if is_there(&draft).map_err(|error| of_state(&draft, &error))? {
        std::fs::remove_file(&draft).map_err(said)?;
    }
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).mode(0o600).open(&draft).map_err(said)?;
    file.write_all_at(&head, 0).map_err(said)?;
    let region = SharedRegion::of_file(file.as_fd(), HEAD_WORDS + words).map_err(said)?;
    Ok((region, Draft { draft, path: path.to_owned() }))
}

/// Whether there is an older state of this name. Fails if another kind of file has the name.
fn is_there(path: &Path) -> io::Result<bool> {
    let mut file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let mut magic = [0; MAGIC.len()];
    if !file.metadata()?.is_file() || file.read_exact(&mut magic).is_err() || magic != *MAGIC.as_bytes() {
        let reason = "a file of this name is there that is no state; remove it, or choose another folder by --aux-path";
        return Err(io::Error::new(ErrorKind::AlreadyExists, reason));
    }
    Ok(true)
}

/// Opens for reading, without following a link and without waiting for a writer of a pipe.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

/// Reads a state.
///
/// # Errors
/// The file does not exist, or is not a state.
pub fn read(path: &Path) -> io::Result<Kept> {
    let wrong = |reason: String| io::Error::new(ErrorKind::InvalidData, format!("{}: {reason}", path.display()));
    let mut file = open(path).map_err(|error| {
        wrong(format!(
            "{error}; a run with verify_state_save=1 makes it, in the working directory or that of --aux-path"
        ))
    })?;
    if !file.metadata()?.is_file() {
        return Err(wrong("it is not a regular file".to_owned()));
    }
    // If the file is not a state, nothing more of it is read, however large it is.
    let mut head = vec![0; HEAD_BYTES];
    let is_whole = file.read_exact(&mut head).is_ok();
    let about = if is_whole { parse(&head) } else { None };
    let about = about.ok_or_else(|| wrong("it is not a state that verify_state_save has made".into()))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| wrong(error.to_string()))?;
    let mut words: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_ne_bytes([pair[0], pair[1]])).collect();
    let durable = if about.durable { words.split_off(words.len() / 2) } else { Vec::new() };
    Ok(Kept { about, words, durable })
}

/// Reads a state of `verified` (of any file, if that is not given). Its intervals must have
/// `interval_bytes` and line up with those from `start_bytes` on.
pub(crate) fn load(
    path: &Path,
    verified: Option<&Path>,
    interval_bytes: u64,
    start_bytes: u64,
    durable: bool,
) -> io::Result<Kept> {
    let kept = read(path).map_err(|error| io::Error::new(error.kind(), format!("verify_state_load: {error}")))?;
    let wrong = |reason: String| {
        io::Error::new(ErrorKind::InvalidData, format!("verify_state_load: {}: {reason}", path.display()))
    };
    let about = &kept.about;
    if let Some(verified) = verified.filter(|verified| about.path != **verified) {
        return Err(wrong(format!(
            "it is of {}, not of {}; verify_state_file loads it all the same",
            about.path.display(),
            verified.display()
        )));
    }
    if about.interval_bytes != interval_bytes || about.start_bytes % interval_bytes != start_bytes % interval_bytes {
        let (had, starts) = (about.interval_bytes, about.start_bytes);
        return Err(wrong(format!(
            "its intervals have {had} bytes from {starts} on, those of the job {interval_bytes} from {start_bytes} on; give both the same verify_interval and offset"
        )));
    }
    if durable && !about.durable {
        return Err(wrong(
            "it does not know what was flushed; the run that saves it needs verify_policy=durable, too".to_owned(),
        ));
    }
    Ok(kept)
}

fn head_of(about: &About) -> Vec<u8> {
    let runs: Vec<String> = about.runs.iter().map(u64::to_string).collect();
    let mut head = format!(
        "{MAGIC}interval_bytes={}\nstart_bytes={}\nend_bytes={}\nseed={}\nruns={}\ndurable={}\n",
        about.interval_bytes,
        about.start_bytes,
        about.end_bytes,
        about.seed.map(|seed| seed.to_string()).unwrap_or_default(),
        runs.join(","),
        u8::from(about.durable)
    );
    for option in about.options.iter().filter(|option| !option.contains(['\n', '\0'])) {
        head.push_str(&format!("option={option}\n"));
    }
    head.push_str("path=");
    let mut head = head.into_bytes();
    head.extend(about.path.as_os_str().as_bytes());
    head
}

fn parse(head: &[u8]) -> Option<About> {
    let end = head.iter().position(|byte| *byte == 0)?;
    let mut rest = head[..end].strip_prefix(MAGIC.as_bytes())?;
    let mut fields = BTreeMap::new();
    let mut options = Vec::new();
    let path = loop {
        if let Some(path) = rest.strip_prefix(b"path=") {
            break PathBuf::from(std::ffi::OsStr::from_bytes(path));
        }
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let (name, value) = std::str::from_utf8(&rest[..end]).ok()?.split_once('=')?;
        match name {
            "option" => options.push(value.to_owned()),
            _ => _ = fields.insert(name, value),
        }
        rest = &rest[end + 1..];
    };
    let number = |name: &str| fields.get(name)?.parse::<u64>().ok();
    let runs: Option<Vec<u64>> = fields.get("runs")?.split(',').map(|run| run.parse().ok()).collect();
    Some(About {
        path,
        interval_bytes: number("interval_bytes").filter(|bytes| *bytes > 0)?,
        start_bytes: number("start_bytes")?,
        end_bytes: number("end_bytes")?,
        seed: number("seed"),
        runs: runs?,
        durable: number("durable")? == 1,
        options,
    })
}

#[cfg(test)]
mod tests;
