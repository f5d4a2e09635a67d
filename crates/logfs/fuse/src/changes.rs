//! Requests that change attributes, ordinary and extended.

use iolab_fuse::abi::{set, u32_at, u64_at};
use iolab_fuse::channel::Message;
use iolab_logfs::{AttributeChange, Error, InodeId, SetCondition};

use crate::acl;
use crate::attributes::joined;
use crate::names::one_name;
use crate::server::{Answer, Server, built};

/// A change of attributes.
#[derive(Debug)]
pub(crate) struct Change {
    inode: InodeId,
    size: Option<u64>,
    strip: bool,
    /// Whether anything besides the size is changed; a size change updates times by itself.
    beside_size: bool,
    change: AttributeChange,
}

impl Change {
    /// `struct fuse_setattr_in`.
    pub(crate) fn parse(message: &Message, now_ns: u64) -> Result<Change, i32> {
        let args = message.args();
        let word = |at| u32_at(args, at).ok_or(libc::EINVAL);
        let long = |at| u64_at(args, at).ok_or(libc::EINVAL);
        let valid = word(0)?;
        let wants = |bit: u32| valid & bit != 0;
        let time = |what, now, at, fraction_at| -> Result<Option<u64>, i32> {
            Ok(match (wants(what), wants(now)) {
                (false, _) => None,
                (true, true) => Some(now_ns),
                (true, false) => Some(joined(long(at)?, word(fraction_at)?)),
            })
        };
        let change = AttributeChange {
            mode: if wants(set::MODE) { Some((word(68)? & 0o7777) as u16) } else { None },
            uid: if wants(set::UID) { Some(word(76)?) } else { None },
            gid: if wants(set::GID) { Some(word(80)?) } else { None },
            accessed_ns: time(set::ATIME, set::ATIME_NOW, 32, 56)?,
            modified_ns: time(set::MTIME, set::MTIME_NOW, 40, 60)?,
        };
        let size = if wants(set::SIZE) { Some(long(16)?) } else { None };
        let beside_size = size.is_none() || change != AttributeChange::default();
        Ok(Change { inode: InodeId(message.header.node), size, strip: wants(set::KILL_SUIDGID), beside_size, change })
    }

    pub(crate) async fn perform(self, server: Server) -> Answer {
        self.apply(&server).await.map_err(|error| error.errno())?;
        let known = server.attributes(self.inode).await.map_err(|error| error.errno())?;
        Ok(built(|body| known.attr_out(body)))
    }

    async fn apply(&self, server: &Server) -> Result<(), Error> {
        let fs = &server.fs;
        if self.strip {
            server.strip_privileges(self.inode).await?;
        }
        if let Some(size) = self.size {
            fs.truncate(self.inode, size).await?;
        }
        if self.beside_size {
            acl::change(fs, self.inode, self.change).await?;
        }
        Ok(())
    }
}

/// SETXATTR.
#[derive(Debug)]
pub(crate) struct SetAttribute {
    inode: InodeId,
    name: Vec<u8>,
    value: Vec<u8>,
    setting: SetCondition,
    /// User and group of the caller.
    caller: (u32, u32),
}

impl SetAttribute {
    pub(crate) fn parse(server: &Server, message: &Message) -> Result<SetAttribute, i32> {
        let (args, tail) = (message.args(), message.tail());
        let (Some(size), Some(flags)) = (u32_at(args, 0), u32_at(args, 4)) else { return Err(libc::EINVAL) };
        let name = one_name(tail)?;
        acl::refuse_unknown(server, name)?;
        let value = tail.get(name.len() + 1..).and_then(|rest| rest.get(..size as usize)).ok_or(libc::EINVAL)?;
        let setting = match flags as i32 {
            libc::XATTR_CREATE => SetCondition::Create,
            libc::XATTR_REPLACE => SetCondition::Replace,
            _ => SetCondition::Any,
        };
        let inode = InodeId(message.header.node);
        let caller = (message.header.uid, message.header.gid);
        Ok(SetAttribute { inode, name: name.to_vec(), value: value.to_vec(), setting, caller })
    }

    pub(crate) async fn perform(self, server: Server) -> Answer {
        let SetAttribute { inode, name, value, setting, caller } = self;
        let set = match acl::is_acl(&name) {
            true => acl::set(&server.fs, inode, &name, &value, caller).await,
            false => server.fs.set_extended(inode, &name, &value, setting).await,
        };
        set.map(|()| Vec::new()).map_err(|error| error.errno())
    }
}

/// REMOVEXATTR.
pub(crate) async fn remove_attribute(server: Server, inode: InodeId, name: Vec<u8>) -> Answer {
    server.fs.remove_extended(inode, &name).await.map(|()| Vec::new()).map_err(|error| error.errno())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_fuse::abi::{InHeader, opcode};

    #[test]
    fn only_what_is_asked_for_changes() {
        let mut args = [0u8; 88];
        args[16..24].copy_from_slice(&77_u64.to_ne_bytes());
        args[40..48].copy_from_slice(&5_u64.to_ne_bytes());
        args[60..64].copy_from_slice(&6_u32.to_ne_bytes());
        let mut parse = |valid: u32| {
            args[..4].copy_from_slice(&valid.to_ne_bytes());
            let mut message = Message::EMPTY;
            let header = InHeader { opcode: opcode::SETATTR, ..message.header };
            message.assemble(header, &args, &[]);
            Change::parse(&message, 99).unwrap()
        };
        let none = AttributeChange::default();
        let change = parse(set::SIZE);
        assert_eq!((change.size, change.change, change.beside_size), (Some(77), none, false));
        let change = parse(set::ATIME | set::ATIME_NOW | set::MTIME | set::KILL_SUIDGID);
        assert_eq!(change.change, AttributeChange { accessed_ns: Some(99), modified_ns: Some(5_000_000_006), ..none });
        assert!(change.strip && change.beside_size && change.size.is_none());
        assert!(parse(0).beside_size, "asking for nothing is a change of the time of status");
    }
}
