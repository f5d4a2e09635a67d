//! A link whose bandwidth transfers share by credits: a flash channel, or the PCIe link.
//!
//! ```text
//! time   |  slot n  | slot n+1 | slot n+2 | ...      a slot is 4 us long and holds as many credits
//! left   |    0     |    0     |   17     | full     as the link moves units in 4 us
//! next   |   +2     |   +1     |
//! ```
//!
//! A transfer takes credits from the slot of its start onwards, so transfers may be reserved in any
//! order of time. Exhausted slots point ahead, and following the pointers shortens them: a backlog
//! of thousands of slots costs a few steps. Slots contain their number, so past slots need not be
//! cleared.
//!
//! Two rules decide the end of a transfer (`Rule`):
//!
//! - compatible: NVMeVirt's channel model (Kim et al., FAST '23). Units of 128 bytes, a whole
//!   number of ns each; 8-bit credits, which overflow above 7,968 MiB/s; delays in whole slots;
//!   no transfer is delayed beyond 98,304 slots.
//! - exact: credits of a sixteenth of a byte, so that no bandwidth is rounded or overflows; a
//!   transfer ends where its last credit lies in the last slot.
//!
//! The link does not know what is transferred, and has no priorities.

/// Length of a slot.
const SLOT_NS: u64 = 4_000;
/// Bytes of a unit in the compatible rule.
const UNIT_BYTES: u64 = 128;
/// How far ahead the compatible rule reserves.
const COMPATIBLE_SLOTS: u64 = 98_304;
/// Initial number of slots; it grows with the backlog.
const FIRST_SLOTS: usize = 256;
/// Credits for each byte in the exact rule.
const EXACT_CREDITS: u64 = 16;
/// Fraction bits of the exact rule's fixed-point ns per byte.
const FRACTION_BITS: u32 = 20;

#[derive(Debug, Clone, Copy)]
struct Slot {
    number: u64,
    left: u32,
    /// Distance to a slot that may have credits; valid only if no credits are left.
    next: u32,
}

const UNUSED: Slot = Slot { number: u64::MAX, left: 0, next: 0 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Compatible { ns_per_unit: u64 },
    Exact { fraction_ns_per_byte: u64 },
}

/// A shared link.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    slots: Vec<Slot>,
    rule: Rule,
    /// Credits of an untouched slot.
    full: u32,
    /// Credits that a slot should have: more than `full` where the compatible rule overflows.
    nominal: u32,
    /// All slots before this one have an entry. It is set from an earlier time, as far ahead as
    /// there are entries.
    horizon: u64,
}

/// Credits that a slot should have in the compatible rule, and those that it has. NVMeVirt keeps
/// only 8 bits of them. This is reproduced because the rule is compared with NVMeVirt. With 0
/// credits, no transfer would ever end.
pub(crate) fn compatible_credits(mib_per_second: u64) -> (u32, u32) {
    let nominal = ((mib_per_second << 20) * SLOT_NS / 1_000_000_000 / UNIT_BYTES) as u32;
    (nominal, nominal & 0xff)
}

impl Link {
    /// NVMeVirt's link. `extra_ns_per_4k` is additional firmware time per 4 KiB.
    pub(crate) fn compatible(mib_per_second: u64, extra_ns_per_4k: u64) -> Self {
        let bytes_per_second = mib_per_second << 20;
        let (nominal, full) = compatible_credits(mib_per_second);
        let ns_per_unit = UNIT_BYTES * 1_000_000_000 / bytes_per_second + extra_ns_per_4k * UNIT_BYTES / 4096;
        Self { slots: vec![UNUSED; FIRST_SLOTS], rule: Rule::Compatible { ns_per_unit }, full, nominal, horizon: 0 }
    }

    /// The exact link.
    pub(crate) fn exact(mib_per_second: u64, extra_ns_per_4k: u64) -> Self {
        let bytes_per_second = mib_per_second << 20;
        let fraction = (1_000_000_000 << FRACTION_BITS) / bytes_per_second + (extra_ns_per_4k << FRACTION_BITS) / 4096;
        let full = ((EXACT_CREDITS * SLOT_NS) << FRACTION_BITS).checked_div(fraction).unwrap_or(1).max(1) as u32;
        let rule = Rule::Exact { fraction_ns_per_byte: fraction };
        Self { slots: vec![UNUSED; FIRST_SLOTS], rule, full, nominal: full, horizon: 0 }
    }

    /// Reserves a transfer of `bytes` that can start at `at_ns`; returns when it ends. `now_ns`
    /// must never decrease, and `at_ns` must not be before it.
    pub(crate) fn reserve(&mut self, now_ns: u64, at_ns: u64, bytes: u64) -> u64 {
        match self.rule {
            Rule::Compatible { ns_per_unit } => self.reserve_compatible(now_ns, at_ns, bytes, ns_per_unit),
            Rule::Exact { fraction_ns_per_byte } => {
                let alone_ns = at_ns + ((bytes * fraction_ns_per_byte) >> FRACTION_BITS);
                let (last, left) = self.take(now_ns, at_ns / SLOT_NS, bytes * EXACT_CREDITS, u64::MAX);
                let used_ns = u64::from(self.full - left) * SLOT_NS / u64::from(self.full);
                alone_ns.max(last * SLOT_NS + used_ns)
            }
        }
    }

    /// Removes all reservations.
    pub(crate) fn clear(&mut self) {
        self.slots = vec![UNUSED; FIRST_SLOTS];
        self.horizon = 0;
    }

