//! Queries the subsystems of a target from its discovery subsystem (Fabrics, section 5).

use std::time::Duration;

use iolab_clock::Clock;
use iolab_nvme_driver::{Completions, DriverError, SlotMemory, Submission, Transport};
use iolab_nvme_fabrics::{
    DISCOVERY_NAME, DiscoveryError, DiscoveryRecord, QualifiedName, QualifiedNameError, read_log_page,
};
use iolab_nvme_spec::command::LogDword10;
use iolab_nvme_spec::registers::{ControllerConfiguration, ControllerStatus, Register};
use iolab_nvme_spec::{AdminOpcode, Status, SubmissionEntry};

use crate::address::TargetAddress;

/// The Discovery log page (Fabrics, section 5.3).
const DISCOVERY_PAGE: u8 = 0x70;
/// Bytes that one command reads: the memory of a slot.
const PART_BYTES: usize = 4096;
/// Bytes of the header of the page, and of a record.
const RECORD_BYTES: usize = iolab_nvme_fabrics::DISCOVERY_RECORD_BYTES;
/// The most records that are requested.
const MOST_RECORDS: u64 = 1024;

/// Why a target cannot be queried.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// The connection or the controller failed.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The page is invalid.
    #[error(transparent)]
    Page(#[from] DiscoveryError),
    /// The name of the discovery subsystem is invalid, which cannot happen.
    #[error(transparent)]
    Name(#[from] QualifiedNameError),
    /// The controller refused the page.
    #[error("the discovery controller refuses its log page: {0}")]
    Refused(Status),
}

/// The subsystems of the target at `address`; the subsystem in `address` is ignored. `connect`
/// connects the admin queue over the fabric.
///
/// # Errors
/// The target cannot be reached, refuses, or does not answer like a discovery controller.
pub fn discover<T: Transport>(
    address: TargetAddress,
    clock: &Clock,
    connect: impl FnOnce(TargetAddress, &Clock) -> Result<T, DriverError>,
) -> Result<Vec<DiscoveryRecord>, DiscoverError> {
    let patience_ns = address.connect_ns;
    let address = TargetAddress { subsystem: QualifiedName::new(DISCOVERY_NAME)?, ..address };
    let mut fabric = connect(address, clock)?;
    let enabled = ControllerConfiguration(0).with_iosqes(6).with_iocqes(4).with_en(true);
    fabric.set_property(Register::CC, enabled.0)?;
    let deadline_ns = clock.now_ns().saturating_add(patience_ns);
    while !ControllerStatus(fabric.property(Register::CSTS)?).rdy() {
        if clock.now_ns() > deadline_ns {
            let waited_ns = patience_ns;
            return Err(DriverError::NotReady { wanted: "ready", waited_ns }.into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut page = read_part(&mut fabric, clock, 0, patience_ns)?;
    let (promised, _) = read_log_page(&page)?;
    let whole = (promised.min(MOST_RECORDS) as usize + 1) * RECORD_BYTES;
    while page.len() < whole {
        let part = read_part(&mut fabric, clock, page.len(), patience_ns)?;
        page.extend_from_slice(&part);
    }
    Ok(read_log_page(&page)?.1)
}

fn read_part<T: Transport>(
    fabric: &mut T,
    clock: &Clock,
    offset: usize,
    patience_ns: u64,
) -> Result<Vec<u8>, DiscoverError> {
    let entry = SubmissionEntry::new(AdminOpcode::GET_LOG_PAGE.0, 0)
        .with_cdw(10, LogDword10(0).with_lid(DISCOVERY_PAGE).with_numdl((PART_BYTES / 4 - 1) as u16).0)
        .with_cdw(12, offset as u32);
    let queue = fabric.admin();
    let window = queue.slot_window(0, PART_BYTES as u32);
    let pointer = queue.data_pointer(0, window.address(), window.bytes().into());
    let mut entry = entry;
    match (pointer, queue.room()) {
        (Ok(pointer), Some(room)) => {
            pointer.put_into(&mut entry.words);
            queue.push(room, 0, entry.words);
        }
        _ => return Err(DriverError::BadRequest("the admin queue has no room for a command".into()).into()),
    }
    queue.flush();
    let deadline_ns = clock.now_ns().saturating_add(patience_ns);
    loop {
        let queue = fabric.admin();
        if let Some(answer) = queue.peek() {
            queue.pop();
            let checked = queue.check(&answer);
            checked.map_err(DriverError::Protocol)?;
            if !answer.status().is_success() {
                return Err(DiscoverError::Refused(answer.status()));
            }
            let mut bytes = vec![0; PART_BYTES];
            queue.read_slot(0, &mut bytes);
            return Ok(bytes);
        }
        if clock.now_ns() > deadline_ns {
            let what = "the discovery controller does not answer";
            return Err(DriverError::Disconnected(what.into()).into());
        }
        // Waiting on a broken connection would not block.
        if !queue.sleep(Duration::from_millis(10))? {
            fabric.property(Register::CSTS)?;
        }
    }
}
