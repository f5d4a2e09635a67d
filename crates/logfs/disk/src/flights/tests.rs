//! Which requests are merged, and their results.

use super::*;
use crate::Buffer;

fn write(at: u64, length: usize) -> Action {
    Action::Write { at, buffer: Buffer::zeroed(length) }
}

fn read(at: u64, length: usize) -> Action {
    Action::Read { at, buffer: Buffer::zeroed(length) }
}

fn flights(actions: Vec<Action>) -> Flights {
    let mut flights = Flights::new(64);
    for (tag, action) in (0..).zip(actions) {
        flights.admit(DiskRequest { tag, action }).unwrap();
    }
    flights
}

/// Kind, offset, length and pieces of all transfers.
fn formed(flights: &mut Flights) -> Vec<(ActionKind, u64, u64, u32)> {
    let pieces = |memory| if let Memory::Pieces(_, count) = memory { count } else { 1 };
    std::iter::from_fn(|| flights.next())
        .map(|transfer| (transfer.kind, transfer.at, transfer.length, pieces(transfer.memory)))
        .collect()
}

fn ended(flights: &mut Flights) -> Vec<(u64, Result<(), DeviceError>)> {
    let mut done = Vec::new();
    flights.drain_into(&mut done);
    done.into_iter().map(|completion| (completion.tag, completion.result)).collect()
}

#[test]
fn neighbours_of_one_kind_go_together() {
    use ActionKind::{Flush, Read, Write};
    let mut flights = flights(vec![
        write(0, 4096),
        write(4096, 8192),
        write(12288, 512),
        write(16384, 512),
        read(16896, 512),
        read(17408, 512),
        Action::Flush,
        read(17920, 512),
        read(17408, 512),
    ]);
    let expected = [
        (Write, 0, 12800, 3),
        (Write, 16384, 512, 1),
        (Read, 16896, 1024, 2),
        (Flush, 0, 0, 1),
        (Read, 17920, 512, 1),
        (Read, 17408, 512, 1),
    ];
    assert_eq!(formed(&mut flights), expected);
    assert!(!flights.is_waiting());
    assert_eq!(flights.under_way(), 9);
}

#[test]
fn what_is_large_goes_by_itself_and_nothing_becomes_larger_than_the_bound() {
    let large = UNMERGED_BYTES as usize;
    let lengths = |actions| formed(&mut flights(actions)).iter().map(|transfer| transfer.2).collect::<Vec<u64>>();
    assert_eq!(lengths(vec![write(0, large), write(UNMERGED_BYTES, 512)]), [UNMERGED_BYTES, 512]);
    assert_eq!(lengths(vec![write(0, 512), write(512, large)]), [512, UNMERGED_BYTES]);
    let many = (0..40).map(|number| write(number * 4096, 4096)).collect();
    assert_eq!(lengths(many), [MERGED_MOST_BYTES, 40 * 4096 - MERGED_MOST_BYTES]);
}

#[test]
fn a_whole_transfer_ends_all_its_requests() {
    let mut flights = flights(vec![write(0, 512), write(512, 512), write(1024, 512)]);
    let transfer = flights.next().unwrap();
    assert_eq!((transfer.length, flights.next()), (1536, None));
    flights.end(transfer.place, 1536);
    assert_eq!(ended(&mut flights), [(0, Ok(())), (1, Ok(())), (2, Ok(()))]);
    assert_eq!(flights.under_way(), 0);
}

#[test]
fn what_was_not_done_as_a_whole_goes_again_piece_by_piece() {
    for result in [700, 0, -libc::EIO] {
        let mut flights = flights(vec![write(0, 512), write(512, 512)]);
        let transfer = flights.next().unwrap();
        flights.end(transfer.place, result);
        assert_eq!(ended(&mut flights), []);
        let (first, second) = (flights.next().unwrap(), flights.next().unwrap());
        assert_eq!([(first.at, first.length), (second.at, second.length)], [(0, 512), (512, 512)]);
        flights.end(first.place, 512);
        flights.end(second.place, -libc::ENOSPC);
        assert_eq!(ended(&mut flights), [(0, Ok(())), (1, Err(DeviceError::Failed(libc::ENOSPC)))]);
    }
}

#[test]
fn a_short_transfer_goes_on_where_it_stopped() {
    let mut flights = flights(vec![read(8192, 4096)]);
    let first = flights.next().unwrap();
    flights.end(first.place, 1024);
    let second = flights.next().unwrap();
    let (Memory::Piece(start), Memory::Piece(rest)) = (first.memory, second.memory) else { panic!("one piece each") };
    assert_eq!((second.at, second.length, rest as usize - start as usize), (9216, 3072, 1024));
    flights.end(second.place, 3072);
    assert_eq!(ended(&mut flights), [(0, Ok(()))]);
}

#[test]
fn pieces_say_where_each_buffer_is() {
    let actions = vec![write(0, 512), write(512, 1024)];
    let addresses: Vec<usize> = actions
        .iter()
        .filter_map(
            |action| if let Action::Write { buffer, .. } = action { Some(buffer.address() as usize) } else { None },
        )
        .collect();
    let mut flights = flights(actions);
    assert!(matches!(flights.next().unwrap().memory, Memory::Pieces(_, 2)));
    let found: Vec<(usize, usize)> = flights.pieces.iter().map(|piece| (piece.address, piece.length)).collect();
    assert_eq!(found, [(addresses[0], 512), (addresses[1], 1024)]);
    flights.all_shown();
    assert!(flights.pieces.is_empty());
}

#[test]
fn a_full_house_gives_requests_back_and_a_lost_one_ends_them_all() {
    let mut flights = Flights::new(2);
    for tag in 0..2 {
        flights.admit(DiskRequest { tag, action: write(tag * 512, 512) }).unwrap();
    }
    assert_eq!(flights.admit(DiskRequest { tag: 2, action: Action::Flush }).unwrap_err().tag, 2);
    flights.lose();
    assert_eq!(ended(&mut flights), [(0, Err(DeviceError::Gone)), (1, Err(DeviceError::Gone))]);
    assert!(!flights.is_waiting() && flights.under_way() == 0);
}
