//! The default cleaning settings of an image, as stored in the bootstrap record
//! (docs/logfs/format.md, "Bootstrap record").

use crate::bytes::{Put, Take};
use crate::cleaning::{CleaningDefaults, Policy, ReadingCost};

/// Offset in the record.
pub(super) const AT: usize = 256;

const HAS_POLICY: u32 = 1;
const HAS_MEMORY: u32 = 2;
const HAS_READING: u32 = 4;

const MILLIONTHS: f64 = 1e6;

pub(super) fn encode(defaults: &CleaningDefaults, record: &mut Vec<u8>) {
    let CleaningDefaults { policy, memory_bytes, reading } = *defaults;
    let (kind, share) = match policy {
        None => (0, 0.0),
        Some(Policy::Threshold { k }) => (1, k),
        Some(Policy::Dynamic { cap }) => (2, cap),
        Some(Policy::CostBenefit) => (3, 0.0),
        Some(Policy::Greedy) => (4, 0.0),
    };
    let flag = |is_there: bool, bit: u32| if is_there { bit } else { 0 };
    record.put_u32(
        flag(policy.is_some(), HAS_POLICY)
            | flag(memory_bytes.is_some(), HAS_MEMORY)
            | flag(reading.is_some(), HAS_READING),
    );
    record.put_u32(kind);
    record.put_u32((share * MILLIONTHS).round() as u32);
    record.put_u32(0);
    record.put_u64(memory_bytes.unwrap_or(0));
    record.put_u64(reading.map_or(0, |reading| reading.request_ns));
    record.put_u64(reading.map_or(0, |reading| reading.kib_ns));
}

/// A policy that this program does not know is treated as none.
pub(super) fn decode(record: &[u8]) -> Option<CleaningDefaults> {
    let mut take = Take(record.get(AT..)?);
    let (there, kind, share, _reserved) = (take.u32()?, take.u32()?, take.u32()?, take.u32()?);
    let (memory_bytes, request_ns, kib_ns) = (take.u64()?, take.u64()?, take.u64()?);
    let share = f64::from(share).min(MILLIONTHS) / MILLIONTHS;
    let policy = match kind {
        1 => Some(Policy::Threshold { k: share }),
        2 => Some(Policy::Dynamic { cap: share }),
        3 => Some(Policy::CostBenefit),
        4 => Some(Policy::Greedy),
        _ => None,
    };
    Some(CleaningDefaults {
        policy: policy.filter(|_| there & HAS_POLICY != 0),
        memory_bytes: Some(memory_bytes).filter(|_| there & HAS_MEMORY != 0),
        reading: Some(ReadingCost { request_ns, kib_ns }).filter(|_| there & HAS_READING != 0),
    })
}
