//! Windows into memory: bytes and words, sharing, discarding, and the misuse that they refuse.
//!
//! Unsafe because it makes memfds without seals, as a peer might send them.

use std::sync::atomic::Ordering;

use super::*;

#[test]
fn words_and_pieces_are_the_same_little_endian_bytes() {
    let memory = SharedBytes::anonymous(8192).unwrap();
    memory.store_words(64, [0x0807_0605_0403_0201, 0x100f_0e0d_0c0b_0a09], Ordering::Release);
    let mut bytes = [0; 16];
    memory.read(64, &mut bytes);
    assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
    assert_eq!(memory.load_u32(68, Ordering::Acquire), 0x0807_0605);
    assert_eq!(memory.load_u64(72, Ordering::Acquire), 0x100f_0e0d_0c0b_0a09);
    memory.store_u32(64, 7, Ordering::Relaxed);
    assert_eq!(memory.load_words::<2>(64)[0], 0x0807_0605_0000_0007);
}

#[test]
fn a_window_is_a_checked_part_that_keeps_the_mapping() {
    let memory = SharedBytes::anonymous(100).unwrap();
    assert!(memory.window(90, 11).is_none() && memory.window(usize::MAX, 2).is_none());
    let window = memory.window(90, 10).unwrap();
    drop(memory);
    window.write(0, b"0123456789");
    let mut two = [0; 2];
    window.window(8, 2).unwrap().read(0, &mut two);
    assert_eq!(&two, b"89");
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no memfd_create")]
fn a_memfd_is_seen_by_whoever_maps_its_descriptor() {
    let ours = SharedBytes::memfd("iolab-test", 3 * 4096).unwrap();
    let window = ours.window(4096, 4096).unwrap();
    let (fd, offset) = window.file().unwrap();
    assert_eq!(offset, 4096);
    let theirs = SharedBytes::of_file(fd.try_clone_to_owned().unwrap(), offset, 4096, MappingAccess::Read).unwrap();
    window.write(10, b"seen");
    let mut seen = [0; 4];
    theirs.read(10, &mut seen);
    assert_eq!(&seen, b"seen");
    assert!(SharedBytes::anonymous(1).unwrap().file().is_none());
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no madvise")]
fn discarded_bytes_read_as_zeroes_and_their_neighbours_stay() {
    for memory in [SharedBytes::anonymous(5 * 4096).unwrap(), SharedBytes::memfd("iolab-test", 5 * 4096).unwrap()] {
        for (offset, bytes) in [(0, 5 * 4096), (100, 50), (100, 3 * 4096), (4096, 4096), (4000, 200), (77, 0)] {
            memory.fill(0, memory.len(), 0xaa);
            memory.discard(offset, bytes);
            let mut all = vec![0; memory.len()];
            memory.read(0, &mut all);
            for (position, byte) in all.into_iter().enumerate() {
                let zeroed = (offset..offset + bytes).contains(&position);
                assert_eq!(byte == 0, zeroed, "{position} after discarding {bytes} at {offset}");
            }
        }
    }
}

#[test]
fn overlapping_copies_keep_their_bytes() {
    let memory = SharedBytes::anonymous(64).unwrap();
    memory.write(0, b"abcdefgh");
    memory.copy_to(0, &memory, 3, 8);
    let mut moved = [0; 11];
    memory.read(0, &mut moved);
    assert_eq!(&moved, b"abcabcdefgh");
}

#[test]
#[should_panic(expected = "4 bytes at 62 of a window of 64")]
fn an_access_beyond_the_window_is_a_bug() {
    SharedBytes::anonymous(64).unwrap().write(62, &[0; 4]);
}

#[test]
#[cfg_attr(miri, ignore = "Miri maps no files")]
#[should_panic(expected = "may only be read")]
fn a_write_to_what_may_only_be_read_is_a_bug() {
    let ours = SharedBytes::memfd("iolab-test", 4096).unwrap();
    let fd = ours.file().unwrap().0.try_clone_to_owned().unwrap();
    SharedBytes::of_file(fd, 0, 4096, MappingAccess::Read).unwrap().store_u32(0, 1, Ordering::Relaxed);
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no madvise")]
fn memory_of_any_page_size_is_zeroed_and_gives_back_what_is_discarded() {
    const BYTES: usize = 5 << 20;
    for pages in [PageSize::Default, PageSize::Small, PageSize::HugeIfPossible] {
        let memory = SharedBytes::anonymous_of(BYTES, pages).unwrap();
        memory.window(3 << 20, 100).unwrap().fill(0, 100, 7);
        memory.populate().unwrap();
        let mut all = vec![1; BYTES];
        memory.read(0, &mut all);
        let written = 3 << 20..(3 << 20) + 100;
        assert!(
            all.iter().enumerate().all(|(at, byte)| *byte == if written.contains(&at) { 7 } else { 0 }),
            "{pages:?}"
        );
        memory.discard(3 << 20, 1 << 20);
        memory.read(0, &mut all);
        assert!(all.iter().all(|byte| *byte == 0), "{pages:?}");
    }
}

#[test]
fn published_words_are_those_that_were_stored() {
    let memory = SharedBytes::anonymous(64).unwrap();
    memory.store_words(16, [1, 2, 3], Ordering::Release);
    assert_eq!(memory.load_published::<3>(16), [1, 2, 3]);
}

#[test]
#[should_panic(expected = "a word at 4 is not aligned to 8")]
fn a_word_at_an_odd_place_is_a_bug() {
    SharedBytes::anonymous(64).unwrap().load_u64(4, Ordering::Relaxed);
}

fn file_of(bytes: u64) -> (std::fs::File, SharedBytes) {
    let name = c"iolab-test";
    // SAFETY: the name is a C string; the call touches nothing else, and the descriptor has no
    // other owner.
    let file = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC)) };
    let file = std::fs::File::from(file);
    file.set_len(bytes).unwrap();
    let memory =
        SharedBytes::of_watched_file(file.try_clone().unwrap().into(), 0, bytes as usize, MappingAccess::ReadWrite);
    (file, memory.unwrap())
}

