//! How this controller reaches a namespace: Asymmetric Namespace Access (Base, section 8.1).

use iolab_nvme_spec::FromBytes;
use iolab_nvme_spec::log::{AnaGroup, AnaHeader, AnaState, LogPage};

use super::Controller;
use crate::error::DriverError;
use crate::transport::Transport;

/// Bit 3 of CMIC: the subsystem reports the states.
const REPORTS_ACCESS: u8 = 1 << 3;
/// Bytes that one command reads.
const ONE_COMMAND_BYTES: usize = 4096;
/// A limit above the page size of any subsystem, bytes.
const MOST_BYTES: usize = 1 << 20;

impl<T: Transport> Controller<T> {
    /// How the controller reaches a namespace now, from log page 0Ch; `None` if the subsystem does
    /// not report it.
    ///
    /// # Errors
    /// The controller does not return the page, or the page is inconsistent.
    pub fn access(&self, nsid: u32) -> Result<Option<AnaState>, DriverError> {
        let identify = &self.facts().identify;
        if identify.cmic & REPORTS_ACCESS == 0 {
            return Ok(None);
        }
        // The size of the largest possible page: every group and every namespace.
        let (groups, namespaces) =
            (identify.nanagrpid.get() as usize, identify.nn.get().max(identify.mnan.get()) as usize);
        let bytes = groups.saturating_mul(32).saturating_add(namespaces.saturating_mul(4)).saturating_add(16);
        // One command usually reads the whole page. Linux's target supports no offset, and refuses
        // a length shorter than its page.
        let mut page = vec![0; bytes.min(ONE_COMMAND_BYTES)];
        self.log_page(LogPage::ANA, 0, true, &mut page)?;
        if bytes > page.len() && find(&page, nsid).is_err() {
            page = vec![0; bytes.min(MOST_BYTES)];
            self.log_page(LogPage::ANA, 0, true, &mut page)?;
        }
        find(&page, nsid)
    }
}

/// Finds the state of the group that contains a namespace.
fn find(page: &[u8], nsid: u32) -> Result<Option<AnaState>, DriverError> {
    Ok(states(page)?.into_iter().find(|(id, _)| *id == nsid).map(|(_, state)| state))
}

/// The state of each namespace that a page lists.
pub(super) fn states(page: &[u8]) -> Result<Vec<(u32, AnaState)>, DriverError> {
    let cut_off = || DriverError::BadDescription("its page of asymmetric access ends within a group".into());
    let (header, mut rest) = AnaHeader::read_from_prefix(page).map_err(|_| cut_off())?;
    let mut found = Vec::new();
    for _ in 0..header.groups.get() {
        let (group, behind) = AnaGroup::read_from_prefix(rest).map_err(|_| cut_off())?;
        let bytes = (group.namespaces.get() as usize).saturating_mul(4);
        let (list, next) = behind.split_at_checked(bytes).ok_or_else(cut_off)?;
        let ids = list.chunks_exact(4).filter_map(|one| one.try_into().ok()).map(u32::from_le_bytes);
        found.extend(ids.map(|id| (id, AnaState(group.state & 0xf))));
        rest = next;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a page of groups; each group has a state and namespaces.
    fn page(groups: &[(u8, &[u32])]) -> Vec<u8> {
        let mut page = vec![0; 16];
        page[8] = groups.len() as u8;
        for (number, (state, namespaces)) in groups.iter().enumerate() {
            let mut group = [0; 32];
            (group[0], group[4], group[16]) = (number as u8 + 1, namespaces.len() as u8, *state);
            page.extend_from_slice(&group);
            namespaces.iter().for_each(|nsid| page.extend_from_slice(&nsid.to_le_bytes()));
        }
        page
    }

    #[test]
    fn a_namespace_has_the_state_of_its_group() {
        let page = page(&[(1, &[1, 300]), (3, &[2]), (0x1f, &[])]);
        let cases = [
            (1, Some(AnaState::OPTIMIZED)),
            (300, Some(AnaState::OPTIMIZED)),
            (2, Some(AnaState::INACCESSIBLE)),
            (3, None),
        ];
        for (nsid, state) in cases {
            assert_eq!(find(&page, nsid).unwrap(), state, "namespace {nsid}");
        }
    }

    #[test]
    fn a_page_that_ends_too_early_is_an_error() {
        let whole = page(&[(1, &[1, 2]), (2, &[3])]);
        for length in 0..whole.len() {
            assert!(find(&whole[..length], 9).is_err(), "{length} bytes");
        }
        let mut endless = whole;
        endless[20..24].fill(0xff);
        assert!(find(&endless, 9).is_err());
    }
}
