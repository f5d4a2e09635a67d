//! The guard judges the file at a path by what it *is*, and opens, creates and removes it.
//!
//! The guard returns exactly the file that it judged. A file may be changed when
//! - it has the mark of iolab ([`crate::mark_layout`]),
//! - or nothing would be lost: it is empty, or one hole, and has no other name,
//! - or the user allowed it ([`GuardRules::allowed`]; as in fio, [`GuardedPath::exact`] for a job
//!   that writes).
//!
//! A file may be removed only with the mark or the user's permission. A file in use needs the
//! user's permission, marked or not. The guard prints nothing: it returns hazards, and whether each
//! is accepted.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iolab_observe::System;
use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;

use crate::in_use::InUse;
use crate::opening::{self, Closed, Place};
use crate::request::{GuardRules, GuardedPath, JudgedHazard, OpenMode, PathChange, Presence, Refusal, Removal};
use crate::{Danger, Hazard, Identity, LayoutMark, layout_mark, mark_layout};

/// Attempts to create or open a file while another process creates and removes it.
const TRIES: u32 = 8;

/// Judges, opens, creates and removes files.
#[derive(Debug)]
pub struct Guard {
    in_use: InUse,
    rules: GuardRules,
    allowed: BTreeSet<Identity>,
    /// Paths that did not exist when they were judged: a file found there later was created by this
    /// run. Only used where files cannot have a mark.
    absent: BTreeSet<PathBuf>,
    /// Devices that were judged already.
    passed: BTreeSet<Identity>,
}

impl Guard {
    /// A guard with the current tables of `system`.
    pub fn new(system: &System, rules: GuardRules) -> Guard {
        let identity = |path: &PathBuf| std::fs::metadata(path).ok().map(|metadata| Identity::of(&metadata));
        let allowed = rules.allowed.iter().filter_map(identity).collect();
        let in_use = InUse::look(system);
        Guard { in_use, allowed, rules, absent: BTreeSet::new(), passed: BTreeSet::new() }
    }

    /// A guard of this machine, with its current tables.
    pub fn live(rules: GuardRules) -> Guard {
        Guard::new(&System::live(), rules)
    }

    /// The hazards of `change` for a file that the caller has opened by the path of `target`,
    /// whether or not the rules accept them. The caller checks locks.
    pub fn hazards_of(&self, target: &GuardedPath<'_>, change: &PathChange, file: &File) -> Vec<Hazard> {
        let judgements = self.judge_open(target, change, file, false);
        judgements.into_iter().map(|judgement| judgement.hazard).collect()
    }

    /// Everything that `change` would destroy at `target`, and whether the rules accept it. Changes
    /// nothing. The same guard may later open what was judged now.
    pub fn judge(&mut self, target: &GuardedPath<'_>, change: &PathChange) -> Vec<JudgedHazard> {
        let file = match look(target, change) {
            Ok(Some(file)) => file,
            Ok(None) => {
                self.absent.insert(target.path.to_owned());
                return Vec::new();
            }
            Err(Refusal::Hazards(hazards)) => return hazards.into_iter().map(|hazard| self.refused(hazard)).collect(),
            Err(Refusal::Io(error)) => {
                return vec![self.refused(Danger::Unknown { reason: error.to_string() }.at(target.path))];
            }
        };
        let judgements = self.judge_open(target, change, &file, true);
        if let Ok(metadata) = file.metadata()
            && judgements.iter().all(|judgement| judgement.accepted)
        {
            self.passed.insert(Identity::of(&metadata));
        }
        judgements
    }

