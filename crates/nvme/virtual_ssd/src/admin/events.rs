//! Asynchronous events, and the host's requests for them (Base, section 5.2).
//!
//! Guarantees: an event of a kind is reported once until the host reads its log page. Events that
//! the host has not enabled are not reported. This module does not know the causes of events.

use std::collections::VecDeque;

use iolab_nvme_spec::Status;
use iolab_nvme_spec::event::{AsynchronousEvent, ErrorEvent, EventType, HealthEvent, NoticeEvent};
use iolab_nvme_spec::feature::EventConfiguration;
use iolab_nvme_spec::log::LogPage;

use super::AdminExecutor;
use crate::command_error::CommandError;
use crate::controller_record::Notice;

/// The number of requests that may be outstanding, less one (AERL).
pub(super) const REQUEST_LIMIT: u8 = 7;

/// Requests and events of one controller.
#[derive(Debug, Default)]
pub(super) struct Events {
    requests: VecDeque<u16>,
    pending: VecDeque<AsynchronousEvent>,
    /// The reported kinds whose log page has not been read since they were reported.
    masked: Vec<AsynchronousEvent>,
    /// Namespaces for the log of changed namespaces.
    pub(super) changed_namespaces: std::collections::BTreeSet<u32>,
}

impl Events {
    /// Adds a request.
    pub(super) fn request(&mut self, cid: u16) -> Result<(), CommandError> {
        if self.requests.len() > usize::from(REQUEST_LIMIT) {
            return Err(CommandError::permanent(Status::EVENT_REQUEST_LIMIT_EXCEEDED));
        }
        self.requests.push_back(cid);
        Ok(())
    }

    /// Removes a request.
    fn withdraw(&mut self, cid: u16) -> bool {
        let found = self.requests.iter().position(|request| *request == cid);
        found.and_then(|place| self.requests.remove(place)).is_some()
    }

    /// Adds an event, unless one of its kind is already pending.
    pub(super) fn add(&mut self, event: AsynchronousEvent) {
        if !self.pending.contains(&event) {
            self.pending.push_back(event);
        }
    }

    /// Whether there are both an event and a request.
    #[inline]
    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty() && !self.requests.is_empty()
    }

    /// Takes an event that may be reported, and the request that it answers.
    fn take_deliverable(&mut self) -> Option<(u16, AsynchronousEvent)> {
        let place = self.pending.iter().position(|event| !self.masked.contains(event))?;
        let cid = self.requests.pop_front()?;
        let event = self.pending.remove(place)?;
        self.masked.push(event);
        Some((cid, event))
    }

    /// Records that a log page was read without Retain Asynchronous Event.
    pub(super) fn unmask(&mut self, page: LogPage) {
        self.masked.retain(|event| event.log_page() != page.0);
    }
}

impl AdminExecutor {
    /// Adds the event for a notice, if the host has enabled it.
    pub fn note(&mut self, notice: &Notice) {
        let enabled = EventConfiguration(self.features.event_configuration());
        let notice_event =
            |information: NoticeEvent, page: LogPage| AsynchronousEvent::new(EventType::NOTICE, information.0, page.0);
        let error_event =
            |information: ErrorEvent| AsynchronousEvent::new(EventType::ERROR, information.0, LogPage::ERROR.0);
        match notice {
            Notice::InvalidDoorbellValue => self.events.add(error_event(ErrorEvent::INVALID_DOORBELL_VALUE)),
            Notice::InvalidDoorbellRegister => self.events.add(error_event(ErrorEvent::INVALID_DOORBELL_REGISTER)),
            Notice::NamespaceChanged { namespace } => {
                self.events.changed_namespaces.insert(*namespace);
                if enabled.namespace_attribute() {
                    self.events.add(notice_event(NoticeEvent::NAMESPACE_CHANGED, LogPage::CHANGED_NAMESPACES));
                }
            }
            Notice::ZonesChanged { .. } if enabled.zone_descriptor() => {
                self.events.add(notice_event(NoticeEvent::ZONE_DESCRIPTOR_CHANGED, LogPage::CHANGED_ZONES));
            }
            Notice::AccessChanged if enabled.ana_change() => {
                self.events.add(notice_event(NoticeEvent::ANA_CHANGE, LogPage::ANA));
            }
            Notice::HealthChanged => self.note_health(enabled),
            _ => {}
        }
    }

    fn note_health(&mut self, enabled: EventConfiguration) {
        let warning = self.critical_warning();
        let wanted = enabled.health() & warning.0;
        let kinds = [(wanted & 1, HealthEvent::SPARE), (wanted & 2, HealthEvent::TEMPERATURE)];
        for (_, information) in kinds.into_iter().filter(|(bit, _)| *bit != 0) {
            self.events.add(AsynchronousEvent::new(EventType::HEALTH, information.0, LogPage::HEALTH.0));
        }
    }

    /// Withdraws a request for events, as Abort does; the caller answers it as aborted. Returns
    /// `false` if there is none with this command identifier.
    pub fn withdraw_event_request(&mut self, cid: u16) -> bool {
        self.events.withdraw(cid)
    }

    /// An event that may be reported, and the command identifier of the request that it answers.
    pub fn take_event(&mut self) -> Option<(u16, AsynchronousEvent)> {
        self.events.take_deliverable()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_reported_once_until_its_page_is_read() {
        let mut events = Events::default();
        let event = AsynchronousEvent::new(EventType::ERROR, 1, LogPage::ERROR.0);
        events.add(event);
        events.add(event);
        assert!(!events.has_pending());
        events.request(7).unwrap();
        events.request(8).unwrap();
        assert_eq!(events.take_deliverable(), Some((7, event)));
        events.add(event);
        assert_eq!(events.take_deliverable(), None, "masked");
        events.unmask(LogPage::HEALTH);
        assert_eq!(events.take_deliverable(), None);
        events.unmask(LogPage::ERROR);
        assert_eq!(events.take_deliverable(), Some((8, event)));
    }

    #[test]
    fn requests_are_limited_and_can_be_withdrawn() {
        let mut events = Events::default();
        for cid in 0..=u16::from(REQUEST_LIMIT) {
            events.request(cid).unwrap();
        }
        let refused = events.request(99).unwrap_err();
        assert_eq!(refused.status.code(), Status::EVENT_REQUEST_LIMIT_EXCEEDED);
        assert!(events.withdraw(3) && !events.withdraw(3));
        events.request(99).unwrap();
    }
}
