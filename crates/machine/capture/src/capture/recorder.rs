//! The output of a capture, with counts of what was written.

use std::collections::HashMap;
use std::io::{self, Write};

use iolab_observe::{DeviceSampler, System};
use iolab_trace::{Effect, End, File, NO_FILE, Operation, Role, Thread, Writer};

use crate::devices::{self, Places};
use crate::kernel_counts::{Counts, is_counted};

type Identity = (u64, u64, String);

/// The trace being written. A failed output stops the writing, not the traced program.
pub(crate) struct Recorder<'w> {
    writer: Writer<Box<dyn Write + 'w>>,
    files: HashMap<Identity, u32>,
    /// Of each file: what its path says, and its place among the devices.
    roles: Vec<(Role, Option<usize>)>,
    places: Places,
    devices: Option<DeviceSampler>,
    error: Option<io::Error>,
    /// Bytes of calls that the kernel counts, too.
    pub(crate) seen: Counts,
}

impl<'w> Recorder<'w> {
    pub(crate) fn new(writer: Writer<Box<dyn Write + 'w>>) -> Recorder<'w> {
        let (files, roles, places) = (HashMap::new(), Vec::new(), Places::default());
        Recorder { writer, files, roles, places, devices: None, error: None, seen: Counts::default() }
    }

    /// From now on, counts the traffic of the devices beneath the files, for the end of the trace.
    pub(crate) fn with_devices(mut self) -> Recorder<'w> {
        self.devices = Some(devices::begin());
        self
    }

    /// The number of a file, by device, inode and path.
    pub(crate) fn file(&mut self, device: u64, inode: u64, file: File) -> u32 {
        let identity = (device, inode, file.path.clone());
        if let Some(number) = self.files.get(&identity) {
            return *number;
        }
        let (role, place) = (file.role, self.places.of(device, &file));
        let added = self.writer.file(file);
        let number = self.keep(added).unwrap_or(NO_FILE);
        if number != NO_FILE {
            self.roles.push((role, place));
            self.files.insert(identity, number);
        }
        number
    }

    /// What the path of a file said.
    pub(crate) fn role(&self, file: u32) -> Role {
        self.roles.get(file as usize).map_or_else(Role::default, |(role, _)| *role)
    }

    pub(crate) fn thread(&mut self, thread: Thread) -> u32 {
        let added = self.writer.thread(thread);
        self.keep(added).unwrap_or(0)
    }

    pub(crate) fn operation(&mut self, operation: &Operation) {
        let (effect, bytes) = (operation.call.effect(), operation.bytes());
        if matches!(effect, Effect::Read | Effect::Write) {
            let bytes = match effect {
                Effect::Read => Counts { read: bytes, written: 0 },
                _ => Counts { read: 0, written: bytes },
            };
            if is_counted(operation.call) {
                self.seen.add(bytes);
            }
            if let Some((_, Some(place))) = self.roles.get(operation.file as usize) {
                self.places.add(*place, bytes);
            }
        }
        if self.error.is_none() {
            let added = self.writer.operation(operation);
            self.keep(added);
        }
    }

    fn keep<T>(&mut self, answer: io::Result<T>) -> Option<T> {
        answer.map_err(|error| self.error = Some(error)).ok()
    }

    /// Ends the trace; its end, and its bytes.
    pub(crate) fn finish(mut self, mut end: End) -> io::Result<(End, u64)> {
        if let Some(error) = self.error {
            return Err(error);
        }
        end.operations = self.writer.operations();
        if let Some(begun) = self.devices.take() {
            end.devices = self.places.end(begun, &System::live());
        }
        self.writer.end(end.clone())?;
        Ok((end, self.writer.bytes()))
    }
}
