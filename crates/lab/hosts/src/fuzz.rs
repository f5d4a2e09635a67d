//! One function for fuzzers: arbitrary bytes as what a server or a client receives.

use iolab_recording::Recording;

use crate::channel::{FrameKind, next_frame};
use crate::message::{Hello, JobRules, Proof, ToClient, ToServer, Welcome};
use crate::spool::Receiving;

/// Most bytes of a frame here.
const MOST_BYTES: usize = 1 << 20;

/// Takes frames from the front of `bytes` and reads each as everything that it might be. Must not
/// panic.
pub fn fuzz_entry(bytes: &[u8]) {
    let mut rest = bytes.to_vec();
    let mut receiving = Receiving::of(2);
    while let Ok(Some(frame)) = next_frame(&mut rest, MOST_BYTES, None) {
        match frame.kind {
            FrameKind::Message => {
                drop(frame.message::<Hello>());
                drop(frame.message::<Welcome>());
                drop(frame.message::<Proof>());
                drop(frame.message::<ToServer>());
                drop(frame.message::<JobRules>());
                if let Ok(ToClient::Spool { worker, content, bytes }) = frame.message() {
                    // One that is refused ends a connection.
                    drop(receiving.begin(worker, content, bytes));
                }
            }
            FrameKind::Progress => {
                if let Ok(progress) = frame.progress() {
                    assert_eq!(progress.workers(3).count(), 3);
                }
            }
            FrameKind::Piece => drop(receiving.add(&frame.payload)),
            _ => drop(std::str::from_utf8(&frame.payload).map(Recording::from_json)),
        }
    }
}
