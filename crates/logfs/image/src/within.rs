//! Moves and removes within an image, within the limits of several domains.
//!
//! A move between directories of different domains is a copy, with all attributes, holes and hard
//! links among the moved files; the source is removed when the copy is durable. Until then the copy
//! has a temporary name: a move that fails changes nothing. After a crash the source is there, the
//! copy, or both. Meanwhile an attribute of the root directory names the copy, so that whoever
//! opens the image next removes one that is not complete ([`remove_unfinished`]).

use std::collections::HashMap;

use iolab_logfs::{
    AttributeChange, Attributes, DirectoryEntry, Error, InodeId, InodeKind, Occupied, Owner, SetCondition, Volume,
};

use crate::copy::PIECE_BYTES;

/// Prefix of the names of incomplete copies.
const UNFINISHED: &str = ".iolab-moving-";

/// The attribute of the root directory that names a copy that is not complete: the number of its
/// directory (u64, little-endian), then its name.
const MOVING: &[u8] = b"trusted.iolab.moving";

/// A directory, and a name in it.
type Spot<'a> = (InodeId, &'a [u8]);

/// Removes a name; a directory with all its content.
///
/// # Errors
/// The first error of the file system; what was removed until then is gone.
pub async fn remove_tree(fs: &Volume, (parent, name): Spot<'_>) -> Result<(), Error> {
    let entry = fs.lookup(parent, name).await?;
    if entry.kind != InodeKind::Directory {
        return fs.unlink(parent, name).await;
    }
    // The content of a directory is removed before the directory.
    let mut open = vec![(parent, name.to_vec(), entry.inode)];
    while let Some((parent, name, directory)) = open.pop() {
        let entries = fs.read_directory(directory, b"", usize::MAX).await?;
        let (below, others): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|entry| entry.kind == InodeKind::Directory);
        for other in others {
            fs.unlink(directory, &other.name).await?;
        }
        if below.is_empty() {
            fs.remove_directory(parent, &name).await?;
            continue;
        }
        open.push((parent, name, directory));
        open.extend(below.into_iter().map(|entry| (directory, entry.name, entry.inode)));
    }
    Ok(())
}

/// Renames as `rename(2)` does; between directories of different domains it copies and removes, as
/// mv(1) does between file systems.
///
/// # Errors
/// As [`Volume::rename`], except [`Error::CrossDomain`]; [`Error::NoSpace`] when the copy does not
/// fit into the other domain.
pub async fn move_within(fs: &Volume, from: Spot<'_>, to: Spot<'_>, occupied: Occupied) -> Result<(), Error> {
    match fs.rename(from, to, occupied).await {
        Err(Error::CrossDomain) => {}
        other => return other,
    }
    let source = fs.lookup(from.0, from.1).await?;
    let target = existing(fs, to).await?;
    check_replaced(fs, &source, target.as_ref(), occupied).await?;
    if to.0 == InodeId::ROOT && target.is_some() {
        // An empty directory of another domain is in the way: after removing it, a rename works.
        fs.remove_directory(to.0, to.1).await?;
        return fs.rename(from, to, occupied).await;
    }
    let unfinished = free_name(fs, to.0).await?;
    let copy = (to.0, &unfinished[..]);
    announce(fs, copy).await?;
    let copied = match copy_tree(fs, source.inode, copy).await {
        Ok(()) => fs.rename(copy, to, occupied).await,
        Err(error) => Err(error),
    };
    if let Err(error) = copied {
        // Report the first error; a copy that cannot be removed now is removed by the next opening.
        if remove_tree(fs, copy).await.is_ok() {
            fs.remove_extended(InodeId::ROOT, MOVING).await?;
        }
        return Err(error);
    }
    fs.remove_extended(InodeId::ROOT, MOVING).await?;
    // Domains are not ordered with each other: the source must not be gone before the copy is
    // durable.
    fs.sync().await?;
    remove_tree(fs, from).await
}

/// Says durably which copy is not complete yet, before there is any of it.
async fn announce(fs: &Volume, (directory, name): Spot<'_>) -> Result<(), Error> {
    let value = [&directory.0.to_le_bytes()[..], name].concat();
    fs.set_extended(InodeId::ROOT, MOVING, &value, SetCondition::Any).await?;
    fs.fsync(InodeId::ROOT).await
}

