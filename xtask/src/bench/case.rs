//! One engine at one depth on one area, and the programs that take turns there: iolab with its
//! defaults, fio with its defaults, fio at its best, a bare loop and, if the user names it, fio's
//! own minimal loop.
//!
//! This module knows how each is started and counted, but knows no targets.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::counts;
use super::job::{End, Job};
use super::spending::{self, Spent};
use super::turns::{self, Entrant, Figures};
use super::{Bench, Size};
use crate::area::TestArea;
use crate::programs::is_installed;
use crate::spread::spread;

/// One engine at one depth on one area.
pub(super) struct Case<'a> {
    pub(super) bench: &'a Bench,
    pub(super) area: &'a TestArea,
    pub(super) engine: &'static str,
    pub(super) depth: u32,
    /// The bare loop of this engine.
    pub(super) bare: &'a Path,
    /// Options that may make fio cheaper; `=Q` means a quarter of the depth and `=D` the depth.
    pub(super) settings: &'static [&'static str],
}

/// The role of a program in a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// iolab with its defaults.
    Iolab,
    /// fio with its defaults.
    Fio,
    /// fio with the settings that make it cheapest.
    FioAtBest,
    /// iolab with the same settings.
    IolabAlike,
    /// A loop around our engine, or around the system call.
    Bare,
    /// fio's t/io_uring.
    Minimal,
}

/// The results of one program.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) role: Role,
    pub(super) name: String,
    /// By round: IOPS, IOPS per second of processor time, user nanoseconds of an operation.
    pub(super) figures: Figures,
    pub(super) calls: Option<f64>,
    pub(super) instructions: Option<f64>,
}

/// A program and how to run it.
struct Program<'a> {
    role: Role,
    name: String,
    kind: Kind<'a>,
    start: Start,
}

