//! Parcels that are being sent: memory that the kernel reads until it reports that it no longer
//! does.
//!
//! Unsafe because a message contains the addresses of a list and of a parcel. A flight owns all of
//! these in separate boxes, so that they do not move.

use std::collections::VecDeque;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::RawFd;

use crate::parcel::Parcel;

/// A parcel that is being sent.
struct Flight {
    token: u64,
    fd: RawFd,
    /// Whether the kernel reads the memory directly until it sends a notice.
    shares: bool,
    awaits_notice: bool,
    /// Whether its end was reported, so that only the notice is awaited.
    is_told: bool,
    /// Whether to send the rest after the notice has arrived.
    is_short: bool,
    parcel: Option<Box<Parcel>>,
    list: Vec<libc::iovec>,
    message: Box<libc::msghdr>,
}

/// The meaning of a completion.
pub(super) enum Landing {
    Nothing,
    /// The rest must be submitted.
    Again,
    Over {
        token: u64,
        outcome: io::Result<()>,
        parcel: Option<Box<Parcel>>,
    },
}

/// All flights of a ring.
#[derive(Default)]
pub(super) struct Flights {
    flights: Vec<Option<Flight>>,
    free: Vec<usize>,
    /// Unused flights, whose lists and messages are used again.
    spare: Vec<Flight>,
    /// Receives that ended together with bytes.
    pub(super) stopped: VecDeque<u64>,
}

// SAFETY: the addresses are those of memory that the flights own, whichever thread they are in.
unsafe impl Send for Flights {}

impl Flights {
    /// The number of flights that have not ended.
    pub(super) fn len(&self) -> usize {
        self.flights.len() - self.free.len()
    }

    /// Begins a flight, and returns its number.
    pub(super) fn begin(&mut self, token: u64, fd: RawFd, shares: bool, parcel: Box<Parcel>) -> usize {
        let mut flight = self.spare.pop().unwrap_or_else(|| {
            // SAFETY: all fields of a message may be zero.
            let message = Box::new(unsafe { std::mem::zeroed() });
            let (parcel, list) = (None, Vec::new());
            let (awaits_notice, is_told, is_short) = (false, false, false);
            Flight { token, fd, shares, awaits_notice, is_told, is_short, parcel, list, message }
        });
        (flight.token, flight.fd, flight.shares, flight.parcel) = (token, fd, shares, Some(parcel));
        (flight.awaits_notice, flight.is_told, flight.is_short) = (false, false, false);
        let number = self.free.pop().unwrap_or(self.flights.len());
        if number == self.flights.len() {
            self.flights.push(None);
        }
        self.flights[number] = Some(flight);
        number
    }

    /// Prepares the message for the unsent pieces.
    pub(super) fn prepare(&mut self, number: usize) -> Option<(RawFd, *const libc::msghdr, bool)> {
        let flight = self.flights.get_mut(number)?.as_mut()?;
        flight.is_short = false;
        flight.parcel.as_ref()?.describe(&mut flight.list);
        flight.message.msg_iov = flight.list.as_mut_ptr();
        flight.message.msg_iovlen = flight.list.len() as _;
        Some((flight.fd, &raw const *flight.message, flight.shares))
    }

    /// Handles a completion of a flight.
    pub(super) fn land(&mut self, number: usize, result: i32, is_notice: bool, goes_on: bool) -> Landing {
        let Some(flight) = self.flights.get_mut(number).and_then(Option::as_mut) else { return Landing::Nothing };
        let token = flight.token;
        if is_notice {
            flight.awaits_notice = false;
            if flight.is_told {
                self.end(number);
                return Landing::Nothing;
            }
            return if flight.is_short { Landing::Again } else { Landing::Nothing };
        }
        flight.awaits_notice = goes_on;
        let outcome = match usize::try_from(result) {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            Ok(bytes) => {
                let Some(parcel) = &mut flight.parcel else { return Landing::Nothing };
                parcel.advance(bytes);
                if parcel.unsent() > 0 {
                    flight.is_short = true;
                    return if flight.awaits_notice { Landing::Nothing } else { Landing::Again };
                }
                Ok(())
            }
            Err(_) => Err(io::Error::from_raw_os_error(-result)),
        };
        if flight.awaits_notice {
            flight.is_told = true;
            return Landing::Over { token, outcome, parcel: None };
        }
        let parcel = self.end(number);
        Landing::Over { token, outcome, parcel }
    }

    fn end(&mut self, number: usize) -> Option<Box<Parcel>> {
        let mut flight = self.flights.get_mut(number)?.take()?;
        self.free.push(number);
        let parcel = flight.parcel.take();
        self.spare.push(flight);
        parcel
    }

    /// Leaks the memory of all flights.
    pub(super) fn leak(&mut self) {
        let _ = ManuallyDrop::new(std::mem::take(&mut self.flights));
    }
}