    fn reserve_compatible(&mut self, now_ns: u64, at_ns: u64, bytes: u64, ns_per_unit: u64) -> u64 {
        let units = bytes.div_ceil(UNIT_BYTES);
        let (now_slot, first) = (now_ns / SLOT_NS, at_ns / SLOT_NS);
        if first - now_slot >= COMPATIBLE_SLOTS {
            return at_ns;
        }
        let (last, _) = self.take(now_ns, first, units, now_slot + COMPATIBLE_SLOTS - 1);
        let delayed = (last - first).saturating_sub(units / u64::from(self.nominal).max(1));
        at_ns + ns_per_unit * units + delayed * SLOT_NS
    }

    /// Takes `credits` from slot `first` onwards, not beyond slot `limit`. Returns the last slot
    /// used and the credits left in it.
    #[inline]
    fn take(&mut self, now_ns: u64, first: u64, mut credits: u64, limit: u64) -> (u64, u32) {
        let full = self.full;
        let mut number = first;
        loop {
            if number >= self.horizon {
                self.look_further(now_ns / SLOT_NS, number);
            }
            let slot = self.slot_mut(number);
            let left = if slot.number == number { slot.left } else { full };
            if left == 0 && number < limit {
                number = self.skip_exhausted(number).min(limit);
                continue;
            }
            let taken = credits.min(u64::from(left)) as u32;
            *slot = Slot { number, left: left - taken, next: 1 };
            credits -= u64::from(taken);
            if credits == 0 || number == limit {
                return (number, left - taken);
            }
            number += 1;
        }
    }

    /// The first slot from `number` on that may have credits.
    #[cold]
    fn skip_exhausted(&mut self, number: u64) -> u64 {
        let mut end = number;
        loop {
            let slot = *self.slot_mut(end);
            if slot.number != end || slot.left > 0 {
                break;
            }
            end += u64::from(slot.next);
        }
        let mut at = number;
        while at < end {
            let slot = self.slot_mut(at);
            let step = u64::from(slot.next);
            slot.next = (end - at) as u32;
            at += step;
        }
        end
    }

    /// Moves the horizon beyond slot `number`: by the time that has passed or, if that is not
    /// enough, by adding slots.
    #[cold]
    fn look_further(&mut self, now_slot: u64, number: u64) {
        if number - now_slot >= self.slots.len() as u64 {
            self.grow(now_slot, number);
        }
        self.horizon = now_slot + self.slots.len() as u64;
    }

    /// Makes room up to slot `number`: two slots that are not in the past must not share an entry.
    fn grow(&mut self, now_slot: u64, number: u64) {
        let wanted = (number - now_slot + 1).next_power_of_two() as usize;
        let old = std::mem::replace(&mut self.slots, vec![UNUSED; wanted]);
        for slot in old.into_iter().filter(|slot| slot.number != u64::MAX && slot.number >= now_slot) {
            *self.slot_mut(slot.number) = slot;
        }
    }

    fn slot_mut(&mut self, number: u64) -> &mut Slot {
        let mask = self.slots.len() - 1;
        &mut self.slots[number as usize & mask]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_alone_takes_its_time() {
        let mut pcie = Link::compatible(3360, 0);
        assert_eq!(pcie.reserve(0, 0, 4096), 32 * 36);
        let mut channel = Link::compatible(800, 0);
        assert_eq!(channel.reserve(0, 0, 4096), 32 * 152);
        let mut exact = Link::exact(1000, 0);
        assert!(exact.reserve(0, 0, 1 << 20).abs_diff(1_000_000) < 200);
    }

    #[test]
    fn a_busy_link_moves_its_bandwidth_and_no_more() {
        for mib_per_second in [100, 800, 3360, 14_000, 60_000] {
            let mut link = Link::exact(mib_per_second, 0);
            let end = (0..10_000).map(|_| link.reserve(0, 0, 4096)).max().unwrap();
            let expected = 10_000.0 * 4096e9 / (mib_per_second as f64 * 1_048_576.0);
            let error = (end as f64 - expected).abs();
            assert!(error < expected / 5000.0 + SLOT_NS as f64, "{mib_per_second}: {end} beside {expected}");
        }
    }

    #[test]
    fn credits_overflow_in_the_compatible_rule_alone() {
        let transfer = |mut link: Link| (0..1000).map(|_| link.reserve(0, 0, 16384)).max().unwrap();
        assert!(transfer(Link::compatible(9000, 0)) > 4 * transfer(Link::exact(9000, 0)));
        let (compatible, exact) = (transfer(Link::compatible(7000, 0)), transfer(Link::exact(7000, 0)));
        assert!(compatible.abs_diff(exact) < exact / 50, "{compatible} beside {exact}");
    }

    #[test]
    fn the_future_can_be_reserved_before_the_present() {
        let mut link = Link::exact(1000, 0);
        let later = link.reserve(0, 1_000_000, 65536);
        assert_eq!(link.reserve(0, 0, 65536), later - 1_000_000);
    }

    /// A search slot by slot without pointers, whose results `take` must reproduce.
    fn plain(used: &mut std::collections::HashMap<u64, u32>, full: u32, first: u64, mut credits: u64) -> u64 {
        let mut number = first;
        loop {
            let left = used.entry(number).or_insert(full);
            let taken = credits.min(u64::from(*left));
            *left -= taken as u32;
            credits -= taken;
            if credits == 0 {
                return number;
            }
            number += 1;
        }
    }

    proptest::proptest! {
        #[test]
        fn pointers_change_nothing(steps in proptest::collection::vec((0u64..40_000, 0u64..9_000_000, 1u64..300), 1..400)) {
            let mut link = Link::compatible(800, 0);
            let mut used = std::collections::HashMap::new();
            let mut now = 0;
            for (passed, ahead, units) in steps {
                now += passed;
                let first = (now + ahead) / SLOT_NS;
                let expected = plain(&mut used, link.full, first, units);
                proptest::prop_assert_eq!(link.take(now, first, units, u64::MAX).0, expected);
            }
        }
    }
}
