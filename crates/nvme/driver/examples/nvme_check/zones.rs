//! A zoned namespace: report, sequential writes, appends, and the states of a zone.

use iolab_nvme_driver::{CommandOutcome, Namespace, QueuePair, Submit, ZoneReport};
use iolab_nvme_spec::Status;
use iolab_nvme_spec::zone::{ReportedZones, ZoneDescriptor, ZoneSendAction, ZoneState};
use iolab_pci_device::DmaBuffer;

use crate::expect;
use crate::recovery::told;
use crate::session::{Session, contents, pattern, whole};

const BYTES: usize = 32 << 10;

pub(crate) fn check(session: &mut Session) -> crate::Outcome {
    let namespaces = session.controller.namespaces()?;
    let namespace = *namespaces.iter().find(|it| it.zones().is_some()).ok_or("no namespace is zoned")?;
    let layout = *namespace.zones().ok_or("the namespace is not zoned")?;
    println!("namespace {}: {layout:?}", namespace.id());
    let buffer = session.buffer(BYTES)?;
    manage(session, &namespace, None, ZoneSendAction::RESET)?;
    let zones = report(session, &namespace, 0, &buffer)?;
    let regular = zones.iter().zip(0u64..).all(|(zone, number)| zone.zslba.get() == number * layout.zone_blocks);
    expect(regular && zones.len() as u64 == namespace.blocks() / layout.zone_blocks, "all zones are reported")?;
    expect(zones.iter().all(|zone| zone.state() == ZoneState::EMPTY), "all are empty after a reset of all")?;

    let start = layout.zone_blocks;
    let chunk = BYTES as u32 / namespace.block_bytes();
    for number in 0..2 {
        buffer.memory.write(0, &pattern(1, number * BYTES as u64, BYTES));
        session.write(&namespace, start + number * u64::from(chunk), &buffer)?;
    }
    let refused = session.one(|queue| queue.write(0, &namespace, start + 1, 1, whole(&buffer)))?.outcome;
    let is_refused = matches!(refused, CommandOutcome::Failed(status) if status.code() == Status::ZONE_INVALID_WRITE);
    expect(is_refused, &format!("a write beside the write pointer: {}", told(refused)))?;
    buffer.memory.write(0, &pattern(1, 2 * BYTES as u64, BYTES));
    let at = session.done("append", |queue| queue.append(0, &namespace, start, chunk, whole(&buffer)))?;
    expect(at == start + 2 * u64::from(chunk), "an append says where it went")?;
    for number in 0..3 {
        let read = session.read(&namespace, start + number * u64::from(chunk), &buffer)?;
        expect(read == pattern(1, number * BYTES as u64, BYTES), "written and appended blocks are read")?;
    }
    check_states(session, &namespace, start, &buffer)
}

fn check_states(session: &mut Session, namespace: &Namespace, start: u64, buffer: &DmaBuffer) -> crate::Outcome {
    let steps = [
        (ZoneSendAction::CLOSE, ZoneState::CLOSED),
        (ZoneSendAction::OPEN, ZoneState::EXPLICITLY_OPENED),
        (ZoneSendAction::FINISH, ZoneState::FULL),
        (ZoneSendAction::RESET, ZoneState::EMPTY),
    ];
    for (action, state) in steps {
        manage(session, namespace, Some(start), action)?;
        let zone = *report(session, namespace, start, buffer)?.first().ok_or("an empty report")?;
        expect(zone.zslba.get() == start && zone.state() == state, &format!("{action}: {state}"))?;
    }
    Ok(())
}

fn manage(session: &mut Session, namespace: &Namespace, zone: Option<u64>, action: ZoneSendAction) -> crate::Outcome {
    session.done(&action.to_string(), |queue| queue.manage_zone(0, namespace, zone, action)).map(|_| ())
}

fn report(
    session: &mut Session,
    namespace: &Namespace,
    lba: u64,
    buffer: &DmaBuffer,
) -> Result<Vec<ZoneDescriptor>, Box<dyn std::error::Error>> {
    let submit =
        |queue: &mut QueuePair| -> Submit { queue.report_zones(0, namespace, lba, ReportedZones::ALL, whole(buffer)) };
    session.done("report zones", submit)?;
    Ok(ZoneReport::parse(&contents(buffer)).ok_or("a report without a header")?.zones)
}
