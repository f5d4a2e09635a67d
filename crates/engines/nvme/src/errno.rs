//! Errors of devices and controllers, as the errno of the kernel's NVMe driver.

use iolab_nvme_driver::{CommandOutcome, DriverError, Loss, Refusal};
use iolab_nvme_spec::Status;

/// The errno of a failure, according to the kernel's `nvme_error_status` and `blk_status_to_errno`.
#[cold]
pub(crate) fn of_outcome(outcome: CommandOutcome) -> i32 {
    match outcome {
        CommandOutcome::Done => 0,
        CommandOutcome::Failed(status) => of_status(status),
        CommandOutcome::Lost(Loss::TimedOut) => libc::ETIMEDOUT,
        CommandOutcome::Lost(Loss::Reset) => libc::EIO,
        CommandOutcome::Lost(Loss::Dead) => libc::ENODEV,
    }
}

fn of_status(status: Status) -> i32 {
    match status.code() {
        Status::CAPACITY_EXCEEDED => libc::ENOSPC,
        Status::LBA_OUT_OF_RANGE | Status::COMMAND_SIZE_LIMIT_EXCEEDED => libc::EREMOTEIO,
        Status::INVALID_OPCODE | Status::INVALID_FIELD => libc::EOPNOTSUPP,
        Status::NAMESPACE_WRITE_PROTECTED | Status::WRITE_TO_READ_ONLY_RANGE => libc::EPERM,
        Status::WRITE_FAULT
        | Status::UNRECOVERED_READ_ERROR
        | Status::ACCESS_DENIED
        | Status::DEALLOCATED_OR_UNWRITTEN
        | Status::COMPARE_FAILURE => libc::ENODATA,
        Status::GUARD_CHECK_ERROR | Status::APPLICATION_TAG_CHECK_ERROR | Status::REFERENCE_TAG_CHECK_ERROR => {
            libc::EILSEQ
        }
        Status::TOO_MANY_ACTIVE_ZONES => libc::EOVERFLOW,
        Status::TOO_MANY_OPEN_ZONES => libc::ETOOMANYREFS,
        Status::RESERVATION_CONFLICT => libc::EBADE,
        Status::INTERNAL_PATH_ERROR
        | Status::ANA_PERSISTENT_LOSS
        | Status::ANA_INACCESSIBLE
        | Status::ANA_TRANSITION
        | Status::CONTROLLER_PATHING_ERROR
        | Status::HOST_PATHING_ERROR => libc::ENOLINK,
        _ => libc::EIO,
    }
}

/// The errno of a command that the driver refuses to send.
#[cold]
pub(crate) fn of_refusal(refusal: Refusal) -> i32 {
    match refusal {
        Refusal::Dead => libc::ENODEV,
        _ => libc::EINVAL,
    }
}

/// The errno of a controller that was given up.
#[cold]
pub(crate) fn of_error(error: &DriverError) -> i32 {
    match error {
        DriverError::NotReady { .. } | DriverError::AdminTimeout { .. } => libc::ETIMEDOUT,
        DriverError::Gone { .. } | DriverError::Dead(_) | DriverError::Pci(_) => libc::ENODEV,
        DriverError::Refused(_) => libc::EPERM,
        DriverError::BadRequest(_) | DriverError::Unsupported(_) => libc::EINVAL,
        DriverError::Map(_) => libc::ENOMEM,
        _ => libc::EIO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_the_kernels_errnos_whatever_their_flags() {
        let cases = [
            (Status::LBA_OUT_OF_RANGE, libc::EREMOTEIO),
            (Status::UNRECOVERED_READ_ERROR.with_dnr(true), libc::ENODATA),
            (Status::CAPACITY_EXCEEDED, libc::ENOSPC),
            (Status::ANA_INACCESSIBLE, libc::ENOLINK),
            (Status::INTERNAL_ERROR.with_more(true), libc::EIO),
        ];
        for (status, errno) in cases {
            assert_eq!(of_outcome(CommandOutcome::Failed(status)), errno, "{status}");
        }
        assert_eq!(of_outcome(CommandOutcome::Lost(Loss::TimedOut)), libc::ETIMEDOUT);
    }
}
