//! What workers left for their logs, on the way from server to client: a message that says how
//! much, and pieces.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use iolab_runner::Spools;

use crate::channel::{Channel, ChannelError, FrameKind, Patience};
use crate::message::{SpoolContent, ToClient};

/// Bytes of a piece.
const PIECE_BYTES: usize = 1 << 20;
/// Most bytes that wait to be sent before more is read.
const AHEAD_BYTES: usize = 4 * PIECE_BYTES;

/// Sends a whole spool.
pub(crate) fn send<'c>(
    channel: &mut Channel,
    worker: u32,
    content: SpoolContent,
    mut file: &File,
    patience: &dyn Fn() -> Patience<'c>,
) -> Result<(), ChannelError> {
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(0))?;
    channel.say(&ToClient::Spool { worker, content, bytes });
    let mut piece = vec![0; PIECE_BYTES];
    let mut left = bytes;
    while left > 0 {
        let most = left.min(PIECE_BYTES as u64) as usize;
        file.read_exact(&mut piece[..most])?;
        channel.queue(FrameKind::Piece, &piece[..most]);
        left -= most as u64;
        if channel.waiting_bytes() > AHEAD_BYTES {
            channel.send_all(&patience())?;
        }
    }
    Ok(())
}

/// The spools of a host's workers, as they come.
#[derive(Debug, Default)]
pub(crate) struct Receiving {
    pub(crate) spools: Vec<Spools>,
    current: Option<(usize, SpoolContent)>,
    left: u64,
}

impl Receiving {
    /// Nothing has come for so many workers.
    pub(crate) fn of(workers: usize) -> Receiving {
        Receiving { spools: (0..workers).map(|_| Spools::default()).collect(), current: None, left: 0 }
    }

    /// A spool begins.
    pub(crate) fn begin(&mut self, worker: u32, content: SpoolContent, bytes: u64) -> Result<(), ChannelError> {
        let out_of_turn = || ChannelError::Malformed("a log came out of turn".to_owned());
        let own = self.spools.get_mut(worker as usize).filter(|_| self.left == 0).ok_or_else(out_of_turn)?;
        *file_of(own, content) = Some(tempfile::tempfile()?);
        self.current = Some((worker as usize, content));
        self.left = bytes;
        Ok(())
    }

    /// A piece of it.
    pub(crate) fn add(&mut self, piece: &[u8]) -> Result<(), ChannelError> {
        let too_much = || ChannelError::Malformed("a log is longer than was said".to_owned());
        let (worker, content) = self.current.ok_or_else(too_much)?;
        self.left = self.left.checked_sub(piece.len() as u64).ok_or_else(too_much)?;
        if let Some(file) = file_of(&mut self.spools[worker], content) {
            file.write_all(piece)?;
        }
        Ok(())
    }

    /// Whether nothing is missing of what was begun.
    pub(crate) fn is_whole(&self) -> bool {
        self.left == 0
    }
}

fn file_of(own: &mut Spools, content: SpoolContent) -> &mut Option<File> {
    match content {
        SpoolContent::Logs => &mut own.logs,
        SpoolContent::Operations => &mut own.operations,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_clock::Clock;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_spool_arrives_as_it_was() {
        let (one, other) = UnixStream::pair().unwrap();
        let (mut sender, mut receiver) = (Channel::new(one.into()), Channel::new(other.into()));
        receiver.allow(8 << 20);
        let content: Vec<u8> = (0..(PIECE_BYTES + 77)).map(|at| (at % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&content).unwrap();
        let sending = std::thread::spawn(move || {
            let clock = Clock::monotonic();
            let patience = || Patience::of(&clock, 60_000_000_000);
            send(&mut sender, 1, SpoolContent::Operations, &file, &patience).unwrap();
            sender.send_all(&patience()).unwrap();
        });
        let clock = Clock::monotonic();
        let mut receiving = Receiving::of(2);
        let frame = receiver.receive(Patience::of(&clock, 60_000_000_000)).unwrap();
        let ToClient::Spool { worker, content: what, bytes } = frame.message().unwrap() else { panic!("{frame:?}") };
        receiving.begin(worker, what, bytes).unwrap();
        while !receiving.is_whole() {
            let frame = receiver.receive(Patience::of(&clock, 60_000_000_000)).unwrap();
            assert_eq!(frame.kind, FrameKind::Piece);
            receiving.add(&frame.payload).unwrap();
        }
        sending.join().unwrap();
        let mut file = receiving.spools[1].operations.take().unwrap();
        file.rewind().unwrap();
        let mut arrived = Vec::new();
        file.read_to_end(&mut arrived).unwrap();
        assert!(arrived == content && receiving.spools[1].logs.is_none());
    }

    #[test]
    fn what_was_not_announced_is_refused() {
        let mut receiving = Receiving::of(1);
        assert!(receiving.add(b"x").is_err());
        assert!(receiving.begin(1, SpoolContent::Logs, 1).is_err(), "there is no such worker");
        receiving.begin(0, SpoolContent::Logs, 3).unwrap();
        receiving.add(b"ab").unwrap();
        assert!(receiving.begin(0, SpoolContent::Logs, 1).is_err(), "the first is not whole");
        assert!(receiving.add(b"cd").is_err());
    }
}
