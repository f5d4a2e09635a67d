//! Namespaces: what a queue pair needs to know to read and write them (Base, section 5.15.2.1).

use iolab_nvme_spec::FromBytes;
use iolab_nvme_spec::command::ReadWriteDword12;
use iolab_nvme_spec::identify::{
    Cns, FormattedSize, IdentifierType, IdentifyNamespace, IdentifyZonedNamespace, NamespaceIdentifierHeader,
    NamespaceList,
};
use iolab_nvme_spec::opcode::CommandSet;
use iolab_nvme_spec::registers::{Capabilities, Version};

use crate::controller::Shared;
use crate::error::DriverError;
use crate::transport::Transport;

/// The largest number of blocks of a command: NLB has 16 bits and counts from one.
const MOST_BLOCKS: u32 = 1 << 16;

/// A namespace in its current format. These are plain values: they do not keep the namespace from
/// being formatted or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Namespace {
    pub(crate) id: u32,
    /// Bytes of a block at the data pointer: its data, and its metadata if it is part of the block.
    pub(crate) transfer_bytes: u32,
    /// The most blocks of one transfer.
    pub(crate) max_blocks: u32,
    /// The most blocks of one transfer without a metadata buffer; 0 if such a buffer is needed.
    pub(crate) plain_max_blocks: u32,
    /// The most blocks of one Zone Append.
    pub(crate) max_append_blocks: u32,
    /// Bits that are set in dword 12 of every read and write.
    pub(crate) control: u32,
    block_bytes: u32,
    blocks: u64,
    metadata: MetadataPlace,
    metadata_bytes: u16,
    zones: Option<ZoneLayout>,
    write_protected: bool,
}

/// Where the metadata of a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataPlace {
    /// There is none, or it is protection information that the controller generates and checks by
    /// itself (PRACT).
    Nowhere,
    /// After the data of each block.
    InBlock,
    /// In a separate buffer.
    Separate,
}

/// The zones of a zoned namespace (ZNS, section 4.1.5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneLayout {
    /// Blocks from one zone start to the next.
    pub zone_blocks: u64,
    /// Zones that may be active at once, `None` for no limit.
    pub max_active: Option<u32>,
    /// Zones that may be open at once, `None` for no limit.
    pub max_open: Option<u32>,
    /// Bytes of a zone descriptor extension.
    pub extension_bytes: u32,
}

impl Namespace {
    /// Namespace identifier.
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// Bytes of data in a logical block.
    pub const fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// Bytes of a block at the data pointer.
    pub const fn transfer_bytes(&self) -> u32 {
        self.transfer_bytes
    }

    /// Size in logical blocks.
    pub const fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The most blocks of one read or write.
    pub const fn max_blocks(&self) -> u32 {
        self.max_blocks
    }

    /// The most blocks of one Zone Append.
    pub const fn max_append_blocks(&self) -> u32 {
        self.max_append_blocks
    }

    /// Where the metadata of a block is.
    pub const fn metadata(&self) -> MetadataPlace {
        self.metadata
    }

    /// Whether reads and writes need a metadata buffer.
    #[inline]
    pub(crate) const fn needs_metadata(&self) -> bool {
        matches!(self.metadata, MetadataPlace::Separate)
    }

    /// Bytes of metadata of each block.
    pub const fn metadata_bytes(&self) -> u16 {
        self.metadata_bytes
    }

    /// The layout of the zones, if the namespace is zoned.
    pub const fn zones(&self) -> Option<&ZoneLayout> {
        self.zones.as_ref()
    }

    /// Whether writes are refused.
    pub const fn write_protected(&self) -> bool {
        self.write_protected
    }
}

