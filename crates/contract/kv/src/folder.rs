//! What a folder holds, checked before anything in it is touched.

use std::path::Path;

use iolab_order::Arrange;

use crate::{ErrorKind, Existing, OpenRequest, StoreError, StoreKind};

/// What a folder holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holds {
    /// It does not exist, or is empty.
    Nothing,
    /// A store of the kind with this name, and nothing else.
    Store(&'static str),
    /// A store of the kind with this name, and these files that are not its own.
    StoreAndMore(&'static str, Vec<String>),
    /// No known store, but these files.
    Other(Vec<String>),
}

/// What `folder` holds, if stores are of these `kinds`. Names are sorted.
pub fn holds(folder: &Path, kinds: &[&dyn StoreKind]) -> Result<Holds, StoreError> {
    let names = match names_in(folder) {
        Ok(names) => names,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Holds::Nothing),
        Err(error) => return Err(StoreError::of_file(folder, "look into it", &error)),
    };
    if names.is_empty() {
        return Ok(Holds::Nothing);
    }
    let Some(kind) = kinds.iter().find(|kind| kind.recognises(folder)) else { return Ok(Holds::Other(names)) };
    let strangers: Vec<String> = names.into_iter().filter(|name| !kind.owns(name)).collect();
    let name = kind.description().name;
    Ok(if strangers.is_empty() { Holds::Store(name) } else { Holds::StoreAndMore(name, strangers) })
}

fn names_in(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.arrange();
    Ok(names)
}

/// Whether a store of this kind may be opened as requested; every [`StoreKind::open`] calls it
/// first.
pub fn judge(kind: &dyn StoreKind, request: &OpenRequest<'_>) -> Result<(), StoreError> {
    let name = kind.description().name;
    let folder = request.folder.display();
    let refusal = |message: String| Err(StoreError::new(ErrorKind::Folder, message));
    match (holds(request.folder, &[kind])?, request.existing) {
        (Holds::Nothing, Existing::Required) => refusal(format!("{folder}: no {name} store here; create one first")),
        (Holds::Store(_) | Holds::StoreAndMore(..), Existing::Forbidden) => {
            refusal(format!("{folder}: already holds a {name} store; use it, or destroy it first"))
        }
        (Holds::Other(names), _) => refusal(format!(
            "{folder}: holds {}, but no {name} store; nothing was changed; use an empty or new folder",
            some_of(&names)
        )),
        _ => Ok(()),
    }
}

/// The first few names, and how many more there are.
pub fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        Some(more) => format!("{shown} and {more} more"),
        None => shown,
    }
}

/// Removes what a store of this kind owns in a folder that it recognises, and the folder if it is
/// empty then: the whole of [`StoreKind::destroy`] for stores that nobody has open.
pub fn remove_owned(kind: &dyn StoreKind, folder: &Path) -> Result<(), StoreError> {
    let name = kind.description().name;
    if !kind.recognises(folder) {
        let held = match holds(folder, &[kind])? {
            Holds::Other(names) => format!("holds {}", some_of(&names)),
            _ => "does not exist, or is empty".to_owned(),
        };
        let message = format!("{}: {held}: no {name} store to destroy", folder.display());
        return Err(StoreError::new(ErrorKind::Folder, message));
    }
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error: std::io::Error| StoreError::of_file(&path, "remove it", &error)
    };
    for own in names_in(folder).map_err(failed(folder))?.iter().filter(|name| kind.owns(name)) {
        let path = folder.join(own);
        let is_folder = path.symlink_metadata().is_ok_and(|facts| facts.is_dir());
        let removed = if is_folder { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        removed.map_err(failed(&path))?;
    }
    if names_in(folder).map_err(failed(folder))?.is_empty() {
        std::fs::remove_dir(folder).map_err(failed(folder))?;
    }
    Ok(())
}
