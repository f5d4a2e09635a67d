//! Asynchronous events as values (Base, section 5.2).
//!
//! The driver reads the log page of each event. The page has the details, and reading it permits
//! the device to report the next event of the same type.

use iolab_nvme_spec::event::{AsynchronousEvent, EventType, NoticeEvent};
use iolab_nvme_spec::log::{
    AnaHeader, ChangedNamespaces, ChangedZones, ErrorLogEntry, HealthLog, LogPage, MANY_CHANGED_ZONES,
};
use iolab_nvme_spec::{ALL_NAMESPACES, FromBytes};

use super::event_types::{AsyncEvent, EventDetail};
use super::{Controller, access};
use crate::error::DriverError;
use crate::transport::Transport;

/// Entries of the error log that are read with an error event.
const ERRORS_READ: usize = 16;
/// The most events that are kept for [`Controller::take_noticed`].
const NOTICED_KEPT: usize = 256;
/// The most events that one look handles, so that a device cannot occupy its caller.
const EVENTS_PER_LOOK: usize = 16;
/// Bytes that one command reads.
const PAGE_BYTES: usize = 4096;

impl<T: Transport> Controller<T> {
    /// Returns the next event, if there is one. Polls the admin queue once and does not wait.
    pub fn next_event(&self) -> Result<Option<AsyncEvent>, DriverError> {
        self.next_reported(true)
    }

    /// The events that queue pairs noticed since the last call, oldest first, and those that wait
    /// now. Only the newest ones are kept.
    pub fn take_noticed(&self) -> Vec<AsyncEvent> {
        self.notice_events();
        self.shared.lock().noticed.drain(..).collect()
    }

    /// Looks for events and keeps them; returns whether a namespace is now reached otherwise. What
    /// is wrong with the controller shows elsewhere.
    pub(crate) fn notice_events(&self) -> bool {
        let mut is_reached_otherwise = false;
        for _ in 0..EVENTS_PER_LOOK {
            let Ok(Some(event)) = self.next_reported(false) else { break };
            is_reached_otherwise |= matches!(event.detail, EventDetail::Access { .. });
            let noticed = &mut self.shared.lock().noticed;
            if noticed.len() == NOTICED_KEPT {
                noticed.pop_front();
            }
            noticed.push_back(event);
        }
        is_reached_otherwise
    }

    fn next_reported(&self, checks_status: bool) -> Result<Option<AsyncEvent>, DriverError> {
        let reported = {
            let mut cold = self.shared.lock();
            cold.alive()?;
            let cold = &mut *cold;
            if let Err(fault) = cold.admin.poll(cold.transport.admin()) {
                cold.recover(fault)?;
            }
            if checks_status {
                cold.check_status()?;
            }
            cold.admin.events.pop_front()
        };
        let Some(reported) = reported else { return Ok(None) };
        let detail = match self.detail(reported) {
            Ok(detail) => detail,
            Err(DriverError::Admin { .. }) => EventDetail::Unread,
            Err(error) => return Err(error),
        };
        Ok(Some(AsyncEvent { reported, detail }))
    }

    fn detail(&self, event: AsynchronousEvent) -> Result<EventDetail, DriverError> {
        let page = LogPage(event.log_page());
        match (event.event_type(), page) {
            (EventType::ERROR, LogPage::ERROR) => {
                let available = usize::from(self.facts().identify.elpe) + 1;
                let mut bytes = vec![0; available.min(ERRORS_READ) * size_of::<ErrorLogEntry>()];
                self.log_page(page, ALL_NAMESPACES, false, &mut bytes)?;
                let entries = bytes.chunks_exact(size_of::<ErrorLogEntry>());
                let entries = entries.filter_map(|bytes| ErrorLogEntry::read_from_bytes(bytes).ok());
                Ok(EventDetail::Errors(entries.filter(|entry| entry.error_count.get() != 0).collect()))
            }
            (EventType::HEALTH, LogPage::HEALTH) => {
                Ok(EventDetail::Health(self.read_log::<HealthLog>(page, ALL_NAMESPACES)?))
            }
            (EventType::NOTICE, LogPage::CHANGED_NAMESPACES) => {
                let list = self.read_log::<ChangedNamespaces>(page, ALL_NAMESPACES)?;
                let changed = list.identifiers.iter().map(|nsid| nsid.get()).take_while(|nsid| *nsid != 0);
                let changed: Vec<u32> = changed.collect();
                Ok(EventDetail::Namespaces((changed.first() != Some(&ALL_NAMESPACES)).then_some(changed)))
            }
            (EventType::NOTICE, _) if NoticeEvent(event.information()) == NoticeEvent::ZONE_DESCRIPTOR_CHANGED => {
                self.changed_zones()
            }
            (EventType::NOTICE, LogPage::ANA) => {
                // A target may refuse a length that is shorter than its page.
                let mut page = [0; PAGE_BYTES];
                self.log_page(LogPage::ANA, 0, false, &mut page)?;
                let changes = AnaHeader::read_from_prefix(&page).map_or(0, |(header, _)| header.changes.get());
                Ok(EventDetail::Access { changes, states: access::states(&page).unwrap_or_default() })
            }
            _ => self.acknowledge(page),
        }
    }

    /// The changed zones of all zoned namespaces, because the event does not say which namespace it
    /// concerns.
    fn changed_zones(&self) -> Result<EventDetail, DriverError> {
        let mut zones = Vec::new();
        for namespace in self.namespaces()?.iter().filter(|namespace| namespace.zones().is_some()) {
            let list = self.read_log::<ChangedZones>(LogPage::CHANGED_ZONES, namespace.id())?;
            if list.nrzid.get() == MANY_CHANGED_ZONES {
                return Ok(EventDetail::Zones(None));
            }
            zones.extend(list.zid.iter().take(usize::from(list.nrzid.get())).map(|zone| zone.get()));
        }
        Ok(EventDetail::Zones(Some(zones)))
    }

    /// Reads the start of a page only for the side effect on the device.
    fn acknowledge(&self, page: LogPage) -> Result<EventDetail, DriverError> {
        if page.0 != 0 {
            self.log_page(page, ALL_NAMESPACES, false, &mut [0; 512])?;
        }
        Ok(EventDetail::Unread)
    }

    fn read_log<D: FromBytes>(&self, page: LogPage, nsid: u32) -> Result<Box<D>, DriverError> {
        let mut bytes = vec![0; size_of::<D>()];
        self.log_page(page, nsid, false, &mut bytes)?;
        D::read_from_bytes(&bytes)
            .map(Box::new)
            .map_err(|_| DriverError::BadRequest("the log page data structure has an unexpected size".into()))
    }
}
