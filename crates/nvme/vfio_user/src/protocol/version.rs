//! The first message: version and capabilities, as JSON.

use serde_json::{Map, Value, json};

use super::Fields;

/// The major version; a different one is a different protocol.
pub const MAJOR: u16 = 0;
/// The minor version.
pub const MINOR: u16 = 1;

/// The default for a peer that does not state its capabilities.
const DEFAULT_DATA_BYTES: u64 = 1 << 20;

/// Version and capabilities, of the proposal and of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionMessage {
    /// The major version.
    pub major: u16,
    /// The minor version.
    pub minor: u16,
    /// The capabilities of the sender.
    pub abilities: Abilities,
}

/// The capabilities of a sender. `None` means that it did not state one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Abilities {
    /// The most descriptors that it accepts with a message.
    pub descriptors: Option<u64>,
    /// The most bytes of a transfer.
    pub data_bytes: Option<u64>,
    /// The most mappings at a time.
    pub mappings: Option<u64>,
    /// The supported page sizes of mappings, combined as bits.
    pub page_sizes: Option<u64>,
    /// Whether it supports several writes in a message.
    pub write_multiple: Option<bool>,
}

const DESCRIPTORS: &str = "max_msg_fds";
const DATA_BYTES: &str = "max_data_xfer_size";
const MAPPINGS: &str = "max_dma_maps";
const PAGE_SIZES: &str = "pgsizes";
const WRITE_MULTIPLE: &str = "write_multiple";

impl Abilities {
    /// The most bytes of a transfer that the peer accepts.
    pub fn transfer_bytes(&self) -> u64 {
        self.data_bytes.unwrap_or(DEFAULT_DATA_BYTES)
    }

    /// Those capabilities in `own` that this peer has stated, because an answer contains no others.
    #[must_use]
    pub fn answer(&self, own: &Abilities) -> Abilities {
        Abilities {
            descriptors: self.descriptors.and(own.descriptors),
            data_bytes: self.data_bytes.and(own.data_bytes),
            mappings: self.mappings.and(own.mappings),
            page_sizes: self.page_sizes.and(own.page_sizes),
            write_multiple: self.write_multiple.and(own.write_multiple),
        }
    }
}

impl VersionMessage {
    /// The payload.
    pub fn encode(&self) -> Vec<u8> {
        let mut list = Map::new();
        let abilities = &self.abilities;
        let numbers = [
            (DESCRIPTORS, abilities.descriptors),
            (DATA_BYTES, abilities.data_bytes),
            (MAPPINGS, abilities.mappings),
            (PAGE_SIZES, abilities.page_sizes),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                list.insert(name.to_owned(), number.into());
            }
        }
        if let Some(write_multiple) = abilities.write_multiple {
            list.insert(WRITE_MULTIPLE.to_owned(), write_multiple.into());
        }
        let mut payload = [self.major.to_le_bytes(), self.minor.to_le_bytes()].concat();
        payload.extend_from_slice(json!({ "capabilities": list }).to_string().as_bytes());
        payload.push(0);
        payload
    }

    /// Decodes a payload; `None` if it has no version, or if its data is not JSON.
    pub fn decode(payload: &[u8]) -> Option<VersionMessage> {
        let word = Fields(payload).u32(0)?;
        let data = payload.get(4..)?;
        let data = data.strip_suffix(&[0]).unwrap_or(data);
        let mut abilities = Abilities::default();
        if !data.is_empty() {
            let data: Value = iolab_deserialize::json(data).ok()?;
            let list = data.get("capabilities");
            let number = |name: &str| list?.get(name)?.as_u64();
            abilities = Abilities {
                descriptors: number(DESCRIPTORS),
                data_bytes: number(DATA_BYTES),
                mappings: number(MAPPINGS),
                page_sizes: number(PAGE_SIZES),
                write_multiple: list.and_then(|list| list.get(WRITE_MULTIPLE)).and_then(Value::as_bool),
            };
        }
        Some(VersionMessage { major: word as u16, minor: (word >> 16) as u16, abilities })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_they_were_written() {
        let abilities = Abilities { descriptors: Some(8), write_multiple: Some(true), ..Abilities::default() };
        let version = VersionMessage { major: 0, minor: 1, abilities };
        let bytes = version.encode();
        assert_eq!(bytes[..4], [0, 0, 1, 0]);
        assert_eq!(
            std::str::from_utf8(&bytes[4..]),
            Ok("{\"capabilities\":{\"max_msg_fds\":8,\"write_multiple\":true}}\0")
        );
        assert_eq!(VersionMessage::decode(&bytes), Some(version));
        let none = VersionMessage { abilities: Abilities::default(), ..version };
        assert_eq!(VersionMessage::decode(&bytes[..4]), Some(none), "the data may be missing");
        assert_eq!(VersionMessage::decode(b"\0\0\x01\0{}\0"), Some(none));
        assert_eq!(VersionMessage::decode(b"\0\0\x01\0{\"capabilities\":[1]}"), Some(none), "odd data says nothing");
        for wrong in [&b"\0\0\x01"[..], b"\0\0\x01\0{", b"\0\0\x01\0\xff\0"] {
            assert_eq!(VersionMessage::decode(wrong), None);
        }
    }

    #[test]
    fn an_answer_names_what_was_spoken_of() {
        let own = Abilities { descriptors: Some(16), mappings: Some(9), ..Abilities::default() };
        let asked = Abilities { descriptors: Some(8), page_sizes: Some(4096), ..Abilities::default() };
        assert_eq!(asked.answer(&own), Abilities { descriptors: Some(16), ..Abilities::default() });
        assert_eq!((asked.transfer_bytes(), own.transfer_bytes()), (1 << 20, 1 << 20));
    }
}