    /// Checks whether the caller may do `change` to the file at `target` after opening it by its
    /// path.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn allow(&self, target: &GuardedPath<'_>, change: &PathChange) -> Result<Presence, Refusal> {
        match look(target, change)? {
            Some(file) => self.check(target, change, &file).map(|()| Presence::There),
            None => Ok(Presence::Missing),
        }
    }

    /// Marks the file at `target` as created by this run: only for what was [`Presence::Missing`]
    /// before.
    pub fn adopt(&self, target: &GuardedPath<'_>) {
        let found = self.place(target, false).ok().and_then(|place| place.look().ok().flatten());
        let is_ours = |file: &File| file.metadata().is_ok_and(|found| found.is_file() || found.is_dir());
        if let Some(file) = found.filter(is_ours) {
            let _marked = mark_layout(&file);
        }
    }

    /// Opens the file at `target` if `change` may be done to it, or creates it. A file that is
    /// created or was empty is marked when the change writes to it.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn open(&self, target: &GuardedPath<'_>, change: &PathChange, opening: &OpenMode) -> Result<File, Refusal> {
        let place = self.place(target, opening.make_folders)?;
        let mode = Mode::from_raw_mode(0o666);
        for attempt in 0..TRIES {
            if opening.create {
                // A dangling link exists too: one that the user named is followed in the last
                // attempt.
                let last = attempt + 1 == TRIES && target.beneath.is_none();
                let exclusive = if last { OFlags::empty() } else { OFlags::EXCL };
                match place.open(opening.flags | OFlags::CREATE | exclusive, mode) {
                    Ok(file) => {
                        if !last {
                            let _marked = mark_layout(&file);
                            return Ok(file);
                        }
                        return self.opened(target, change, file);
                    }
                    Err(Closed::Errno(Errno::EXIST)) => {}
                    Err(closed) => return Err(refusal(target.path, closed)),
                }
            }
            // A pipe without a reader must not block a job that writes to a file.
            let writes = opening.flags.intersects(OFlags::WRONLY | OFlags::RDWR);
            let at_once = if writes { OFlags::NONBLOCK } else { OFlags::empty() };
            match place.open(opening.flags | at_once | OFlags::NOCTTY, Mode::empty()) {
                Err(Closed::Errno(Errno::NOENT)) if opening.create => {}
                Err(closed) => return Err(refusal(target.path, closed)),
                Ok(file) => return self.opened(target, change, file),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Removes the regular file at `target` if that is allowed; returns whether there was one.
    /// Anything else stays.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn remove(&self, target: &GuardedPath<'_>, change: &PathChange) -> Result<bool, Refusal> {
        let place = self.place(target, false)?;
        if place.is_link() {
            return Ok(false);
        }
        let Some(file) = place.look().map_err(|closed| refusal(target.path, closed))? else { return Ok(false) };
        if !file.metadata()?.is_file() {
            return Ok(false);
        }
        self.check(target, &PathChange { removal: Removal::File, ..*change }, &file)?;
        place.unlink()?;
        Ok(true)
    }

    fn place(&self, target: &GuardedPath<'_>, make_folders: bool) -> Result<Place, Refusal> {
        Place::of(target, make_folders).map_err(|closed| refusal(target.path, closed))
    }

    /// Returns an existing file if it may be changed.
    fn opened(&self, target: &GuardedPath<'_>, change: &PathChange, file: File) -> Result<File, Refusal> {
        let metadata = file.metadata()?;
        let fresh = change.touches(metadata.len()) && metadata.is_file() && is_nobodys(&metadata, &file);
        self.check(target, change, &file)?;
        let flags = rustix::fs::fcntl_getfl(&file)?;
        rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
        if fresh {
            // Without the mark, a later run asks the user before it overwrites the file; that is no
            // reason to fail this run.
            let _marked = mark_layout(&file);
        }
        Ok(file)
    }

    fn check(&self, target: &GuardedPath<'_>, change: &PathChange, file: &File) -> Result<(), Refusal> {
        let judgements = self.judge_open(target, change, file, false);
        let refused: Vec<Hazard> =
            judgements.into_iter().filter(|judgement| !judgement.accepted).map(|judgement| judgement.hazard).collect();
        if refused.is_empty() { Ok(()) } else { Err(Refusal::Hazards(refused)) }
    }

    /// With `thorough`, a device is examined again, and locks are tried.
    fn judge_open(
        &self,
        target: &GuardedPath<'_>,
        change: &PathChange,
        file: &File,
        thorough: bool,
    ) -> Vec<JudgedHazard> {
        let metadata = match file.metadata() {
            Ok(metadata) => metadata,
            Err(error) => {
                return vec![self.refused(Danger::Unknown { reason: error.to_string() }.at(target.path))];
            }
        };
        let identity = Identity::of(&metadata);
        if !change.touches(metadata.len()) || self.allowed.contains(&identity) {
            return Vec::new();
        }
        let kind = metadata.file_type();
        let hazards = if let Identity::Device(number) = identity {
            let known = !thorough && self.passed.contains(&identity);
            if known { Vec::new() } else { self.in_use.of_device(target.path, number, Some(file)) }
        } else if kind.is_file() {
            let mut hazards = self.in_use.of_file(target.path, identity, file, thorough);
            hazards.extend(self.foreign(target, change, &metadata, file));
            hazards
        } else if kind.is_dir() && change.removal == Removal::Name {
            let ours = matches!(layout_mark(file), Ok(LayoutMark::Present));
            if ours { Vec::new() } else { vec![Danger::ForeignFolder.at(target.path)] }
        } else {
            Vec::new()
        };
        hazards.into_iter().map(|hazard| self.judged(hazard, target, change)).collect()
    }

    /// The hazard of a file whose data would be lost.
    fn foreign(
        &self,
        target: &GuardedPath<'_>,
        change: &PathChange,
        metadata: &Metadata,
        file: &File,
    ) -> Option<Hazard> {
        if change.removal == Removal::None && is_nobodys(metadata, file) {
            return None;
        }
        let size_bytes = metadata.len();
        match layout_mark(file) {
            Ok(LayoutMark::Present) => None,
            Ok(LayoutMark::Unsupported) if self.absent.contains(target.path) => None,
            Ok(mark) => Some(Danger::Foreign { size_bytes, marks_work: mark == LayoutMark::Absent }.at(target.path)),
            Err(error) => Some(Danger::Unknown { reason: error.to_string() }.at(target.path)),
        }
    }

    fn judged(&self, hazard: Hazard, target: &GuardedPath<'_>, change: &PathChange) -> JudgedHazard {
        let accepted = match hazard.danger {
            Danger::Foreign { .. } => self.rules.as_fio && target.exact && change.overwrites,
            ref danger => danger.is_use() && change.in_use_is_accepted,
        };
        JudgedHazard { hazard, accepted }
    }

    fn refused(&self, hazard: Hazard) -> JudgedHazard {
        JudgedHazard { hazard, accepted: false }
    }
}

