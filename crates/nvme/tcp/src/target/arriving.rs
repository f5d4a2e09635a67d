//! Data PDUs of a connection: they are received in pieces; then their commands are executed.

use iolab_nvme_fabrics::{DataPart, DataRange, PduError};

use super::connection::{Connection, End};
use super::io_role::After;
use super::role::Role;

impl Connection {
    /// Begins a PDU with data, after its header.
    pub(super) fn begin_data(&mut self, part: &DataPart, range: DataRange) -> Result<(), End> {
        let Some((window, queue)) = self.role.parts() else {
            return Err(PduError::sequence("data before a queue was connected").into());
        };
        let incoming = queue.transfers.begin(part, range.has_digest)?;
        window.inbox.consume(range.offset);
        self.incoming = Some(incoming);
        Ok(())
    }

    /// Takes data of the PDU that is being received. Returns whether it is complete.
    pub(super) fn take_data(&mut self, now_ns: u64) -> Result<bool, End> {
        let Some(mut incoming) = self.incoming.take() else { return Ok(true) };
        let Some((window, queue)) = self.role.parts() else { return Ok(true) };
        let bytes = incoming.left.min(window.inbox.unread().len());
        queue.transfers.room(&incoming)[..bytes].copy_from_slice(&window.inbox.unread()[..bytes]);
        queue.transfers.received(&mut incoming, bytes);
        window.inbox.consume(bytes);
        let has_digest = window.framing.digests.data;
        let digest = if has_digest { window.inbox.unread().first_chunk().copied() } else { None };
        if incoming.left > 0 || has_digest && digest.is_none() {
            self.incoming = Some(incoming);
            return Ok(false);
        }
        if has_digest {
            window.inbox.consume(4);
        }
        let gathered = queue.transfers.end(incoming, digest.map(u32::from_le_bytes));
        if queue.transfers.has_waiting() {
            queue.transfers.ask(&window.framing, window.out.bytes());
        }
        if let Some(gathered) = gathered {
            let after = match &mut self.role {
                Role::Io(role) => role.execute_gathered(gathered, now_ns),
                Role::Admin(role) => role.execute_gathered(gathered, now_ns),
                Role::Authenticating(role) => role.execute_gathered(gathered),
                _ => After::GoOn,
            };
            if after == After::End {
                return Err(End::Over);
            }
            self.end_authentication();
        }
        Ok(true)
    }
}
