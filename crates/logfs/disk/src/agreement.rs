//! Shared by the tests of disks: requests that every disk must answer in the same way.

use crate::{Action, BlockDevice, Buffer, DeviceError, DiskCompletion, DiskRequest};

/// Size of the disks, bytes.
pub(crate) const SIZE: u64 = 1 << 20;

/// A file of `SIZE` bytes.
pub(crate) fn scratch() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(SIZE).unwrap();
    file
}

/// Writes and reads overlapping ranges of many lengths, and returns what was read.
pub(crate) fn exercise(device: &mut dyn BlockDevice) -> Vec<Vec<u8>> {
    let mut read = Vec::new();
    for round in 0..40_u64 {
        let (at, length) = (round * 7 % 64 * 512, (round % 9 + 1) as usize * 2560);
        let mut buffer = Buffer::zeroed(length);
        buffer.fill(round as u8 + 1);
        let mut done = ask(device, Action::Write { at, buffer });
        assert_eq!(done.result, Ok(()));
        if round % 5 == 0 {
            assert_eq!(ask(device, Action::Flush).result, Ok(()));
            assert_eq!(ask(device, Action::Discard { at: at + 512, length: 1024 }).result, Ok(()));
        }
        done = ask(device, Action::Read { at: at.saturating_sub(512), buffer: Buffer::zeroed(length + 1024) });
        assert_eq!(done.result, Ok(()));
        read.push(done.buffer.unwrap().to_vec());
    }
    let beyond = ask(device, Action::Read { at: SIZE, buffer: Buffer::zeroed(512) });
    assert_eq!(beyond.result, Err(DeviceError::BadRange));
    let crooked = ask(device, Action::Write { at: 1, buffer: Buffer::zeroed(512) });
    assert_eq!(crooked.result, Err(DeviceError::BadRange));
    read
}

pub(crate) fn ask(device: &mut dyn BlockDevice, action: Action) -> DiskCompletion {
    device.submit(DiskRequest { tag: 7, action }).unwrap();
    let mut done = Vec::new();
    device.reap(true, &mut done);
    assert_eq!((done.len(), done[0].tag), (1, 7));
    done.remove(0)
}
