//! The folder of a study's trials if the user names none.
//!
//! The name comes from the study file, and something else may already have that name: the studies
//! of a collection are often in a folder named after the collection. Nothing is put into such a
//! folder.

use std::path::{Path, PathBuf};

use iolab_archive::study_files;

/// The file's name without its extension, in the current folder; with the suffix `.study` if
/// something other than a study's folder has that name.
pub fn default_folder(file: &Path) -> PathBuf {
    default_folder_in(Path::new(""), file)
}

fn default_folder_in(parent: &Path, file: &Path) -> PathBuf {
    let plain = parent.join(file.file_stem().unwrap_or_default());
    if is_taken(&plain) { plain.with_added_extension("study") } else { plain }
}

/// Whether something is there that is neither empty nor a study's.
fn is_taken(path: &Path) -> bool {
    if study_files::is_study(path) || study_files::is_collection(path) {
        return false;
    }
    match std::fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => path.symlink_metadata().is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        for (made, file) in [
            ("files", Some("files/part.toml")),
            ("begun", Some("begun/study.json")),
            ("several", Some("several/collection.json")),
            ("empty", None),
        ] {
            std::fs::create_dir(here.join(made)).unwrap();
            if let Some(file) = file {
                std::fs::write(here.join(file), "text").unwrap();
            }
        }
        std::fs::write(here.join("bare"), "a study file without an extension").unwrap();
        std::os::unix::fs::symlink("nowhere", here.join("link")).unwrap();
        for (file, expected) in [
            ("elsewhere/new.toml", "new"),
            ("files.toml", "files.study"),
            ("begun.toml", "begun"),
            ("several.toml", "several"),
            ("empty.toml", "empty"),
            ("bare", "bare.study"),
            ("link.toml", "link.study"),
        ] {
            assert_eq!(default_folder_in(here, Path::new(file)), here.join(expected), "{file}");
        }
    }
}
