//! Whether a job may write to the devices at the bottom.

use std::fs::File;
use std::path::{Path, PathBuf};

use iolab_engine::Engine;
use iolab_guard::{Guard, GuardRules, GuardedPath, PathChange};
use iolab_options::Settings;

use crate::stack::Leaf;

/// Why a job must not write there; `None` if it may. A target without content is marked as iolab's,
/// so that the next job may overwrite it, too.
pub(crate) fn refusal<N: Engine>(leaf: &Leaf, job: &str, allowed: &[PathBuf]) -> Option<String> {
    let path = match leaf {
        Leaf::Nvme { name } => return N::overwrite_refusal(Path::new(name), &Settings::default(), job, allowed),
        Leaf::Kernel { path, .. } => path,
    };
    let mut guard = Guard::live(GuardRules { allowed: allowed.to_vec(), as_fio: false });
    let judged = guard.judge(&GuardedPath::named(path), &PathChange::OVERWRITES);
    if judged.is_empty()
        && let Ok(file) = File::options().write(true).open(path)
        && file.metadata().is_ok_and(|metadata| metadata.is_file())
    {
        // Not every file system supports marks; then the user is asked next time.
        let _marked = iolab_guard::mark_layout(&file);
    }
    let refused = judged.into_iter().find(|judgement| !judgement.accepted)?;
    Some(format!(
        "{}; job {job} would overwrite it. If you want that, add --allow-destroy {}",
        refused.hazard,
        path.display()
    ))
}
