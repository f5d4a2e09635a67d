//! What a device reported while a job used it, as notes of the recording.

use iolab_nvme_driver::{AsyncEvent, EventDetail};

use crate::any_transport::AnyController;

/// States that a note lists; the number of changes is told in any case.
const STATES_LISTED: usize = 8;

/// The notes of the events and the resets of a device since it had been reset `resets` times.
pub(crate) fn notes(device: &str, controller: &AnyController, namespace: u32, resets: u32) -> Vec<String> {
    let mut notes = of_events(device, namespace, &controller.take_noticed());
    let count = controller.resets().wrapping_sub(resets);
    if let Some(latest) = controller.recoveries().last().filter(|_| count > 0) {
        let times = times(count as usize);
        notes.push(format!("{device}: the controller was reset {times} during the job: {}", latest.fault));
    }
    notes
}

fn times(count: usize) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// The notes of the events that a device reported, in the order of their kinds.
fn of_events(device: &str, namespace: u32, events: &[AsyncEvent]) -> Vec<String> {
    let (mut states, mut errors, mut warnings, mut zones, mut others) = (Vec::new(), 0, 0, 0, 0);
    let mut namespaces: Vec<String> = Vec::new();
    let many = |names: &mut Vec<String>, name: String| {
        if !names.contains(&name) {
            names.push(name);
        }
    };
    for event in events {
        match &event.detail {
            EventDetail::Access { states: all, .. } => {
                states.extend(all.iter().filter(|(id, _)| *id == namespace).map(|(_, state)| state.to_string()));
            }
            EventDetail::Namespaces(Some(ids)) => ids.iter().for_each(|id| many(&mut namespaces, id.to_string())),
            EventDetail::Namespaces(None) => many(&mut namespaces, "many".to_owned()),
            EventDetail::Errors(entries) => errors += entries.len().max(1),
            EventDetail::Health(_) => warnings += 1,
            EventDetail::Zones(_) => zones += 1,
            EventDetail::Unread => others += 1,
        }
    }
    let mut notes = Vec::new();
    if !states.is_empty() {
        let more = states.len().saturating_sub(STATES_LISTED);
        let list = states[more..].join(", ");
        let before = if more > 0 { "…, " } else { "" };
        let times = times(states.len());
        notes.push(format!("asymmetric access of ns={namespace} changed {times} during the job: {before}{list}"));
    }
    if !namespaces.is_empty() {
        notes.push(format!("the device changed namespaces during the job: {}", namespaces.join(", ")));
    }
    let counted = [
        (errors, "error(s), in its own log"),
        (warnings, "warning(s) about its health (`iolab nvme smart` shows it)"),
        (zones, "change(s) of zones by itself"),
        (others, "event(s) of other kinds"),
    ];
    notes.extend(
        counted
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("the device reported during the job: {count} {what}")),
    );
    notes.into_iter().map(|note| format!("{device}: {note}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_nvme_spec::event::AsynchronousEvent;
    use iolab_nvme_spec::log::AnaState;

    #[test]
    fn events_of_a_kind_are_one_note() {
        let event = |detail| AsyncEvent { reported: AsynchronousEvent(0), detail };
        let access = |state| event(EventDetail::Access { changes: 1, states: vec![(1, state), (2, AnaState::CHANGE)] });
        let two = [access(AnaState::INACCESSIBLE), access(AnaState::OPTIMIZED)];
        assert_eq!(
            of_events("d", 1, &two),
            ["d: asymmetric access of ns=1 changed 2 times during the job: inaccessible, optimized"]
        );
        assert!(of_events("d", 3, &two).is_empty(), "of other namespaces");
        let many: Vec<AsyncEvent> = (0..9).map(|_| access(AnaState::OPTIMIZED)).collect();
        assert!(of_events("d", 1, &many)[0].contains("changed 9 times during the job: …, optimized"));
        let namespaces = [Some(vec![1, 2]), Some(vec![2]), None].map(|ids| event(EventDetail::Namespaces(ids)));
        assert_eq!(of_events("d", 1, &namespaces), ["d: the device changed namespaces during the job: 1, 2, many"]);
        let errors = [event(EventDetail::Errors(Vec::new())), event(EventDetail::Unread)];
        let shown = of_events("d", 1, &errors);
        assert!(shown.len() == 2 && shown[0].contains("1 error(s), in its own log"), "{shown:?}");
    }
}