/// Removes the incomplete copy that a crash during a move has left, if there is one; returns its
/// name. For whoever opens a file system to change it.
///
/// # Errors
/// The first of the file system; the next who opens it tries again.
pub async fn remove_unfinished(fs: &Volume) -> Result<Option<Vec<u8>>, Error> {
    let value = match fs.extended(InodeId::ROOT, MOVING).await {
        Ok(value) => value,
        Err(Error::NoAttribute) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut removed = None;
    if let Some((directory, name)) = value.split_first_chunk::<8>() {
        match remove_tree(fs, (InodeId(u64::from_le_bytes(*directory)), name)).await {
            Ok(()) => removed = Some(name.to_vec()),
            // It was complete and has its name, or there was nothing of it yet.
            Err(Error::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    fs.sync().await?;
    fs.remove_extended(InodeId::ROOT, MOVING).await?;
    Ok(removed)
}

async fn existing(fs: &Volume, (directory, name): Spot<'_>) -> Result<Option<DirectoryEntry>, Error> {
    match fs.lookup(directory, name).await {
        Ok(entry) => Ok(Some(entry)),
        Err(Error::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Checks the target name as `rename(2)` does, before anything is copied.
async fn check_replaced(
    fs: &Volume,
    source: &DirectoryEntry,
    target: Option<&DirectoryEntry>,
    occupied: Occupied,
) -> Result<(), Error> {
    let Some(target) = target else { return Ok(()) };
    match (occupied, source.kind == InodeKind::Directory, target.kind == InodeKind::Directory) {
        (Occupied::Refuse, ..) => Err(Error::Exists),
        (_, true, false) => Err(Error::NotDirectory),
        (_, false, true) => Err(Error::IsDirectory),
        (_, false, false) => Ok(()),
        (_, true, true) => {
            let is_empty = fs.read_directory(target.inode, b"", 1).await?.is_empty();
            if is_empty { Ok(()) } else { Err(Error::NotEmpty) }
        }
    }
}

async fn free_name(fs: &Volume, directory: InodeId) -> Result<Vec<u8>, Error> {
    let mut number = 0_u64;
    loop {
        let name = format!("{UNFINISHED}{number}").into_bytes();
        if existing(fs, (directory, &name)).await?.is_none() {
            return Ok(name);
        }
        number += 1;
    }
}

async fn copy_tree(fs: &Volume, source: InodeId, (directory, name): Spot<'_>) -> Result<(), Error> {
    // Files with several names: each is one inode in the copy too.
    let mut linked = HashMap::new();
    // Directories whose times are set once their content is complete.
    let mut filled = Vec::new();
    let mut open = vec![(source, directory, name.to_vec())];
    while let Some((source, directory, name)) = open.pop() {
        if let Some(copy) = linked.get(&source) {
            fs.link(*copy, directory, &name).await?;
            continue;
        }
        let attributes = fs.stat(source).await?;
        let copy = make_like(fs, source, &attributes, (directory, &name)).await?;
        for name in fs.extended_names(source).await? {
            let value = fs.extended(source, &name).await?;
            fs.set_extended(copy, &name, &value, SetCondition::Any).await?;
        }
        if attributes.kind == InodeKind::Directory {
            let entries = fs.read_directory(source, b"", usize::MAX).await?;
            open.extend(entries.into_iter().map(|entry| (entry.inode, copy, entry.name)));
            filled.push((copy, attributes));
            continue;
        }
        if attributes.kind == InodeKind::File {
            copy_content(fs, source, attributes.size, copy).await?;
        }
        set_attributes(fs, copy, &attributes).await?;
        if attributes.links > 1 {
            linked.insert(source, copy);
        }
    }
    for (copy, attributes) in filled.iter().rev() {
        set_attributes(fs, *copy, attributes).await?;
    }
    Ok(())
}

/// Creates an inode of the same kind, without content.
async fn make_like(
    fs: &Volume,
    source: InodeId,
    attributes: &Attributes,
    (directory, name): Spot<'_>,
) -> Result<InodeId, Error> {
    let Attributes { kind, mode, uid, gid, .. } = *attributes;
    let owner = Owner { mode, uid, gid };
    match kind {
        InodeKind::File => fs.create(directory, name, owner).await,
        InodeKind::Directory => fs.make_directory(directory, name, owner).await,
        InodeKind::Symlink => fs.symlink(directory, name, &fs.read_link(source).await?, owner).await,
        InodeKind::Fifo | InodeKind::Socket | InodeKind::CharacterDevice | InodeKind::BlockDevice => {
            let number = fs.device_number(source).await?;
            fs.make_special(directory, name, kind, number, owner).await
        }
    }
}

async fn copy_content(fs: &Volume, source: InodeId, size: u64, copy: InodeId) -> Result<(), Error> {
    let mut at = 0;
    while let Some(start) = fs.next_data(source, at).await? {
        let end = fs.next_hole(source, start).await?.unwrap_or(size);
        at = start;
        while at < end {
            let piece = fs.read(source, at, PIECE_BYTES.min(end - at) as usize).await?;
            fs.write(copy, at, &piece).await?;
            at += piece.len() as u64;
        }
    }
    fs.truncate(copy, size).await
}

async fn set_attributes(fs: &Volume, inode: InodeId, attributes: &Attributes) -> Result<(), Error> {
    let change = AttributeChange {
        mode: Some(attributes.mode),
        uid: Some(attributes.uid),
        gid: Some(attributes.gid),
        accessed_ns: Some(attributes.accessed_ns),
        modified_ns: Some(attributes.modified_ns),
    };
    fs.set_attributes(inode, change).await.map(drop)
}

#[cfg(test)]
mod tests;
