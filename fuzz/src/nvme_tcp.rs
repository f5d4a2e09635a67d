//! PDUs of NVMe/TCP out of any bytes.

use iolab_nvme_fabrics::{
    Connect, DISCOVERY_RECORD_BYTES, Digests, FabricsCommand, Framing, Pdu, Sender, read_log_page,
};

/// A stream of PDUs: each lies within what was agreed on, and none is read twice.
pub(super) fn survive(input: &[u8]) {
    const MOST: u32 = 8192;
    let Some((first, mut stream)) = input.split_first() else { return };
    let sender = if first & 1 == 0 { Sender::Host } else { Sender::Controller };
    let digests = Digests::of_bits(first >> 1);
    let framing = Framing { digests, send_alignment: 0, most_capsule_data: MOST, most_data: MOST };
    while let Ok(Some((pdu, range))) = framing.next(stream, sender) {
        assert!(range.offset >= 8 && range.bytes <= MOST as usize, "{pdu:?}");
        let Some(rest) = stream.get(range.end()..) else { return };
        let data = &stream[range.offset..range.offset + range.bytes];
        if let Pdu::Command(entry) = pdu {
            // Whatever it asks for, it is understood or refused.
            if FabricsCommand::of(&entry) == Some(FabricsCommand::Connect) {
                let _ = Connect::read(&entry, data);
            }
        }
        let _ = Framing::data_is_intact(&stream[..range.end()], range);
        stream = rest;
    }
    if let Ok((_, records)) = read_log_page(input) {
        assert!(records.len() <= input.len() / DISCOVERY_RECORD_BYTES);
    }
}
