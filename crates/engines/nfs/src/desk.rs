//! Where the library brings results: what it knows of an operation by address, and the mailbox.
//!
//! Callbacks and the lane use it by shared references only, on the lane's thread.
//!
//! Unsafe code: the callback gets an operation back as the pointer that the library was given, and
//! copies data into its slot.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};

use iolab_engine::mailbox::Mailbox;

/// The operation of a slot.
#[derive(Debug)]
pub(crate) struct Flight {
    slot: u16,
    desk: *const Desk,
    /// Where data that is read goes; null if there is none.
    pub(crate) to: Cell<*mut u8>,
    /// The most bytes that it moves.
    pub(crate) bytes: Cell<u32>,
    pub(crate) connection: Cell<u8>,
}

/// The results of a lane.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) mail: Mailbox,
    flights: Box<[Flight]>,
    /// Answers that each connection owes.
    pub(crate) owes: Box<[Cell<usize>]>,
    /// The errno of operations that are cut off with their connection; 0 while there are none.
    pub(crate) cut_off_as: Cell<i32>,
    /// The library's text about a failure.
    pub(crate) failure: RefCell<Option<String>>,
}

/// A desk at an address that does not change. It outlives the contexts that know the address.
#[derive(Debug)]
pub(crate) struct DeskHandle(*mut Desk);

impl DeskHandle {
    pub(crate) fn new(depth: usize, connections: usize) -> DeskHandle {
        let desk = Box::into_raw(Box::new(Desk {
            mail: Mailbox::silent(depth),
            flights: Box::default(),
            owes: vec![Cell::new(0); connections].into(),
            cut_off_as: Cell::new(0),
            failure: RefCell::new(None),
        }));
        let flight = |slot: usize| Flight {
            slot: slot as u16,
            desk,
            to: Cell::new(std::ptr::null_mut()),
            bytes: Cell::new(0),
            connection: Cell::new(0),
        };
        // SAFETY: made above, and nobody else knows it yet.
        unsafe { (*desk).flights = (0..depth).map(flight).collect() };
        DeskHandle(desk)
    }

    pub(crate) fn desk(&self) -> &Desk {
        // SAFETY: made in `new`, freed in `drop`, and used only by shared references between.
        unsafe { &*self.0 }
    }
}

impl Drop for DeskHandle {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw`; the contexts are destroyed before.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl Desk {
    /// The flight of a slot, for a new operation of a connection.
    pub(crate) fn begin(&self, slot: u16, connection: usize) -> Option<&Flight> {
        if !self.mail.begin(slot) {
            return None;
        }
        let flight = &self.flights[usize::from(slot)];
        flight.connection.set(connection as u8);
        let owes = &self.owes[connection];
        owes.set(owes.get() + 1);
        Some(flight)
    }

    fn settle(&self, flight: &Flight) {
        let owes = &self.owes[usize::from(flight.connection.get())];
        owes.set(owes.get() - 1);
    }

    /// Undoes [`Desk::begin`]: the library has not taken the operation.
    pub(crate) fn cancel(&self, slot: u16) {
        self.mail.cancel(slot);
        self.settle(&self.flights[usize::from(slot)]);
    }

    /// Ends all that a connection still owes: its context is gone.
    pub(crate) fn end_all(&self, connection: usize, errno: i32) {
        for flight in &self.flights {
            if usize::from(flight.connection.get()) == connection && self.mail.post(flight.slot, -errno) {
                self.settle(flight);
            }
        }
    }
}

/// Takes the result of an operation.
///
/// # Safety
/// `private` is the flight that was given with it, whose slot is the lane's until the result is
/// posted; the data are as many bytes as the status says if it was a read, and a text if it failed.
pub(crate) unsafe extern "C" fn landed(status: c_int, _: *mut c_void, data: *mut c_void, private: *mut c_void) {
    // SAFETY: the caller's promise; the desk lives as long as its flights.
    let (flight, desk) = unsafe {
        let flight = &*private.cast::<Flight>();
        (flight, &*flight.desk)
    };
    // An answer that nobody waits for must not touch the slot.
    if !desk.mail.awaits(flight.slot) {
        return;
    }
    let to = flight.to.get();
    let result = match status {
        0.. => (status as u32).min(flight.bytes.get()) as i32,
        _ if desk.cut_off_as.get() != 0 => -desk.cut_off_as.get(),
        // What libnfs says of calls that its connection lost or cancelled; no server answers these.
        _ if status == -libc::EFAULT || status == -libc::EINTR => -libc::ECONNRESET,
        _ => status.max(-4095),
    };
    if result > 0 && !to.is_null() && !data.is_null() {
        // SAFETY: so many bytes came, and no more than the operation has room for.
        unsafe { std::ptr::copy_nonoverlapping(data.cast::<u8>(), to, result as usize) };
    }
    if status < 0 && desk.cut_off_as.get() == 0 {
        desk.failure.borrow_mut().get_or_insert_with(|| {
            // SAFETY: the caller's promise.
            let text = unsafe { iolab_c_library::copied_text(data.cast()) };
            text.unwrap_or_else(|| "no reason given".to_owned())
        });
    }
    if desk.mail.post(flight.slot, result) {
        desk.settle(flight);
    }
}
