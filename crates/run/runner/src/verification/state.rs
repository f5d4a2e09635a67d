//! What each interval must hold, kept in a file from the first write on (`verify_state_save`), and
//! taken over by a later run (`verify_state_load`).
//!
//! ```text
//!  0     "iolab verify state 1\n"
//!        "interval_bytes=N\n" "start_bytes=N\n" "seed=N\n" (or "seed=\n": several)
//!        "path=" and the name of the verified file, to the first zero byte
//!  8192  two bytes for each interval, in the order of bytes of the machine
//! ```
//!
//! The file is mapped while the run goes on. An interval is marked before a write is sent and gets
//! its new generation when the write has succeeded: whenever the processes die, a marked one may
//! hold the old or the new data, and all others are as the file says. Nothing is flushed: after a
//! crash of the machine the file may be older than the data.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use iolab_memory::SharedRegion;
use iolab_verify::Word;

const MAGIC: &str = "iolab verify state 1\n";
const HEAD_BYTES: usize = 8192;
/// Words in front of those of the intervals.
pub(crate) const HEAD_WORDS: usize = HEAD_BYTES / size_of::<Word>();

/// What a state is of.
pub(crate) struct About<'a> {
    pub(crate) path: &'a Path,
    pub(crate) interval_bytes: u64,
    pub(crate) start_bytes: u64,
    /// The seed of all jobs, if they have the same.
    pub(crate) seed: Option<u64>,
}

/// What an earlier run has kept.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) start_bytes: u64,
    pub(crate) seed: Option<u64>,
    pub(crate) words: Vec<u16>,
}

/// The name of the state of a verified file: another one for each in `taken`, which it joins.
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

/// A state that is being made. It has its name only once it is complete: until then an older one
/// stays.
#[derive(Debug)]
pub(crate) struct Draft {
    draft: PathBuf,
    path: PathBuf,
}

impl Draft {
    /// Gives it its name, in the place of an older state.
    pub(crate) fn publish(self) -> io::Result<()> {
        std::fs::rename(&self.draft, &self.path).map_err(|error| of_state(&self.path, &error))
    }
}

fn of_state(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the state {}: {error}", path.display()))
}

/// Makes a state for so many intervals, all unknown.
pub(crate) fn create(path: &Path, about: &About<'_>, words: usize) -> io::Result<(SharedRegion<Word>, Draft)> {
    let said = |error: io::Error| of_state(path, &error);
    let seed = about.seed.map(|seed| seed.to_string()).unwrap_or_default();
    let mut head = format!(
        "{MAGIC}interval_bytes={}\nstart_bytes={}\nseed={seed}\npath=",
        about.interval_bytes, about.start_bytes
    )
    .into_bytes();
    head.extend(about.path.as_os_str().as_bytes());
    if head.len() >= HEAD_BYTES {
        return Err(said(ErrorKind::InvalidFilename.into()));
    }
    is_there(path).map_err(said)?;
    let draft = path.with_added_extension("new");
    // One that a killed run did not complete.
    if is_there(&draft).map_err(|error| of_state(&draft, &error))? {
        std::fs::remove_file(&draft).map_err(said)?;
    }
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).mode(0o600).open(&draft).map_err(said)?;
    file.write_all_at(&head, 0).map_err(said)?;
    let region = SharedRegion::of_file(file.as_fd(), HEAD_WORDS + words).map_err(said)?;
    Ok((region, Draft { draft, path: path.to_owned() }))
}

/// Whether there is an older state of this name. An error if something else has the name.
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

