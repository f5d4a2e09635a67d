//! Files and folders of one study, or of several in a collection.
//!
//! ```text
//! FOLDER/collection.json   what they are about together, and their names in order
//!        NAME/…            the folder of each study
//! ```
//! All studies of a collection are read, designed and given their folders before the first of them
//! runs, so a mistake in the last one is found at once.

use std::path::{Path, PathBuf};

use iolab_activity::Failure;
use iolab_archive::study_files;
use iolab_bounded_read::{STUDY_FILE, STUDY_FOLDER};
use iolab_study::{Collection, StudyError, part_name, read_collection};

use crate::folder::to_json;

/// The study files of a file: itself, or those of the collection that it describes.
///
/// # Errors
/// It cannot be read, or is neither.
pub fn files_of(file: &Path) -> Result<(Option<Collection>, Vec<PathBuf>), Failure> {
    let text = iolab_bounded_read::read_text(file, STUDY_FILE)
        .map_err(|error| Failure::mistake(format!("{}: {error}", file.display())))?;
    let Some(collection) = read_collection(&text).map_err(|error| crate::reading::mistake(file, &error))? else {
        return Ok((None, vec![file.to_owned()]));
    };
    let beside = file.parent().unwrap_or(Path::new(""));
    let files = collection.studies.iter().map(|study| beside.join(study)).collect();
    Ok((Some(collection), files))
}

/// The folder of each study of a collection in `folder`, which is made to hold them.
pub(crate) fn begin(folder: &Path, collection: &Collection) -> Result<Vec<PathBuf>, Failure> {
    let parts = collection.studies.iter().map(|file| folder.join(part_name(file))).collect();
    let kept = collection_file(folder);
    let text = to_json(collection);
    if iolab_bounded_read::read_text(&kept, STUDY_FOLDER).is_ok_and(|found| found == text) {
        return Ok(parts);
    }
    if std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::mistake(format!(
            "{} is not empty and does not belong to this collection: name another folder with --folder",
            folder.display()
        )));
    }
    iolab_outputs::make_private_folder(folder)?;
    crate::folder::write(&kept, &text)?;
    Ok(parts)
}

/// The study folders of a folder: itself, or those of the collection that it holds.
///
/// # Errors
/// Its list cannot be read.
pub fn folders_of(folder: &Path) -> Result<(Option<Collection>, Vec<PathBuf>), Failure> {
    let kept = collection_file(folder);
    let Ok(text) = iolab_bounded_read::read_text(&kept, STUDY_FOLDER) else {
        return Ok((None, vec![folder.to_owned()]));
    };
    let collection: Collection = iolab_deserialize::json(text.as_bytes())
        .map_err(|error| Failure::mistake(format!("{}: {error}", kept.display())))?;
    let folders = collection.studies.iter().map(|file| folder.join(part_name(file))).collect();
    Ok((Some(collection), folders))
}

fn collection_file(folder: &Path) -> PathBuf {
    folder.join(study_files::COLLECTION)
}

pub(crate) fn mistake(path: &Path, error: &StudyError) -> Failure {
    let gap = if matches!(error, StudyError::Shape { .. }) { "" } else { " " };
    Failure::mistake(format!("{}:{gap}{error}", path.display()))
}