/// Opens the file at `target` without changing it; `None` if there is no such name.
fn look(target: &GuardedPath<'_>, change: &PathChange) -> Result<Option<File>, Refusal> {
    let place = match Place::of(target, false) {
        Ok(place) => place,
        Err(closed) => return nothing_or(target.path, closed),
    };
    if change.removal == Removal::Name && place.is_link() {
        return Err(Refusal::Hazards(vec![Danger::ForeignLink.at(target.path)]));
    }
    place.look().or_else(|closed| nothing_or(target.path, closed))
}

/// `None` if a name or a folder on the way to it is missing.
fn nothing_or(path: &Path, closed: Closed) -> Result<Option<File>, Refusal> {
    match closed {
        Closed::Errno(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        closed => Err(refusal(path, closed)),
    }
}

fn refusal(path: &Path, closed: Closed) -> Refusal {
    match closed {
        Closed::Strays(reason) => Refusal::Hazards(vec![Danger::Strays { reason }.at(path)]),
        Closed::Errno(errno) => errno.into(),
    }
}

/// Whether changing a regular file would lose nothing: it is empty or one hole, and has only this
/// name.
fn is_nobodys(metadata: &Metadata, file: &File) -> bool {
    metadata.nlink() <= 1 && holds_no_data(metadata, file)
}

/// Whether a regular file is empty or one hole (`SEEK_DATA`, lseek(2)).
fn holds_no_data(metadata: &Metadata, file: &File) -> bool {
    if metadata.len() == 0 {
        return true;
    }
    let no_data = |file: &File| {
        let found = rustix::fs::seek(file, SeekFrom::Data(0));
        // The user of the file starts at its beginning.
        let _ = rustix::fs::seek(file, SeekFrom::Start(0));
        found == Err(Errno::NXIO)
    };
    if no_data(file) {
        return true;
    }
    // An `O_PATH` descriptor cannot seek.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(opening::again(file), flags, Mode::empty()).is_ok_and(|fd| no_data(&File::from(fd)))
}

/// The uses of the device or file at a path that the user named: for programs that check before
/// they pass it to another program.
pub fn hazards_at(system: &System, path: &Path) -> Vec<Hazard> {
    let mut guard = Guard::new(system, GuardRules::default());
    if let Some(number) = system.device_of_node(path) {
        let node = std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device());
        let look = || Place::of(&GuardedPath::named(path), false).and_then(|place| place.look()).ok().flatten();
        let file = if system.is_live() && node { look() } else { None };
        return guard.in_use.of_device(path, number, file.as_ref());
    }
    let judgements = guard.judge(&GuardedPath::named(path), &PathChange::OVERWRITES);
    judgements.into_iter().map(|judgement| judgement.hazard).collect()
}
