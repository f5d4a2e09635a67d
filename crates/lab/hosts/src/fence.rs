//! What the jobs of clients may touch on a server: the files and folders that `--allow` names, and
//! what is below them.
//!
//! A plan is judged as a whole, before anything of it is done. What no rule about paths can judge
//! is refused: commands of the shell, settings of block devices, control groups. While a job is
//! resolved, it learns nothing of other files.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use iolab_activity::Failure;
use iolab_engine::{DeviceFacts, FileUse, OpenError};
use iolab_options::Settings;
use iolab_plan::{BufferMemory, FileOrigin, Plan, Reach, ReplayRules, ReplaySurvey, WorkerPlan};
use iolab_resolve::{MachineFacts, PathKind};
use iolab_runner::Engines;

/// Symbolic links that are followed in one path; the kernel follows 40 (path_resolution(7)).
const MOST_PARTS: usize = 4096;

const NOT_FOR_CLIENTS: &str = "is not for jobs of clients: run the job on the server itself";

/// The paths that jobs may touch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fence {
    /// Without links.
    below: Vec<PathBuf>,
    /// As they were given: names of devices that are no paths.
    given: Vec<PathBuf>,
}

impl Fence {
    /// Of what the server's user allows; without anything, the working folder.
    ///
    /// # Errors
    /// One does not exist. A name with `=` is one of a device in the language of an engine.
    pub(crate) fn new(allowed: &[PathBuf]) -> Result<Fence, Failure> {
        if allowed.is_empty() {
            return Fence::new(&[PathBuf::from(".")]);
        }
        let mut fence = Fence { below: Vec::new(), given: allowed.to_vec() };
        for path in allowed {
            match path.canonicalize() {
                Ok(path) => fence.below.push(path),
                Err(_) if path.to_string_lossy().contains('=') => {}
                Err(error) => return Err(Failure::mistake(format!("--allow={}: {error}", path.display()))),
            }
        }
        Ok(fence)
    }

    /// Whether jobs may touch what is, or would be made, at a path.
    pub(crate) fn admits(&self, path: &Path) -> bool {
        real(path).is_some_and(|path| self.below.iter().any(|allowed| path.starts_with(allowed)))
    }

    /// Whether jobs may use the device of this name.
    fn admits_device(&self, name: &Path) -> bool {
        self.given.iter().any(|given| given == name)
    }

    /// The folders and files, as they stand in messages.
    fn text(&self) -> String {
        self.below
            .iter()
            .chain(self.given.iter().filter(|given| !given.exists()))
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
            .join(", ")
    }

    pub(crate) fn refusal(&self, path: &Path) -> String {
        format!(
            "{}: jobs of clients may touch only {}. Use a path there, or start the server with --allow={}",
            path.display(),
            self.text(),
            path.display()
        )
    }

    /// Why a plan must not run here.
    pub(crate) fn refusals(&self, plan: &Plan, engines: Engines) -> Vec<String> {
        let mut found = BTreeSet::new();
        for worker in &plan.workers {
            let mut refuse = |reason: String| {
                found.insert(format!("job {}: {reason}", worker.job));
            };
            for path in touched(worker, engines).into_iter().filter(|path| !self.admits(path)) {
                refuse(self.refusal(&path));
            }
            let devices = devices(worker, engines);
            for name in devices.filter(|name| !self.admits_device(name) && !self.admits(name)) {
                refuse(self.refusal(name));
            }
            let entry = engines.entry(&worker.engine.name);
            if entry.is_some_and(|entry| entry.description.capabilities.reach == Reach::Programs) {
                refuse(format!("engine {} runs programs, which {NOT_FOR_CLIENTS}", worker.engine.name));
            }
            forbidden(worker).into_iter().for_each(|option| {
                refuse(format!("{option} {NOT_FOR_CLIENTS}"));
            });
        }
        found.into_iter().collect()
    }
}