enum Kind<'a> {
    /// fio, or iolab called as fio.
    Fio(&'a Path, Job),
    /// `PATH DEPTH BATCH COUNT`, with the count that fills the time.
    Bare(&'a Path, u64),
    /// fio's t/io_uring, which knows only seconds.
    Minimal(&'a Path),
}

/// Processor time of a run that does next to nothing.
#[derive(Debug, Clone, Copy, Default)]
struct Start {
    user_s: f64,
    processor_s: f64,
}

impl Case<'_> {
    /// Its name in tables.
    pub(super) fn name(&self) -> String {
        let area = if self.is_device() { "RAM disk" } else { "file" };
        format!("{area}, {}, depth {}", self.engine, self.depth)
    }

    /// Whether the area is a block device, for exclusive use.
    pub(super) fn is_device(&self) -> bool {
        self.area.target.starts_with("/dev")
    }

    fn job(&self) -> Job {
        Job::on(&self.area.target, self.area.bytes, self.engine, self.depth)
    }

    /// The batch size of the bare loops: iolab's default.
    fn batch(&self) -> u32 {
        (self.depth / 4).clamp(1, 16)
    }

    /// Runs all programs in turn, then counts.
    pub(super) fn measure(&self) -> Result<Vec<Outcome>, String> {
        println!("{}", self.name());
        let programs = self.programs()?;
        let entrants: Vec<Entrant<'_>> =
            programs.iter().map(|program| Entrant::new(program.name.clone(), || self.turn(program))).collect();
        let found = turns::take(&entrants, self.bench.rounds)?;
        let outcome = |(program, figures): (&Program<'_>, Figures)| {
            let (calls, instructions) = (self.system_calls(program)?, self.instructions(program)?);
            Ok(Outcome { role: program.role, name: program.name.clone(), figures, calls, instructions })
        };
        programs.iter().zip(found).map(outcome).collect()
    }

    fn programs(&self) -> Result<Vec<Program<'_>>, String> {
        let (iolab, fio) = (self.bench.iolab.as_path(), Path::new("fio"));
        let first = self.job().run(iolab, End::AfterMs(self.bench.runtime_ms))?;
        let mut programs = vec![
            self.program(Role::Iolab, "iolab", Kind::Fio(iolab, self.job()))?,
            self.program(Role::Fio, "fio", Kind::Fio(fio, self.job()))?,
        ];
        if let Some((words, job)) = self.best_of_fio(fio)? {
            programs.push(self.program(Role::FioAtBest, &format!("fio `{words}`"), Kind::Fio(fio, job.clone()))?);
            if words.contains("batch") {
                programs.push(self.program(Role::IolabAlike, "iolab, as fio above", Kind::Fio(iolab, job))?);
            }
        }
        programs.push(self.program(Role::Bare, "bare loop", Kind::Bare(self.bare, first.operations as u64))?);
        if let Some(path) = &self.bench.t_io_uring
            && self.engine == "io_uring"
            && self.is_device()
        {
            programs.push(self.program(Role::Minimal, "t/io_uring", Kind::Minimal(path))?);
        }
        Ok(programs)
    }

    fn program<'a>(&self, role: Role, name: &str, kind: Kind<'a>) -> Result<Program<'a>, String> {
        let mut program = Program { role, name: name.to_owned(), kind, start: Start::default() };
        // The start of the other programs is negligible.
        if let Kind::Fio(path, job) = &program.kind {
            let starts = if self.bench.size == Size::Small { 1 } else { 3 };
            let runs: Result<Vec<Spent>, String> =
                (0..starts).map(|_| Ok(job.run(path, End::AfterOperations(1))?.spent)).collect();
            let runs = runs?;
            let middle = |of: fn(&Spent) -> f64| spread(&runs.iter().map(of).collect::<Vec<_>>()).median;
            program.start = Start { user_s: middle(|spent| spent.user_s), processor_s: middle(Spent::processor_s) };
        }
        Ok(program)
    }

    /// The settings with which fio does most operations per second of processor time; each is tried
    /// once.
    fn best_of_fio(&self, fio: &Path) -> Result<Option<(String, Job)>, String> {
        let mut best: Option<(f64, String, Job)> = None;
        // Without depth there are no batches to set.
        let tried = match (self.depth, self.bench.size) {
            (1, _) => 1,
            (_, Size::Small) => 2,
            (_, Size::Real) => self.settings.len(),
        };
        for words in self.settings.iter().take(tried) {
            let words = words.replace("=Q", &format!("={}", self.batch())).replace("=D", &format!("={}", self.depth));
            let job = self.job().with(&words);
            let ran = job.run(fio, End::AfterMs(self.bench.runtime_ms))?;
            let per_second = ran.operations / ran.spent.processor_s();
            if best.as_ref().is_none_or(|(most, ..)| per_second > *most) {
                best = Some((per_second, words, job));
            }
        }
        Ok(best.map(|(_, words, job)| (words, job)))
    }

    fn turn(&self, program: &Program<'_>) -> Result<Vec<f64>, String> {
        let (spent, operations, iops) = match &program.kind {
            Kind::Fio(path, job) => {
                let ran = job.run(path, End::AfterMs(self.bench.runtime_ms))?;
                (ran.spent, ran.operations, ran.iops)
            }
            Kind::Bare(_, count) => {
                let spent = spending::spend(&mut self.command(program, *count))?;
                let iops = *count as f64 / spent.wall_s;
                (spent, *count as f64, iops)
            }
            Kind::Minimal(_) => {
                let before = self.device_reads()?;
                let spent = spending::spend(&mut self.command(program, 1))?;
                let operations = self.device_reads()? - before;
                let iops = operations / spent.wall_s;
                (spent, operations, iops)
            }
        };
        let processor_s = (spent.processor_s() - program.start.processor_s).max(1e-9);
        let user_ns = (spent.user_s - program.start.user_s).max(0.0) * 1e9;
        Ok(vec![iops, operations / processor_s, user_ns / operations.max(1.0)])
    }

    /// The command for this number of operations; for the minimal loop, seconds.
    fn command(&self, program: &Program<'_>, count: u64) -> Command {
        match &program.kind {
            Kind::Fio(path, job) => job.command(path, End::AfterOperations(count)),
            Kind::Bare(path, _) => {
                let mut command = Command::new(path);
                command.arg(&self.area.target);
                command.args([u64::from(self.depth), u64::from(self.batch()), count].map(|number| number.to_string()));
                command
            }
            Kind::Minimal(path) => {
                let (depth, batch) = (self.depth, self.batch());
                let words = format!("-p0 -d{depth} -s{batch} -c{batch} -r{count}");
                let mut command = Command::new(path);
                command.args(words.split(' ')).arg(&self.area.target);
                command
            }
        }
    }

    /// Reads that the block device has completed since it was made (Documentation/block/stat.rst);
    /// no other program uses it.
    fn device_reads(&self) -> Result<f64, String> {
        let name = self.area.target.file_name().unwrap_or_default();
        let path = PathBuf::from("/sys/block").join(name).join("stat");
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let reads = text.split_whitespace().next().and_then(|word| word.parse().ok());
        reads.ok_or_else(|| format!("{} says {text}", path.display()))
    }

    fn system_calls(&self, program: &Program<'_>) -> Result<Option<f64>, String> {
        if !is_installed("strace") || matches!(program.kind, Kind::Minimal(_)) {
            return Ok(None);
        }
        counts::system_calls(|count| self.command(program, count), self.bench.counted()).map(Some)
    }

    /// Instructions do not depend on the area, so they are counted on only one of them. In the
    /// small size they are counted for `psync` only, because callgrind takes seconds for each
    /// program.
    fn instructions(&self, program: &Program<'_>) -> Result<Option<f64>, String> {
        let wanted = self.is_device() || (self.bench.size == Size::Small && self.settings.is_empty());
        if !wanted || !is_installed("valgrind") {
            return Ok(None);
        }
        let counted = match &program.kind {
            Kind::Minimal(_) => return self.minimal_instructions(program).map(Some),
            Kind::Fio(path, job) => {
                let job = job.clone().with("--thread");
                counts::instructions(
                    |count| job.command(path, End::AfterOperations(count)),
                    self.bench.counted_instructions(),
                )
            }
            Kind::Bare(..) => {
                counts::instructions(|count| self.command(program, count), self.bench.counted_instructions())
            }
        };
        counted.map(Some)
    }

    /// From two lengths in seconds, with the operations that the device counts.
    fn minimal_instructions(&self, program: &Program<'_>) -> Result<f64, String> {
        let measure = |seconds| -> Result<(f64, f64), String> {
            let before = self.device_reads()?;
            let count = counts::collected(&self.command(program, seconds))?;
            Ok((count, self.device_reads()? - before))
        };
        let (short, long) = (measure(2)?, measure(4)?);
        Ok((long.0 - short.0) / (long.1 - short.1).max(1.0))
    }
}
