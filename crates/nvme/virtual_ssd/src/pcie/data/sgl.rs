//! Scatter gather lists (Base, section 4.4).
//!
//! ```text
//! SGL1 ──▶ data                                        or
//! SGL1 ──▶ segment [block|block|...|segment] ──▶ [block|...|last segment] ──▶ [block|block]
//! ```
//!
//! Guarantees: a list longer than the data is read only as far as the data goes; a shorter one is
//! refused; chains end. Keyed and transport blocks are not supported, because memory-based hosts do
//! not have them.

use iolab_nvme_spec::Status;
use iolab_nvme_spec::sgl::{SGL_DESCRIPTOR_BYTES, SglDescriptor, SglSubtype, SglType};
use iolab_pci_device::HostMemory;

use super::{BUCKET, Piece, unreachable_data};
use crate::command_error::{CommandError, place};
use crate::data_window::DataDirection;

/// The most descriptors of one command; more are refused. Even a logical block in descriptors of
/// one byte each needs fewer.
const MOST_DESCRIPTORS: usize = 16_384;

pub(super) fn resolve<M: HostMemory>(
    memory: &mut M,
    first: SglDescriptor,
    direction: DataDirection,
    bytes: usize,
    pieces: &mut Vec<Piece>,
) -> Result<(), CommandError> {
    let mut list = List { direction, left: bytes, descriptors: 0, pieces };
    let mut segment = match list.take(first, true, true)? {
        Some(segment) => segment,
        None => return list.finish(),
    };
    while let Some(next) = list.read_segment(memory, segment)? {
        segment = next;
    }
    list.finish()
}

fn refuse(status: Status) -> CommandError {
    CommandError::permanent(status).at(place::PRP1, 0)
}

struct List<'a> {
    direction: DataDirection,
    left: usize,
    descriptors: usize,
    pieces: &'a mut Vec<Piece>,
}