/// Every path that a worker opens, makes or removes.
fn touched(worker: &WorkerPlan, engines: Engines) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let entry = engines.entry(&worker.engine.name);
    if let Some(entry) = entry {
        paths.extend((entry.opens)(&worker.engine.options));
    }
    if entry.is_none_or(|entry| matches!(entry.description.capabilities.files, FileUse::Descriptors | FileUse::Paths)) {
        paths.extend(worker.files.iter().map(|file| file.path.clone()));
    }
    if entry.is_some_and(|entry| entry.description.capabilities.reach == Reach::Network) {
        // Only a socket that the job names is a file.
        let named = worker.files.iter().filter(|file| file.origin == FileOrigin::Named);
        paths.extend(named.map(|file| file.path.clone()));
    }
    if let BufferMemory::File { path, .. } = &worker.buffers.memory {
        paths.push(path.into());
    }
    paths.extend(worker.replay.iter().flat_map(|replay| &replay.paths).map(PathBuf::from));
    paths.extend(worker.pacing.arrivals.iter().map(|arrivals| PathBuf::from(&arrivals.path)));
    if let Some(verify) = &worker.verify {
        // Without a folder, states and dumps are in the working folder, under the job's name.
        let folder = verify.dump_folder.clone().unwrap_or_else(|| ".".to_owned());
        let keeps = verify.dump || verify.state_save || verify.state_load;
        paths.extend(keeps.then(|| Path::new(&folder).join(&worker.job)));
        paths.extend(verify.state_file.iter().map(PathBuf::from));
    }
    paths
}

/// The devices that the engine of a worker opens by names of its own.
fn devices(worker: &WorkerPlan, engines: Engines) -> impl Iterator<Item = &Path> {
    let entry = engines.entry(&worker.engine.name);
    let by_name = entry.is_some_and(|entry| entry.description.capabilities.files == FileUse::Devices);
    worker.files.iter().filter(move |_| by_name).map(|file| file.path.as_path())
}

/// What a worker would do beyond its files.
fn forbidden(worker: &WorkerPlan) -> Vec<&'static str> {
    let (process, layout) = (&worker.process, &worker.layout);
    let options = [
        ("exec_prerun", process.exec_prerun.is_some()),
        ("exec_postrun", process.exec_postrun.is_some()),
        ("cgroup", process.cgroup.is_some()),
        ("a setting of block devices", !layout.device_settings.is_empty()),
        ("allow_mounted_write", layout.allow_mounted_write),
    ];
    options.into_iter().filter(|(_, is_set)| *is_set).map(|(option, _)| option).collect()
}

/// The path without links and dots. What does not exist is below the nearest folder that does.
fn real(path: &Path) -> Option<PathBuf> {
    let absolute = if path.is_absolute() { path.to_owned() } else { std::env::current_dir().ok()?.join(path) };
    if absolute.components().count() > MOST_PARTS {
        return None;
    }
    let mut missing = Vec::new();
    let mut there = absolute.as_path();
    loop {
        if let Ok(found) = there.canonicalize() {
            missing.reverse();
            return Some(missing.into_iter().fold(found, |path, part| path.join(part)));
        }
        // A link to nothing can be made something by whoever opens it.
        let is_link = there.symlink_metadata().is_ok();
        match there.components().next_back()? {
            Component::Normal(part) if !is_link => missing.push(part.to_owned()),
            _ => return None,
        }
        there = there.parent()?;
    }
}

/// What resolving may know of the server's files.
pub(crate) struct FencedMachine<'a> {
    machine: &'a dyn MachineFacts,
    fence: &'a Fence,
    /// What was asked for and not told.
    withheld: RefCell<BTreeSet<PathBuf>>,
}

