//! Capability chains: parts appended to a description by the kernel, each with the offset of the
//! next.
//!
//! ```text
//!   byte  0     2        4       8
//!        │ id  │ version│ next  │ what the capability says … │
//! ```
//!
//! The chain is checked: it ends where an offset leaves the structure or goes backwards.

/// The capabilities of a description.
pub(crate) struct Capabilities {
    bytes: Vec<u8>,
    first: u32,
}

impl Capabilities {
    /// The capabilities of the structure in `words`. The first one starts at byte `first`; zero
    /// means none.
    pub(crate) fn of(words: &[u32], first: u32) -> Capabilities {
        Capabilities { bytes: words.iter().flat_map(|word| word.to_ne_bytes()).collect(), first }
    }

    /// The bytes after the header of the capability `id`, to the end of the structure.
    fn body(&self, id: u16) -> Option<&[u8]> {
        let mut at = self.first as usize;
        while at != 0 {
            let header = self.bytes.get(at..at.checked_add(8)?)?;
            if u16::from_ne_bytes([header[0], header[1]]) == id {
                return self.bytes.get(at + 8..);
            }
            let next = u32::from_ne_bytes([header[4], header[5], header[6], header[7]]) as usize;
            if next <= at {
                return None;
            }
            at = next;
        }
        None
    }

    /// A capability that is a list: a count, a reserved word, then pairs of 64-bit numbers. `None`
    /// if it is absent or shorter than its count.
    pub(crate) fn pairs(&self, id: u16) -> Option<Vec<(u64, u64)>> {
        let body = self.body(id)?;
        let count = u32::from_ne_bytes(body.get(..4)?.try_into().ok()?) as usize;
        let list = body.get(8..8usize.checked_add(count.checked_mul(16)?)?)?;
        let number = |bytes: &[u8]| Some(u64::from_ne_bytes(bytes.try_into().ok()?));
        list.chunks_exact(16).map(|pair| Some((number(&pair[..8])?, number(&pair[8..])?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A description with its chain at byte 24: capability 3 with one word, then capability 1 with
    /// a list.
    fn chain(count: u32) -> Vec<u32> {
        let mut words = vec![0; 6];
        words.extend([3 | 1 << 16, 40, 65535, 0]);
        words.extend([1 | 1 << 16, 0, count, 0]);
        words.extend([0x0000, 0, 0xfedf_ffff, 0]);
        words.extend([0xfef0_0000, 0, 0xffff_ffff, 0x7f]);
        words
    }

    #[test]
    fn a_list_is_found_behind_other_capabilities() {
        let found = Capabilities::of(&chain(2), 24).pairs(1).unwrap();
        assert_eq!(found, [(0, 0xfedf_ffff), (0xfef0_0000, 0x7f_ffff_ffff)]);
        assert_eq!(Capabilities::of(&chain(0), 24).pairs(1).unwrap(), []);
    }

    #[test]
    fn what_is_absent_or_cut_short_is_none() {
        assert!(Capabilities::of(&chain(2), 0).pairs(1).is_none(), "no chain");
        assert!(Capabilities::of(&chain(2), 24).pairs(7).is_none(), "not in the chain");
        assert!(Capabilities::of(&chain(3), 24).pairs(1).is_none(), "longer than the structure");
        assert!(Capabilities::of(&chain(2), 4000).pairs(1).is_none(), "outside");
        let mut turning = chain(2);
        turning[7] = 24;
        assert!(Capabilities::of(&turning, 24).pairs(1).is_none(), "a circle");
    }

    proptest::proptest! {
        #[test]
        fn no_chain_leads_outside(words in proptest::collection::vec(0u32..64, 0..40), first in 0u32..200, id in 0u16..4) {
            if let Some(list) = Capabilities::of(&words, first).pairs(id) {
                proptest::prop_assert!(list.len() * 4 <= words.len());
            }
        }
    }
}
