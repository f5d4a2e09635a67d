//! The device's memory for data that is not on flash yet: how much data it contains, and when data
//! is released.
//!
//! Guarantees: a write is refused only while a release is pending, so every waiting write is
//! eventually accepted. A write larger than the whole buffer is accepted when the buffer is empty.
//! The data itself is not kept here.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The buffer.
#[derive(Debug, Clone)]
pub(crate) struct WriteBuffer {
    size_bytes: u64,
    used_bytes: u64,
    /// Time and bytes, earliest first.
    releases: BinaryHeap<Reverse<(u64, u64)>>,
}

impl WriteBuffer {
    pub(crate) fn new(size_bytes: u64) -> Self {
        Self { size_bytes, used_bytes: 0, releases: BinaryHeap::new() }
    }

    /// Takes room for `bytes`, or returns when some is released next.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<(), u64> {
        let fits = self.used_bytes + bytes <= self.size_bytes;
        match self.releases.peek() {
            Some(Reverse((at_ns, _))) if !fits => Err(*at_ns),
            _ => {
                self.used_bytes += bytes;
                Ok(())
            }
        }
    }

    /// Releases `bytes` at `at_ns`.
    pub(crate) fn release_at(&mut self, at_ns: u64, bytes: u64) {
        self.releases.push(Reverse((at_ns, bytes)));
    }

    /// The time of the next release.
    pub(crate) fn next_release_ns(&self) -> Option<u64> {
        self.releases.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Executes all releases up to `now_ns`.
    pub(crate) fn advance(&mut self, now_ns: u64) {
        while let Some(Reverse((at_ns, bytes))) = self.releases.peek().copied() {
            if at_ns > now_ns {
                break;
            }
            self.releases.pop();
            // NVMeVirt releases whole pages even for shorter writes. The count must not become
            // negative.
            self.used_bytes = self.used_bytes.saturating_sub(bytes);
        }
    }

    /// Executes all scheduled releases; `kept_bytes` stay in the buffer.
    pub(crate) fn settle(&mut self, kept_bytes: u64) {
        self.releases.clear();
        self.used_bytes = kept_bytes;
    }

    /// Bytes in use, and the size of the buffer.
    pub(crate) fn level(&self) -> (u64, u64) {
        (self.used_bytes, self.size_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_buffer_names_the_time_of_its_next_release() {
        let mut buffer = WriteBuffer::new(100);
        assert_eq!(buffer.take(60), Ok(()));
        buffer.release_at(7, 60);
        assert_eq!(buffer.take(60), Err(7));
        buffer.advance(6);
        assert_eq!(buffer.take(60), Err(7));
        buffer.advance(7);
        assert_eq!(buffer.take(60), Ok(()));
        assert_eq!(buffer.level(), (60, 100));
    }

    #[test]
    fn nobody_waits_for_ever() {
        let mut buffer = WriteBuffer::new(100);
        assert_eq!(buffer.take(1000), Ok(()), "larger than the buffer, which is empty");
        assert_eq!(buffer.take(1), Ok(()), "nothing will be released");
    }
}