impl List<'_> {
    /// Processes one descriptor; returns the segment that it points to.
    fn take(
        &mut self,
        descriptor: SglDescriptor,
        is_last_place: bool,
        may_lead_on: bool,
    ) -> Result<Option<SglDescriptor>, CommandError> {
        self.descriptors += 1;
        if self.descriptors > MOST_DESCRIPTORS {
            return Err(refuse(Status::INVALID_SGL_COUNT));
        }
        if descriptor.subtype() != SglSubtype::ADDRESS {
            return Err(refuse(Status::SGL_TYPE_INVALID));
        }
        match descriptor.kind() {
            SglType::DATA_BLOCK => self.push(descriptor.address(), descriptor.length())?,
            SglType::BIT_BUCKET => {
                // For data to the controller, a bit bucket counts as empty (Base, section 4.4.1).
                if self.direction == DataDirection::ToHost {
                    self.push(BUCKET, descriptor.length())?;
                }
            }
            SglType::SEGMENT | SglType::LAST_SEGMENT => {
                let whole = descriptor.length() > 0 && u64::from(descriptor.length()) % SGL_DESCRIPTOR_BYTES == 0;
                if !is_last_place || !may_lead_on || !whole {
                    return Err(refuse(Status::INVALID_SGL_SEGMENT));
                }
                return Ok(Some(descriptor));
            }
            _ => return Err(refuse(Status::SGL_TYPE_INVALID)),
        }
        Ok(None)
    }

    fn push(&mut self, address: u64, length: u32) -> Result<(), CommandError> {
        let part = self.left.min(length as usize);
        if address != BUCKET && address.checked_add(u64::from(length)).is_none() {
            return Err(unreachable_data());
        }
        if part > 0 {
            self.pieces.push(Piece::new(address, part));
            self.left -= part;
        }
        Ok(())
    }

    /// Reads a segment; returns the next one.
    fn read_segment<M: HostMemory>(
        &mut self,
        memory: &mut M,
        segment: SglDescriptor,
    ) -> Result<Option<SglDescriptor>, CommandError> {
        const BATCH: usize = 64;
        let is_last_segment = segment.kind() == SglType::LAST_SEGMENT;
        let count = segment.length() as usize / SGL_DESCRIPTOR_BYTES as usize;
        let mut raw = [0u8; BATCH * 16];
        let mut done = 0;
        while done < count {
            let batch = BATCH.min(count - done);
            let at = segment.address().checked_add(done as u64 * SGL_DESCRIPTOR_BYTES).ok_or_else(unreachable_data)?;
            memory.read(at, &mut raw[..batch * 16]).map_err(|_| unreachable_data())?;
            for (position, bytes) in raw[..batch * 16].as_chunks::<16>().0.iter().enumerate() {
                let value = u128::from_le_bytes(*bytes);
                let descriptor = SglDescriptor { words: [value as u64, (value >> 64) as u64] };
                let is_last_place = done + position + 1 == count;
                if let Some(next) = self.take(descriptor, is_last_place, !is_last_segment)? {
                    return Ok((self.left > 0).then_some(next));
                }
            }
            done += batch;
        }
        // A segment that is not the last one must point to another one.
        if is_last_segment { Ok(None) } else { Err(refuse(Status::INVALID_SGL_SEGMENT)) }
    }

    fn finish(&self) -> Result<(), CommandError> {
        if self.left > 0 { Err(refuse(Status::DATA_SGL_LENGTH_INVALID)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_pci_device::{DmaBuffer, DmaMapper, DmaTable};

    struct Rig {
        table: DmaTable,
        list: DmaBuffer,
    }

    impl Rig {
        fn new() -> Rig {
            let mut table = DmaTable::new();
            let list = table.allocate(8192).unwrap();
            Rig { table, list }
        }

        fn put(&self, at: usize, descriptor: SglDescriptor) {
            self.list.memory.store_words(at * 16, descriptor.words, std::sync::atomic::Ordering::Relaxed);
        }

        fn resolved(
            &mut self,
            first: SglDescriptor,
            direction: DataDirection,
            bytes: usize,
        ) -> Result<Vec<Piece>, Status> {
            let mut pieces = Vec::new();
            let answer = resolve(&mut self.table, first, direction, bytes, &mut pieces);
            answer.map(|()| pieces).map_err(|refusal| refusal.status.code())
        }
    }

    #[test]
    fn blocks_segments_and_buckets() {
        let mut rig = Rig::new();
        let at = rig.list.address;
        let block = SglDescriptor::data_block;
        assert_eq!(rig.resolved(block(3, 512), DataDirection::ToHost, 512).unwrap(), [Piece::new(3, 512)]);
        assert_eq!(rig.resolved(block(3, 5000), DataDirection::FromHost, 512).unwrap(), [Piece::new(3, 512)]);
        rig.put(0, block(1, 100));
        rig.put(1, SglDescriptor::new(SglType::BIT_BUCKET, SglSubtype::ADDRESS, 0, 300));
        rig.put(2, SglDescriptor::last_segment(at + 256, 32));
        rig.put(16, block(2000, 112));
        rig.put(17, block(3000, 300));
        let first = SglDescriptor::segment(at, 48);
        let read = rig.resolved(first, DataDirection::ToHost, 512).unwrap();
        assert_eq!(read, [Piece::new(1, 100), Piece::new(BUCKET, 300), Piece::new(2000, 112)]);
        let write = rig.resolved(first, DataDirection::FromHost, 512).unwrap();
        assert_eq!(write, [Piece::new(1, 100), Piece::new(2000, 112), Piece::new(3000, 300)]);
    }

    #[test]
    fn every_broken_rule_has_its_status() {
        let mut rig = Rig::new();
        let at = rig.list.address;
        let block = SglDescriptor::data_block(64, 256);
        rig.put(0, block);
        rig.put(1, block);
        rig.put(16, SglDescriptor::segment(at, 16));
        rig.put(17, block);
        rig.put(32, SglDescriptor::segment(at + 512, 16));
        let keyed = SglDescriptor::new(SglType::KEYED_DATA_BLOCK, SglSubtype::ADDRESS, 0, 512);
        let cases = [
            (block, Status::DATA_SGL_LENGTH_INVALID),
            (SglDescriptor::in_capsule(0, 512), Status::SGL_TYPE_INVALID),
            (keyed, Status::SGL_TYPE_INVALID),
            (SglDescriptor::segment(at, 40), Status::INVALID_SGL_SEGMENT),
            (SglDescriptor::segment(at, 0), Status::INVALID_SGL_SEGMENT),
            (SglDescriptor::segment(at, 32), Status::INVALID_SGL_SEGMENT),
            (SglDescriptor::segment(at + 256, 32), Status::INVALID_SGL_SEGMENT),
            (SglDescriptor::last_segment(at + 256, 16), Status::INVALID_SGL_SEGMENT),
            (SglDescriptor::last_segment(64, 16), Status::DATA_TRANSFER_ERROR),
            (SglDescriptor::segment(at + 512, 16), Status::INVALID_SGL_COUNT),
            (SglDescriptor::data_block(u64::MAX - 100, 512), Status::DATA_TRANSFER_ERROR),
        ];
        for (first, expected) in cases {
            assert_eq!(rig.resolved(first, DataDirection::FromHost, 1024), Err(expected), "{first:?}");
        }
    }
}