#[test]
#[cfg_attr(miri, ignore = "Miri maps no files")]
fn what_is_cut_off_a_watched_file_is_an_error_and_the_rest_is_there() {
    let (file, memory) = file_of(4 * 4096);
    let write = |offset: usize| memory.watched(offset, 64, || memory.write(offset, &[7; 64]));
    let read = |offset: usize| {
        let mut bytes = [1; 64];
        memory.watched(offset, 64, || memory.read(offset, &mut bytes)).map(|()| bytes)
    };
    assert_eq!((write(0), write(3 * 4096)), (Ok(()), Ok(())));
    file.set_len(2 * 4096).unwrap();
    for _ in 0..3 {
        assert_eq!((read(3 * 4096), write(2 * 4096)), (Err(Lost), Err(Lost)));
        assert_eq!(read(0), Ok([7; 64]));
        assert_eq!(write(4096), Ok(()));
    }
    // When the file grows again, its content appears, not the page that replaced it.
    file.set_len(4 * 4096).unwrap();
    assert_eq!(read(3 * 4096), Ok([0; 64]));
    assert_eq!(write(3 * 4096), Ok(()));
    let mut there = [0; 64];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut there, 3 * 4096).unwrap();
    assert_eq!(there, [7; 64], "the write has reached the file");
}

#[test]
#[cfg_attr(miri, ignore = "Miri maps no files")]
fn threads_that_share_a_file_that_shrinks_never_take_an_empty_page_for_it() {
    let (file, memory) = file_of(64 * 4096);
    memory.fill(0, 64 * 4096, 9);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for round in 0..2_000 {
                    let offset = round % 64 * 4096;
                    let mut bytes = [1; 4096];
                    let answer = memory.watched(offset, 4096, || memory.read(offset, &mut bytes));
                    assert!(answer.is_err() || bytes == [9; 4096], "page {}", offset / 4096);
                }
            });
        }
        for pages in (8..64).rev() {
            file.set_len(pages * 4096).unwrap();
        }
    });
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no memfd_create")]
fn only_what_its_sender_cannot_shorten_is_mapped() {
    let (file, _memory) = file_of(4096);
    let refused = SharedBytes::of_peer(file.as_fd(), 0, 4096, MappingAccess::Read).unwrap_err().to_string();
    assert!(refused.contains("sealed"), "{refused}");
    let sealed = SharedBytes::memfd("iolab-test", 4096).unwrap();
    let (fd, _) = sealed.file().unwrap();
    assert!(is_sealed(fd));
    assert!(std::fs::File::from(fd.try_clone_to_owned().unwrap()).set_len(0).is_err());
    let seen = SharedBytes::of_peer(fd, 0, 4096, MappingAccess::ReadWrite).unwrap();
    seen.store_u32(0, 7, Ordering::Relaxed);
    assert_eq!(sealed.load_u32(0, Ordering::Relaxed), 7);
    assert!(SharedBytes::of_peer(fd, 4096, 4096, MappingAccess::Read).is_err(), "behind its end");
    assert!(SharedBytes::of_peer(fd, u64::MAX - 4095, 4096, MappingAccess::Read).is_err());
}
