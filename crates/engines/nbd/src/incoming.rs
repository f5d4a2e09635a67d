//! What a connection knows of bytes that are coming: data that has begun, bytes that were not
//! understood yet, and guesses about the next replies.

/// The most replies that one call is guessed to bring, and the most bytes of their data.
pub(crate) const MOST_GUESSES: usize = 32;
pub(crate) const MOST_GUESSED_BYTES: usize = 512 << 10;
/// Room for a header among the heads.
pub(crate) const HEAD_ROOM: usize = 32;
/// After a wrong guess, this many receives make none; the number doubles with each, up to the most.
const FIRST_DOUBT: u32 = 16;
const MOST_DOUBT: u32 = 4096;

/// Data that is coming, or something that nobody wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body {
    /// Where the next byte goes in the memory of the slots; `None` for nowhere.
    pub(crate) place: Option<usize>,
    pub(crate) left: usize,
    pub(crate) slot: u16,
    /// Whether the operation ends with it.
    pub(crate) is_last: bool,
}

/// Bytes that were received and not understood yet.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    pub(crate) bytes: Vec<u8>,
    from: usize,
}

impl Inbox {
    pub(crate) fn unread(&self) -> &[u8] {
        &self.bytes[self.from..]
    }

    pub(crate) fn consume(&mut self, bytes: usize) {
        self.from += bytes;
        if self.from == self.bytes.len() {
            self.bytes.clear();
            self.from = 0;
        }
    }
}

/// A reply that is guessed to come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guess {
    pub(crate) slot: u16,
    pub(crate) head_bytes: usize,
    pub(crate) data_bytes: usize,
}

/// The guesses of a connection, and how far they are trusted.
#[derive(Debug)]
pub(crate) struct Guesses {
    pub(crate) list: Vec<Guess>,
    pub(crate) heads: Box<[u8]>,
    /// Receives left that make none.
    pub(crate) doubt: u32,
    next_doubt: u32,
}

impl Default for Guesses {
    fn default() -> Guesses {
        Guesses {
            list: Vec::with_capacity(MOST_GUESSES),
            heads: vec![0; MOST_GUESSES * HEAD_ROOM].into(),
            doubt: 0,
            next_doubt: FIRST_DOUBT,
        }
    }
}

impl Guesses {
    /// All of them were right, as far as replies have come.
    pub(crate) fn were_right(&mut self) {
        self.next_doubt = (self.next_doubt - self.next_doubt / 8).max(FIRST_DOUBT);
    }

    /// One of them was wrong: there are none for a while.
    #[cold]
    pub(crate) fn were_wrong(&mut self) {
        self.doubt = self.next_doubt;
        self.next_doubt = (self.next_doubt * 2).min(MOST_DOUBT);
    }
}
