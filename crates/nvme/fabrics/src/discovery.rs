//! The Discovery log page, encoded and decoded (Fabrics, section 5.3).

use iolab_nvme_spec::fabrics::{DiscoveryEntry, DiscoveryHeader, SubsystemType, TransportType};
use iolab_nvme_spec::le::{U16, U64};
use iolab_nvme_spec::{FromBytes, FromZeros, IntoBytes};

use crate::name::{QualifiedName, QualifiedNameError};

/// Bytes of the header of the page, and of each record.
pub const DISCOVERY_RECORD_BYTES: usize = size_of::<DiscoveryEntry>();
/// The most records decoded from a page.
const MOST_RECORDS: u64 = 4096;

/// The address of a subsystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveryRecord {
    /// TRTYPE.
    pub transport: TransportType,
    /// ADRFAM: 1 IPv4, 2 IPv6.
    pub family: u8,
    /// The kind of subsystem.
    pub kind: SubsystemType,
    /// Port ID.
    pub port: u16,
    /// TRADDR.
    pub address: String,
    /// TRSVCID: for TCP the port.
    pub service: String,
    /// Its name.
    pub subsystem: QualifiedName,
}

/// Why a page cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// The page is shorter than its header says.
    #[error("the Discovery log page says {records} records and has {bytes} bytes")]
    Short {
        /// Records according to its header.
        records: u64,
        /// Received bytes.
        bytes: usize,
    },
    /// A format that this version of the specification does not have.
    #[error("the Discovery log page has format {0}, which is unknown")]
    Format(u16),
    /// A record without a valid name.
    #[error("the Discovery log page names a subsystem wrongly: {0}")]
    Name(#[from] QualifiedNameError),
}

/// The page with these records.
pub fn log_page(generation: u64, records: &[DiscoveryRecord]) -> Vec<u8> {
    let mut head = DiscoveryHeader::new_zeroed();
    head.genctr = U64::new(generation);
    head.numrec = U64::new(records.len() as u64);
    let mut page = head.as_bytes().to_vec();
    for record in records {
        let mut entry = DiscoveryEntry::new_zeroed();
        entry.trtype = record.transport.0;
        entry.adrfam = record.family;
        entry.subtype = record.kind.0;
        // Bits 1:0: a secure channel is not required.
        entry.treq = 0b10;
        entry.portid = U16::new(record.port);
        // Controllers are created as hosts connect.
        entry.cntlid = U16::new(0xffff);
        entry.asqsz = U16::new(32);
        padded(&mut entry.trsvcid, &record.service);
        padded(&mut entry.traddr, &record.address);
        record.subsystem.put_into(&mut entry.subnqn);
        page.extend_from_slice(entry.as_bytes());
    }
    page
}

/// The number of records in the page's header, and the records present.
///
/// # Errors
/// The page is inconsistent.
pub fn read_log_page(page: &[u8]) -> Result<(u64, Vec<DiscoveryRecord>), DiscoveryError> {
    let short = |records| DiscoveryError::Short { records, bytes: page.len() };
    let (head, rest) = DiscoveryHeader::read_from_prefix(page).map_err(|_| short(0))?;
    if head.recfmt.get() != 0 {
        return Err(DiscoveryError::Format(head.recfmt.get()));
    }
    let promised = head.numrec.get();
    let entries = rest.chunks_exact(DISCOVERY_RECORD_BYTES).take(promised.min(MOST_RECORDS) as usize);
    let records = entries.filter_map(|bytes| DiscoveryEntry::read_from_bytes(bytes).ok()).map(|entry| {
        Ok(DiscoveryRecord {
            transport: TransportType(entry.trtype),
            family: entry.adrfam,
            kind: SubsystemType(entry.subtype),
            port: entry.portid.get(),
            address: text(&entry.traddr),
            service: text(&entry.trsvcid),
            subsystem: QualifiedName::of_field(&entry.subnqn)?,
        })
    });
    Ok((promised, records.collect::<Result<_, DiscoveryError>>()?))
}

/// ASCII padded with spaces.
fn padded(field: &mut [u8], text: &str) {
    field.fill(b' ');
    for (to, from) in field.iter_mut().zip(text.bytes()) {
        *to = from;
    }
}

/// The text of a padded field; a character that is not printable becomes a question mark.
fn text(field: &[u8]) -> String {
    let end = field.iter().rposition(|byte| !matches!(byte, 0 | b' ')).map_or(0, |last| last + 1);
    let printable = |byte: &u8| if (0x20..0x7f).contains(byte) { char::from(*byte) } else { '?' };
    field[..end].iter().map(printable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_as_it_was_made() {
        let record = |number: u16| DiscoveryRecord {
            transport: TransportType::TCP,
            family: 1,
            kind: SubsystemType::NVM,
            port: number,
            address: "127.0.0.1".into(),
            service: "4420".into(),
            subsystem: QualifiedName::new(&format!("nqn.2014-08.org.nvmexpress:uuid:{number}")).unwrap(),
        };
        let records: Vec<_> = (0..3).map(record).collect();
        let page = log_page(5, &records);
        assert_eq!(page.len(), 4 * DISCOVERY_RECORD_BYTES);
        assert_eq!(read_log_page(&page), Ok((3, records.clone())));
        assert_eq!(read_log_page(&page[..3 * 1024]), Ok((3, records[..2].to_vec())));
        assert_eq!(read_log_page(&page[..1000]), Err(DiscoveryError::Short { records: 0, bytes: 1000 }));
        let mut many = page.clone();
        many[8..16].fill(0xff);
        assert_eq!(read_log_page(&many), Ok((u64::MAX, records)));
        let mut nameless = page;
        nameless[1024 + 256] = 0;
        assert!(matches!(read_log_page(&nameless), Err(DiscoveryError::Name(_))));
    }
}
