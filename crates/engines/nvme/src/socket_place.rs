//! Where the server of a device listens: in a folder that belongs to the user and does not survive
//! a reboot.
//!
//! ```text
//! $XDG_RUNTIME_DIR/iolab     where that is the user's own (XDG Base Directory Specification)
//! /run/user/UID/iolab        else, where there is one
//! /run/iolab                 root's
//! $TMPDIR/iolab-UID          else
//! ```
//!
//! The last one has a guessable name in a folder that is writable by others. So the owner of the
//! folder is checked before use ([`check_folder`]): a folder of another user is used neither by a
//! server nor by a client.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A folder of sockets that is not trusted, or cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the socket folder {folder} {why}; remove it if it is yours, or set XDG_RUNTIME_DIR to your own folder (mode 0700)"
)]
pub struct FolderError {
    folder: String,
    why: String,
}

/// The socket of a served device: the path itself, or a socket of that name in the user's folder,
/// whose owner is checked.
///
/// # Errors
/// An existing folder that does not belong to the user alone.
pub fn socket_of(name: &str) -> Result<PathBuf, FolderError> {
    if name.contains('/') {
        // Named by the user. The kernel reports who answers there.
        return Ok(PathBuf::from(name));
    }
    let folder = folder(rustix::process::geteuid().as_raw());
    check_folder(&folder)?;
    Ok(folder.join(format!("{name}.sock")))
}

/// Creates the folder of a socket from [`socket_of`], if it does not exist.
///
/// # Errors
/// It cannot be created, or another process has created it first.
pub fn make_socket_folder(socket: &Path) -> Result<(), FolderError> {
    let Some(folder) = socket.parent() else { return Ok(()) };
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(refused(folder, format!("cannot be created: {error}")))
        }
        _ => check_folder(folder),
    }
}

fn folder(user: u32) -> PathBuf {
    let set = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let runtime = [set, Some(PathBuf::from(format!("/run/user/{user}")))];
    let own = |path: &PathBuf| {
        path.is_absolute() && std::fs::symlink_metadata(path).is_ok_and(|found| judge(&found, user).is_ok())
    };
    match runtime.into_iter().flatten().find(own) {
        Some(runtime) => runtime.join("iolab"),
        None if user == 0 && Path::new("/run").is_dir() => PathBuf::from("/run/iolab"),
        None => std::env::temp_dir().join(format!("iolab-{user}")),
    }
}

/// Checks that a folder, if it exists, belongs to this user alone, and that no other user can
/// replace it.
fn check_folder(folder: &Path) -> Result<(), FolderError> {
    let user = rustix::process::geteuid().as_raw();
    match std::fs::symlink_metadata(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(refused(folder, format!("cannot be examined: {error}"))),
        Ok(found) => judge(&found, user).map_err(|why| refused(folder, why))?,
    }
    let above = folder.parent().map(std::fs::metadata);
    match above {
        Some(Ok(above)) => judge_above(&above, user).map_err(|why| refused(folder, why)),
        _ => Ok(()),
    }
}

fn judge(found: &Metadata, user: u32) -> Result<(), String> {
    if !found.is_dir() {
        return Err("is not a folder (perhaps a link)".to_owned());
    }
    if found.uid() != user {
        return Err(format!("belongs to user {}, not to user {user}", found.uid()));
    }
    if found.mode() & 0o077 != 0 {
        return Err(format!("is accessible to others (mode {:04o})", found.mode() & 0o7777));
    }
    Ok(())
}

/// If others may write, only a sticky folder keeps them from renaming foreign files (inode(7)).
fn judge_above(above: &Metadata, user: u32) -> Result<(), String> {
    if above.uid() != user && above.uid() != 0 {
        return Err(format!("is in a folder of user {}", above.uid()));
    }
    if above.mode() & 0o022 != 0 && above.mode() & 0o1000 == 0 {
        return Err(format!("is in a folder where others may replace it (mode {:04o})", above.mode() & 0o7777));
    }
    Ok(())
}

fn refused(folder: &Path, why: String) -> FolderError {
    FolderError { folder: folder.display().to_string(), why }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_folder_of_ones_own_is_made_and_others_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("iolab");
        let socket = folder.join("a.sock");
        assert_eq!(check_folder(&folder), Ok(()), "none is there yet");
        make_socket_folder(&socket).unwrap();
        make_socket_folder(&socket).unwrap();
        assert_eq!(std::fs::metadata(&folder).unwrap().mode() & 0o7777, 0o700);
        let why = |folder: &Path| check_folder(folder).unwrap_err().to_string();

        std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        assert!(why(&folder).contains("accessible to others (mode 0755)") && why(&folder).contains("XDG_RUNTIME_DIR"));
        assert!(make_socket_folder(&socket).is_err());
        std::fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();

        let link = place.path().join("link");
        symlink(&folder, &link).unwrap();
        assert!(why(&link).contains("is not a folder"));
        std::fs::write(place.path().join("file"), "").unwrap();
        assert!(why(&place.path().join("file")).contains("is not a folder"));

        std::fs::set_permissions(place.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(why(&folder).contains("may replace it"));
        std::fs::set_permissions(place.path(), Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(check_folder(&folder), Ok(()));
    }

    #[test]
    fn another_users_folder_is_refused() {
        let place = tempfile::tempdir().unwrap();
        std::fs::set_permissions(place.path(), Permissions::from_mode(0o700)).unwrap();
        let found = std::fs::metadata(place.path()).unwrap();
        assert_eq!(judge(&found, found.uid()), Ok(()));
        assert!(judge(&found, found.uid() + 1).unwrap_err().contains("belongs to user"));
        assert!(judge_above(&found, found.uid()).is_ok());
        if found.uid() != 0 {
            assert!(judge_above(&found, found.uid() + 1).is_err());
        }
    }

    #[test]
    fn a_path_is_taken_as_it_is() {
        assert_eq!(socket_of("/tmp/x.sock"), Ok(PathBuf::from("/tmp/x.sock")));
        assert!(socket_of("fast").unwrap().ends_with("fast.sock"));
    }
}
