//! Control commands: add, start, stop and delete a device.
//!
//! Commands that the driver answers only after requests were served (start, stop) are begun here
//! and completed in the server's loop; the others are waited for.
//!
//! Unsafe: commands hold the addresses of their buffers.
#![allow(unsafe_code, reason = "island: commands with the addresses of their buffers")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

use crate::RingCommand;

use crate::ublk::ExportError;
use crate::ublk::abi::{self, PARAMETERS_BYTES, Shape};
use crate::ublk::driver::Driver;

/// Events of control commands have the operation below this bit.
pub(crate) const CONTROL_TOKEN: u64 = 1 << 40;

/// `/dev/ublk-control`.
#[derive(Debug)]
pub(crate) struct Control {
    file: File,
}

impl Control {
    pub(crate) fn open() -> Result<Control, ExportError> {
        let file = File::options().read(true).write(true).open("/dev/ublk-control").map_err(ExportError::NoUblk)?;
        Ok(Control { file })
    }

    #[cfg(test)]
    pub(crate) fn on(file: File) -> Control {
        Control { file }
    }

    fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Begins a command without a buffer.
    pub(crate) fn begin<D: Driver>(
        &self,
        driver: &mut D,
        operation: u32,
        device: u32,
        value: u64,
    ) -> Result<(), ExportError> {
        let data = abi::control_command(device, 0, 0, value);
        // SAFETY: the command holds no address.
        unsafe { driver.push(&self.command(operation, data)) }.map_err(ExportError::Ring)
    }

    /// Adds a device with this number of queues of this depth. Returns its number and its number of
    /// queues, which is at most the number of processors.
    pub(crate) fn add<D: Driver>(
        &self,
        driver: &mut D,
        number: Option<u32>,
        queues: u16,
        depth: u16,
        payload_bytes: u32,
    ) -> Result<(u32, u16), ExportError> {
        let number = number.unwrap_or(abi::ANY_DEVICE);
        let mut info = abi::device_info(number, queues, depth, payload_bytes);
        self.with_buffer(driver, abi::ADD_DEV, number, &mut info)?;
        Ok((abi::device_number(&info), abi::device_queues(&info)))
    }

    /// Sets the properties of the device.
    pub(crate) fn set_parameters<D: Driver>(
        &self,
        driver: &mut D,
        device: u32,
        shape: Shape,
    ) -> Result<(), ExportError> {
        let mut parameters: [u8; PARAMETERS_BYTES] = abi::parameters(shape);
        self.with_buffer(driver, abi::SET_PARAMS, device, &mut parameters)
    }

    /// Deletes a device that is no longer served.
    pub(crate) fn delete<D: Driver>(&self, driver: &mut D, device: u32) -> Result<(), ExportError> {
        self.begin(driver, abi::DEL_DEV, device, 0)?;
        wait_for(driver, abi::DEL_DEV)
    }

    fn with_buffer<D: Driver>(
        &self,
        driver: &mut D,
        operation: u32,
        device: u32,
        buffer: &mut [u8],
    ) -> Result<(), ExportError> {
        let data = abi::control_command(device, buffer.as_mut_ptr() as u64, buffer.len() as u16, 0);
        // SAFETY: the buffer is borrowed until the command's event has come, which is waited for
        // below.
        unsafe { driver.push(&self.command(operation, data)) }.map_err(ExportError::Ring)?;
        wait_for(driver, operation)
    }

    fn command(&self, operation: u32, data: [u8; 80]) -> RingCommand {
        let token = CONTROL_TOKEN | u64::from(operation);
        RingCommand { fd: self.fd(), operation, address: 0, length: 0, data, token }
    }
}

/// Waits for the event of a control command, while no other event can come.
fn wait_for<D: Driver>(driver: &mut D, operation: u32) -> Result<(), ExportError> {
    loop {
        while let Some(event) = driver.next_event() {
            if event.token == CONTROL_TOKEN | u64::from(operation) {
                return outcome(operation, event.result);
            }
        }
        driver.round(false, 0).map_err(ExportError::Ring)?;
    }
}

/// The driver's result of a control command.
pub(crate) fn outcome(operation: u32, result: i32) -> Result<(), ExportError> {
    if result >= 0 {
        return Ok(());
    }
    Err(ExportError::Refused(abi::command_name(operation), io::Error::from_raw_os_error(-result)))
}