/// Finds all active namespaces of command sets that this driver supports.
pub(crate) fn all<T: Transport>(shared: &Shared<T>) -> Result<Vec<Namespace>, DriverError> {
    let mut found = Vec::new();
    let mut after = 0;
    loop {
        let list = shared.identify::<NamespaceList>(Cns::ACTIVE_NAMESPACES, after, CommandSet::NVM)?;
        for nsid in list.identifiers.iter().map(|nsid| nsid.get()) {
            if nsid == 0 {
                return Ok(found);
            }
            if nsid <= after || nsid >= 0xffff_fffe {
                let what = format!("namespace {nsid} follows {after} in the list of active namespaces");
                return Err(DriverError::BadDescription(what));
            }
            after = nsid;
            match one(shared, nsid) {
                Ok(namespace) => found.push(namespace),
                // The namespace belongs to a command set that this driver does not support.
                Err(DriverError::Unsupported(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Identifies one active namespace.
pub(crate) fn one<T: Transport>(shared: &Shared<T>, nsid: u32) -> Result<Namespace, DriverError> {
    let set = command_set(shared, nsid)?;
    if set != CommandSet::NVM && set != CommandSet::ZONED {
        return Err(DriverError::Unsupported(format!("namespace {nsid} uses the {set}")));
    }
    let identify = shared.identify::<IdentifyNamespace>(Cns::NAMESPACE, nsid, CommandSet::NVM)?;
    if identify.nsze.get() == 0 {
        return Err(DriverError::BadRequest(format!("there is no active namespace {nsid}")));
    }
    let mut namespace = described(shared, nsid, &identify)?;
    if set == CommandSet::ZONED {
        let zoned = shared.identify::<IdentifyZonedNamespace>(Cns::COMMAND_SET_NAMESPACE, nsid, set)?;
        let format = zoned.lbafe[usize::from(FormattedSize(identify.flbas).index())];
        if format.zsze.get() == 0 {
            return Err(DriverError::BadDescription(format!("the zones of namespace {nsid} have no blocks")));
        }
        let resources = |most: u32| most.checked_add(1);
        namespace.zones = Some(ZoneLayout {
            zone_blocks: format.zsze.get(),
            max_active: resources(zoned.mar.get()),
            max_open: resources(zoned.mor.get()),
            extension_bytes: u32::from(format.zdes) * 64,
        });
    }
    Ok(namespace)
}

/// Checks the fields of Identify Namespace and returns the namespace they describe.
fn described<T: Transport>(
    shared: &Shared<T>,
    nsid: u32,
    identify: &IdentifyNamespace,
) -> Result<Namespace, DriverError> {
    let format = identify.format();
    if !(9..=24).contains(&format.lbads) {
        let what = format!("namespace {nsid} has blocks of 2^{} bytes", format.lbads);
        return Err(DriverError::BadDescription(what));
    }
    let block_bytes = 1u32 << format.lbads;
    let metadata_bytes = format.ms.get();
    // With eight bytes of metadata and protection enabled, PRACT means that no metadata is
    // transferred.
    let pract = metadata_bytes == 8 && identify.dps & 7 != 0;
    let metadata = match (metadata_bytes, pract, FormattedSize(identify.flbas).extended()) {
        (0, ..) | (_, true, _) => MetadataPlace::Nowhere,
        (_, _, true) => MetadataPlace::InBlock,
        (_, _, false) => MetadataPlace::Separate,
    };
    let in_block = if metadata == MetadataPlace::InBlock { u32::from(metadata_bytes) } else { 0 };
    let transfer_bytes = block_bytes + in_block;
    let longest = u64::from(shared.options.max_transfer_bytes);
    let longest = shared.facts.max_transfer_bytes.map_or(longest, |limit| limit.min(longest));
    let fit = |bytes: u64| (bytes / u64::from(transfer_bytes)).min(u64::from(MOST_BLOCKS)) as u32;
    let append = shared.facts.max_append_bytes.map_or(longest, |limit| limit.min(longest));
    Ok(Namespace {
        id: nsid,
        transfer_bytes,
        max_blocks: fit(longest),
        plain_max_blocks: if metadata == MetadataPlace::Separate { 0 } else { fit(longest) },
        max_append_blocks: fit(append),
        control: ReadWriteDword12(0).with_pract(pract).0,
        block_bytes,
        blocks: identify.nsze.get(),
        metadata,
        metadata_bytes,
        zones: None,
        write_protected: identify.nsattr & 1 != 0,
    })
}

/// The command set of a namespace, from its identification descriptors (Base, section 5.15.2.3).
fn command_set<T: Transport>(shared: &Shared<T>, nsid: u32) -> Result<CommandSet, DriverError> {
    let several = shared.facts.capabilities.css() & Capabilities::CSS_IDENTIFIED != 0;
    if !several || shared.facts.version.0 < Version::V1_4.0 {
        return Ok(CommandSet::NVM);
    }
    let list = shared.identify::<[u8; 4096]>(Cns::NAMESPACE_IDENTIFIERS, nsid, CommandSet::NVM)?;
    let mut rest = &list[..];
    while let Ok((header, after)) = NamespaceIdentifierHeader::read_from_prefix(rest) {
        let length = usize::from(header.nidl);
        if length == 0 || length > after.len() {
            break;
        }
        if IdentifierType(header.nidt) == IdentifierType::CSI {
            return Ok(CommandSet(after[0]));
        }
        rest = &after[length..];
    }
    Ok(CommandSet::NVM)
}
