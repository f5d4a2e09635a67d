//! Numbers and vectors in the memory of a traced thread. Memory that a program shares with the
//! kernel may hold anything: every count has a limit.

use crate::tracee::read_memory;

/// Most elements of a vector (`UIO_MAXIOV`).
const MOST_VECTORS: u64 = 1024;

/// A 32-bit number.
pub(crate) fn word(thread: i32, address: u64) -> Option<u32> {
    let mut bytes = [0; 4];
    read_memory(thread, address, &mut bytes).then(|| u32::from_le_bytes(bytes))
}

/// A 64-bit number.
pub(crate) fn long(thread: i32, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    read_memory(thread, address, &mut bytes).then(|| u64::from_le_bytes(bytes))
}

/// Some bytes.
pub(crate) fn bytes<const N: usize>(thread: i32, address: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    read_memory(thread, address, &mut bytes).then_some(bytes)
}

/// The total length of a vector of buffers (readv(2)).
pub(crate) fn vector_length(thread: i32, address: u64, count: u64) -> u64 {
    let mut vector = vec![0; (count.min(MOST_VECTORS) * 16) as usize];
    if !read_memory(thread, address, &mut vector) {
        return 0;
    }
    let lengths = vector.chunks_exact(16).map(|entry| number(entry, 8));
    lengths.fold(0, u64::saturating_add)
}

/// A 64-bit number inside bytes that were copied; 0 beyond their end.
pub(crate) fn number(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|part| part.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// A 32-bit number inside bytes that were copied; 0 beyond their end.
pub(crate) fn half(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|part| part.try_into().ok()).map_or(0, u32::from_le_bytes)
}
