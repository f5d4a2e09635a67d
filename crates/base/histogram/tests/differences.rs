//! Differences of a running histogram add up to the whole, whenever they are taken and whatever
//! values were added.

use iolab_histogram::{Baseline, Histogram, PackedHistogram, SparseHistogram};
use proptest::prelude::*;

fn latency() -> impl Strategy<Value = u64> {
    // Every magnitude is as likely as every other.
    (0_u32..64, any::<u64>()).prop_map(|(shift, bits)| bits >> shift)
}

proptest! {
    #[test]
    fn differences_add_up_to_the_whole(
        stretches in prop::collection::vec(prop::collection::vec((latency(), 1_u64..1000), 0..40), 1..12),
    ) {
        let (mut running, mut baseline) = (Histogram::new(), Baseline::new());
        let (mut whole, mut added) = (Histogram::new(), SparseHistogram::default());
        for stretch in &stretches {
            let mut alone = Histogram::new();
            for (value, times) in stretch {
                let value = value % (1 << 46);
                running.add_many(value, *times);
                alone.add_many(value, *times);
                whole.add_many(value, *times);
            }
            let mut bytes = Vec::new();
            prop_assert_eq!(running.difference(&mut baseline, &mut bytes), !stretch.is_empty());
            if stretch.is_empty() {
                prop_assert!(bytes.is_empty());
                continue;
            }
            let mut rest = bytes.as_slice();
            let packed = PackedHistogram::take(&mut rest).expect("what was written can be read");
            prop_assert!(rest.is_empty());
            prop_assert_eq!(packed.to_sparse(), alone.to_sparse());
            added.merge(&packed.to_sparse());
        }
        // Exactly equal, floating-point sums included: the additions happen in the same order.
        prop_assert_eq!(&added, &running.to_sparse());
        let whole = whole.to_sparse();
        prop_assert_eq!((whole.count, whole.min, whole.max), (added.count, added.min, added.max));
        prop_assert_eq!((whole.sum, whole.buckets), (added.sum, added.buckets));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut rest = bytes.as_slice();
        if let Some(packed) = PackedHistogram::take(&mut rest) {
            prop_assert!(packed.to_sparse().count > 0);
        }
    }
}
