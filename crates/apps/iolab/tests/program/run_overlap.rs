//! `serialize_overlap`: operations on the same bytes are never in flight at the same time.

use crate::support::Lab;

#[test]
fn overlapping_operations_wait_for_each_other() {
    for (serialized, deepest) in [(1, 1), (0, 8)] {
        let lab = Lab::new();
        // One block of one file, so every operation overlaps every other.
        let job = format!(
            "[a]\nioengine=null\nrw=randwrite\nbs=4k\nsize=4k\nio_size=4m\nnorandommap=1\niodepth=8\niodepth_batch=8\nserialize_overlap={serialized}\n"
        );
        lab.job(&job).ended(0, "");
        let recording = lab.recording();
        let reached = recording.workers[0].depth.at_submit.last().map(|(depth, _)| *depth);
        assert_eq!((recording.workers[0].directions[1].ios, reached), (1024, Some(deepest)));
    }
}
