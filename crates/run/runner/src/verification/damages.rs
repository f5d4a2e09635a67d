//! Checked and damaged intervals: counted, described, and kept in files if the job asks for it
//! (`verify_dump`).

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use iolab_plan::{VerifyPlan, WorkerPlan};
use iolab_recording::{AftermathRecording, DamageRecording, VerificationRecording};
use iolab_verify::{CrashBound, Held, Mismatch, Recipe};

use crate::verification::judge::Demand;

/// The largest number of mismatches kept with all details.
const MOST_KEPT: usize = 100;

/// The findings of one worker.
#[derive(Debug)]
pub(crate) struct Damages<'a> {
    worker: &'a WorkerPlan,
    plan: &'a VerifyPlan,
    found: VerificationRecording,
    dumped: usize,
}

impl<'a> Damages<'a> {
    pub(crate) fn new(worker: &'a WorkerPlan, plan: &'a VerifyPlan) -> Damages<'a> {
        Damages { worker, plan, found: VerificationRecording::default(), dumped: 0 }
    }

    /// An interval was checked, and had this content.
    #[inline]
    pub(crate) fn checked(&mut self, demand: Demand, held: Option<Held>) {
        self.found.intervals += 1;
        if let Demand::Aftermath(bound) = demand {
            note(self.found.aftermath.get_or_insert_default(), bound, held);
        }
    }

    /// An interval was damaged. Returns a sentence about it.
    #[cold]
    pub(crate) fn mismatch(&mut self, recipe: &Recipe, mismatch: &Mismatch, found: &[u8]) -> String {
        let path = &self.worker.files[mismatch.interval.file as usize].path;
        let kind = self.plan.kind.name();
        let mut text = format!("{kind}: verify failed at file {}, {mismatch}", path.display());
        if self.plan.dump && self.dumped < MOST_KEPT {
            self.dumped += 1;
            text.push_str(&self.dump(recipe, path, mismatch, found));
        }
        self.found.damaged += 1;
        if self.found.first.len() < MOST_KEPT {
            self.found.first.push(DamageRecording {
                file: path.display().to_string(),
                offset: mismatch.interval.offset,
                length: mismatch.length,
                reason: mismatch.why.to_string(),
                damage: mismatch.damage.to_string(),
            });
        }
        text
    }

    /// Saves the block and its expected content; returns a sentence about it.
    fn dump(&self, recipe: &Recipe, path: &Path, mismatch: &Mismatch, found: &[u8]) -> String {
        let name = path.file_name().map_or_else(|| "data".into(), |name| name.to_string_lossy().into_owned());
        let folder = self.plan.dump_folder.as_ref().map_or_else(PathBuf::new, PathBuf::from);
        let place = |what: &str| folder.join(format!("{name}.{}.{what}", mismatch.interval.offset));
        let mut text = String::new();
        let expected = recipe.must_be(mismatch.interval, mismatch.wanted, found);
        for (what, bytes) in [("received", Some(found)), ("expected", expected.as_deref())] {
            let Some(bytes) = bytes else { continue };
            match keep(&place(what), bytes) {
                Ok(path) => text.push_str(&format!("; {what} data dumped as {}", path.display())),
                Err(error) => text.push_str(&format!("; {what} data cannot be dumped: {error}")),
            }
        }
        text
    }

    pub(crate) fn take(&mut self) -> VerificationRecording {
        std::mem::take(&mut self.found)
    }
}

fn note(counts: &mut AftermathRecording, bound: CrashBound, held: Option<Held>) {
    let class = match bound {
        CrashBound::MustBeNew { .. } => &mut counts.must_be_new,
        CrashBound::MustNotBeOlder { .. } => &mut counts.must_not_be_older,
        CrashBound::MayBeEither { .. } | CrashBound::Unknown => &mut counts.may_be_either,
    };
    *class += 1;
    let Some(held) = held else { return };
    let kind = match held {
        Held::Newest => &mut counts.newest,
        Held::Older => &mut counts.older,
        Held::Newer => &mut counts.newer,
        Held::Discarded => &mut counts.zeroes,
        Held::Torn => &mut counts.torn,
        Held::Earlier => &mut counts.anything,
    };
    *kind += 1;
}

/// Writes a new file, under another name if the name is taken.
fn keep(path: &Path, bytes: &[u8]) -> std::io::Result<PathBuf> {
    for number in 1.. {
        let path = if number == 1 { path.to_path_buf() } else { path.with_added_extension(number.to_string()) };
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => return file.write_all(bytes).map(|()| path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 1000 => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::ErrorKind::AlreadyExists.into())
}
