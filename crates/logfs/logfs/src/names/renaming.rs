//! Moving and exchanging names: one group of records each.

use super::{dangling, deletion, free_name, names, names_for_new};
use crate::name_rules::check_name;
use crate::record::{InodeId, InodeKind, Record, Rename, Spot};
use crate::space::Need;
use crate::tree::Tree;
use crate::{Error, LogFs};

/// What a rename does with a name that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occupied {
    /// Replaces it, as `rename(2)` does.
    Replace,
    /// Fails with [`Error::Exists`] (`RENAME_NOREPLACE`).
    Refuse,
    /// Gives it to what had the other name (`RENAME_EXCHANGE`); [`Error::NotFound`] when the name
    /// is free.
    Exchange,
}

impl LogFs {
    /// Moves a name, or exchanges two, in one step. Renaming a name to another one of the same file
    /// does nothing.
    ///
    /// # Errors
    /// Those of `rename(2)`: [`Error::NotFound`], [`Error::Exists`], [`Error::IsDirectory`],
    /// [`Error::NotDirectory`], [`Error::NotEmpty`], [`Error::Invalid`] for a directory into
    /// itself; [`Error::NoSpace`].
    pub async fn rename(&self, from: (InodeId, &[u8]), to: (InodeId, &[u8]), occupied: Occupied) -> Result<(), Error> {
        check_name(from.1)?;
        check_name(to.1)?;
        let _held = self.lock_names(&[from, to]).await;
        self.0.admit(|_| Need::Clusters(0)).await?;
        let Some(records) = self.plan_rename(from, to, occupied)? else { return Ok(()) };
        self.0.commit(&records).map(drop)
    }

    /// The records of a rename; `None` when there is nothing to do.
    pub(crate) fn plan_rename(
        &self,
        from: (InodeId, &[u8]),
        to: (InodeId, &[u8]),
        occupied: Occupied,
    ) -> Result<Option<Vec<Record>>, Error> {
        let state = self.0.state.borrow();
        let tree = &state.tree;
        let (inode, kind) = names(tree, from.0)?.get(from.1).ok_or(Error::NotFound)?;
        let old = names_for_new(tree, to.0)?.get(to.1);
        if kind == InodeKind::Directory && tree.is_above(inode, to.0) {
            return Err(Error::Invalid("a directory cannot be moved into itself"));
        }
        if occupied == Occupied::Exchange {
            let other = old.ok_or(Error::NotFound)?;
            return self.plan_exchange(from, to, (inode, kind), other, tree);
        }
        let mut deleted = None;
        if let Some((replaced, replaced_kind)) = old {
            if occupied == Occupied::Refuse {
                return Err(Error::Exists);
            }
            if replaced == inode {
                return Ok(None);
            }
            let node = tree.get(replaced).ok_or_else(|| dangling(replaced))?;
            match (kind == InodeKind::Directory, replaced_kind == InodeKind::Directory) {
                (true, false) => return Err(Error::NotDirectory),
                (false, true) => return Err(Error::IsDirectory),
                _ if node.names().is_some_and(|names| !names.is_empty()) => return Err(Error::NotEmpty),
                _ => deleted = deletion(replaced, node),
            }
        }
        let spot = |(directory, name): (InodeId, &[u8])| Spot { directory, name: name.to_vec() };
        let rename = Rename {
            from: spot(from),
            to: spot(to),
            inode,
            kind,
            replaced: old.map_or(InodeId(0), |(replaced, _)| replaced),
            time: self.0.now(),
        };
        Ok(Some([Some(Record::Rename(Box::new(rename))), deleted].into_iter().flatten().collect()))
    }

    /// The records that exchange two names: three renames, the first to a name that is free.
    fn plan_exchange(
        &self,
        from: (InodeId, &[u8]),
        to: (InodeId, &[u8]),
        one: (InodeId, InodeKind),
        other: (InodeId, InodeKind),
        tree: &Tree,
    ) -> Result<Option<Vec<Record>>, Error> {
        if one.0 == other.0 {
            return Ok(None);
        }
        if other.1 == InodeKind::Directory && tree.is_above(other.0, from.0) {
            return Err(Error::Invalid("a directory cannot be moved into itself"));
        }
        let time = self.0.now();
        let free = free_name(names(tree, from.0)?);
        let step = |from: (InodeId, &[u8]), to: (InodeId, &[u8]), (inode, kind): (InodeId, InodeKind)| {
            let spot = |(directory, name): (InodeId, &[u8])| Spot { directory, name: name.to_vec() };
            let (from, to) = (spot(from), spot(to));
            Record::Rename(Box::new(Rename { from, to, inode, kind, replaced: InodeId(0), time }))
        };
        let aside = (from.0, &free[..]);
        Ok(Some(vec![step(from, aside, one), step(to, from, other), step(aside, to, one)]))
    }
}
