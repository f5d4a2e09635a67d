//! A study in its folder, as it begins or goes on.

use std::path::Path;

use iolab_activity::Failure;
use iolab_study::Study;

use crate::cost::Cost;
use crate::folder::Folder;

/// A study in its folder.
#[derive(Debug)]
pub struct BegunStudy {
    /// Its folder.
    pub folder: Folder,
    /// The study.
    pub study: Study,
    /// The plans of its configurations, if they were just made. On several hosts, each of them
    /// takes a connection to every host.
    pub(crate) cost: Option<Cost>,
}

impl BegunStudy {
    /// Makes its folder, now that its plans show that it can be run.
    pub(crate) fn new(path: &Path, study: Study, job: &str, cost: Cost) -> Result<BegunStudy, Failure> {
        Ok(BegunStudy { folder: Folder::begin(path, &study, job)?, study, cost: Some(cost) })
    }

    /// Opens the folder of a study that has begun.
    ///
    /// # Errors
    /// There is no study in it.
    pub fn open(path: &Path) -> Result<BegunStudy, Failure> {
        let (folder, study) = Folder::open(path)?;
        Ok(BegunStudy { folder, study, cost: None })
    }
}