/// Reads a state of `verified`, which must have intervals of `interval_bytes` that line up with
/// those from `start_bytes` on.
pub(crate) fn load(path: &Path, verified: &Path, interval_bytes: u64, start_bytes: u64) -> io::Result<Kept> {
    let wrong = |reason: String| {
        io::Error::new(ErrorKind::InvalidData, format!("verify_state_load: {}: {reason}", path.display()))
    };
    let mut file = open(path).map_err(|error| {
        wrong(format!(
            "{error}; a run with verify_state_save=1 makes it, in the working directory or that of --aux-path"
        ))
    })?;
    if !file.metadata()?.is_file() {
        return Err(wrong("it is not a regular file".to_owned()));
    }
    // Nothing more of a file that is no state is read, however large it is.
    let mut head = vec![0; HEAD_BYTES];
    let is_whole = file.read_exact(&mut head).is_ok();
    let about = if is_whole { parse(&head) } else { None };
    let about = about.ok_or_else(|| wrong("it is not a state that verify_state_save has made".into()))?;
    if about.path != verified {
        return Err(wrong(format!("it is of {}, not of {}", about.path.display(), verified.display())));
    }
    if about.interval_bytes != interval_bytes || about.start_bytes % interval_bytes != start_bytes % interval_bytes {
        let (had, starts) = (about.interval_bytes, about.start_bytes);
        return Err(wrong(format!(
            "its intervals have {had} bytes from {starts} on, those of the job {interval_bytes} from {start_bytes} on; give both the same verify_interval and offset"
        )));
    }
    let mut words = Vec::new();
    file.read_to_end(&mut words).map_err(|error| wrong(error.to_string()))?;
    let words = words.chunks_exact(2).map(|pair| u16::from_ne_bytes([pair[0], pair[1]])).collect();
    Ok(Kept { start_bytes: about.start_bytes, seed: about.seed, words })
}

fn parse(head: &[u8]) -> Option<About<'_>> {
    let end = head.iter().position(|byte| *byte == 0)?;
    let mut lines = head[..end].strip_prefix(MAGIC.as_bytes())?.splitn(4, |byte| *byte == b'\n');
    let mut value = |name: &str| lines.next()?.strip_prefix(name.as_bytes())?.strip_prefix(b"=");
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse::<u64>().ok();
    let interval_bytes = number(value("interval_bytes")?)?;
    let start_bytes = number(value("start_bytes")?)?;
    let seed = number(value("seed")?);
    let path = Path::new(std::ffi::OsStr::from_bytes(value("path")?));
    Some(About { path, interval_bytes, start_bytes, seed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_state_is_read_as_it_was_kept_and_nothing_else_is_taken_for_one() {
        let folder = std::env::temp_dir().join(format!("iolab-verify-state-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (path, verified) = (folder.join("state"), Path::new("data\nwith a line"));
        for seed in [None, Some(7)] {
            let about = About { path: verified, interval_bytes: 512, start_bytes: 1024, seed };
            let (region, draft) = create(&path, &about, 3).unwrap();
            draft.publish().unwrap();
            assert_eq!(region.len(), HEAD_WORDS + 3);
            region[HEAD_WORDS + 1].store(0x8003, Ordering::Relaxed);
            let kept = load(&path, verified, 512, 0).unwrap();
            assert_eq!((kept.start_bytes, kept.seed, &kept.words[..]), (1024, seed, &[0, 0x8003, 0][..]));
        }
        for (other, interval_bytes, start_bytes) in
            [("data", 512, 0), ("data\nwith a line", 1024, 0), ("data\nwith a line", 512, 8)]
        {
            assert!(load(&path, Path::new(other), interval_bytes, start_bytes).is_err(), "{other} {start_bytes}");
        }
        let about = About { path: verified, interval_bytes: 512, start_bytes: 0, seed: None };
        // A run that is killed before its state is complete leaves the older one.
        drop(create(&path, &about, 9).unwrap());
        assert_eq!(load(&path, verified, 512, 0).unwrap().words.len(), 3);
        create(&path, &about, 9).unwrap().1.publish().unwrap();
        assert_eq!(load(&path, verified, 512, 0).unwrap().words.len(), 9);
        for foreign in [&b""[..], b"somebody's own", &MAGIC.as_bytes()[1..]] {
            std::fs::write(&path, foreign).unwrap();
            assert!(create(&path, &about, 1).is_err());
            assert_eq!(std::fs::read(&path).unwrap(), foreign);
            assert!(load(&path, verified, 512, 0).is_err());
        }
        std::fs::write(&path, MAGIC).unwrap();
        assert!(load(&path, verified, 512, 0).is_err(), "cut off");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn files_of_one_name_have_states_of_their_own() {
        let mut taken = BTreeSet::new();
        let names = ["a/f", "b/f", "g"].map(|path| free_name(Path::new(path), &mut taken));
        assert_eq!(names, ["local-f-verify.state", "local-f.2-verify.state", "local-g-verify.state"]);
    }
}