impl<'a> FencedMachine<'a> {
    pub(crate) fn new(machine: &'a dyn MachineFacts, fence: &'a Fence) -> FencedMachine<'a> {
        FencedMachine { machine, fence, withheld: RefCell::default() }
    }

    /// Why a job that could not be resolved may only lack what was withheld.
    pub(crate) fn withheld(&self) -> Vec<String> {
        self.withheld.borrow().iter().map(|path| self.fence.refusal(path)).collect()
    }

    fn admits(&self, path: &Path) -> bool {
        let admits = self.fence.admits(path);
        if !admits {
            self.withheld.borrow_mut().insert(path.to_owned());
        }
        admits
    }

    fn refused(&self, path: &Path) -> String {
        self.fence.refusal(path)
    }
}

impl MachineFacts for FencedMachine<'_> {
    fn at(&self, path: &Path) -> PathKind {
        if self.admits(path) { self.machine.at(path) } else { PathKind::Missing }
    }

    fn files_below(&self, directory: &Path) -> Result<Vec<PathBuf>, String> {
        if self.admits(directory) { self.machine.files_below(directory) } else { Err(self.refused(directory)) }
    }

    fn free_bytes(&self, path: &Path) -> Option<u64> {
        if self.admits(path) { self.machine.free_bytes(path) } else { None }
    }

    fn cpus_online(&self) -> Vec<usize> {
        self.machine.cpus_online()
    }

    fn huge_page_bytes(&self) -> u64 {
        self.machine.huge_page_bytes()
    }

    fn text(&self, path: &Path) -> Result<String, String> {
        if self.admits(path) { self.machine.text(path) } else { Err(self.refused(path)) }
    }

    fn survey(&self, paths: &[String], rules: &ReplayRules) -> Result<ReplaySurvey, String> {
        match paths.iter().map(Path::new).find(|path| !self.admits(path)) {
            Some(path) => Err(self.refused(path)),
            None => self.machine.survey(paths, rules),
        }
    }

    fn device(&self, engine: &str, name: &str, options: &Settings) -> Result<DeviceFacts, OpenError> {
        let path = Path::new(name);
        if self.fence.admits_device(path) || self.fence.admits(path) {
            return self.machine.device(engine, name, options);
        }
        self.withheld.borrow_mut().insert(path.to_owned());
        Err(OpenError { message: self.refused(path), errno: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_below_is_admitted() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("in");
        std::fs::create_dir(&inside).unwrap();
        std::fs::write(folder.path().join("other"), "x").unwrap();
        std::os::unix::fs::symlink(folder.path().join("other"), inside.join("out")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("nothing"), inside.join("dangling")).unwrap();
        std::os::unix::fs::symlink(&inside, folder.path().join("way-in")).unwrap();
        let fence = Fence::new(std::slice::from_ref(&inside)).unwrap();
        for (path, is_in) in [
            ("in", true),
            ("in/new", true),
            ("in/new/deeper", true),
            ("way-in/new", true),
            ("in/../in/new", true),
            ("in/../other", false),
            ("in/missing/../../other", false),
            ("in/out", false),
            ("in/dangling", false),
            ("in/dangling/new", false),
            ("other", false),
            ("inner", false),
            (".", false),
        ] {
            assert_eq!(fence.admits(&folder.path().join(path)), is_in, "{path}");
        }
        assert!(!fence.admits(Path::new("/etc/passwd")) && !fence.admits(Path::new("relative")));
        assert!(Fence::new(&[folder.path().join("none")]).unwrap_err().message.contains("--allow="));
    }

    #[test]
    fn without_a_word_it_is_the_working_folder() {
        let fence = Fence::new(&[]).unwrap();
        assert!(fence.admits(Path::new("a-file")) && fence.admits(Path::new("./below/it")));
        assert!(!fence.admits(Path::new("../beside")) && !fence.admits(Path::new("/")));
    }

    #[test]
    fn names_of_devices_are_admitted_as_they_were_given() {
        let name = Path::new("trtype=VIRT model=nand");
        let fence = Fence::new(&[name.to_owned()]).unwrap();
        assert!(fence.admits_device(name) && !fence.admits_device(Path::new("trtype=VIRT model=null")));
        assert!(!fence.admits(Path::new("a-file")));
    }
}
