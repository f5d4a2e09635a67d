//! INIT: the first message, in which kernel and server agree on sizes and features.
//!
//! It decides the size of transfers and the transport. It does no I/O.

use crate::FuseTransport;
use crate::abi::{Body, MAJOR, MINOR, init_flag, u32_at};

/// The result of the negotiation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreement {
    /// The transport that carries the requests from now on; never `Auto`.
    pub transport: FuseTransport,
    /// The minor version of the kernel.
    pub minor: u32,
    /// The flags in effect, of [`init_flag`].
    pub features: u64,
}

/// What the server offers.
#[derive(Debug, Clone, Copy)]
pub struct Offer {
    /// The largest payload, whole pages.
    pub payload_bytes: usize,
    /// The transport that the user wants.
    pub transport: FuseTransport,
    /// The most requests that the kernel may keep waiting in the background.
    pub background: u16,
    /// Other features of the server, of [`init_flag`].
    pub features: u64,
}

/// Why no agreement was possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disagreement {
    /// The message is not an INIT of version 7.
    NotInit,
    /// The kernel does not offer io_uring, and the user requires it.
    NoUring,
}

const PAGE: usize = 4096;

/// The oldest minor version with everything that is requested here (`FUSE_MAX_PAGES`, Linux 4.20).
const LEAST_MINOR: u32 = 28;

/// Answers the arguments of INIT (`struct fuse_init_in`) with `struct fuse_init_out`; also returns
/// the length of the answer.
pub(crate) fn answer(args: &[u8], offer: Offer, body: &mut [u8]) -> Result<(Agreement, usize), Disagreement> {
    let field = |at| u32_at(args, at).ok_or(Disagreement::NotInit);
    let (major, minor, read_ahead, low) = (field(0)?, field(4)?, field(8)?, field(12)?);
    if major != MAJOR || minor < LEAST_MINOR {
        return Err(Disagreement::NotInit);
    }
    let high = if u64::from(low) & init_flag::INIT_EXT != 0 { field(16)? } else { 0 };
    let capable = u64::from(low) | u64::from(high) << 32;
    let transport = match offer.transport {
        FuseTransport::Classic => FuseTransport::Classic,
        _ if capable & init_flag::OVER_IO_URING != 0 => FuseTransport::Uring,
        FuseTransport::Uring => return Err(Disagreement::NoUring),
        FuseTransport::Auto => FuseTransport::Classic,
    };
    let mut wanted = init_flag::ASYNC_READ
        | init_flag::BIG_WRITES
        | init_flag::ASYNC_DIO
        | init_flag::PARALLEL_DIROPS
        | init_flag::MAX_PAGES
        | init_flag::INIT_EXT
        | offer.features;
    if transport == FuseTransport::Uring {
        wanted |= init_flag::OVER_IO_URING;
    }
    let flags = wanted & capable;
    let length = Body::new(body)
        .u32(MAJOR)
        .u32(MINOR)
        .u32(read_ahead)
        .u32(flags as u32)
        .u16(offer.background)
        .u16(offer.background)
        .u32(offer.payload_bytes as u32)
        .u32(1) // time_gran, ns
        .u16((offer.payload_bytes / PAGE) as u16)
        .u16(0) // map_alignment
        .u32((flags >> 32) as u32)
        .zeroes(7 * 4)
        .length();
    let length = length.ok_or(Disagreement::NotInit)?;
    Ok((Agreement { transport, minor: minor.min(MINOR), features: flags }, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn init_in(minor: u32, flags: u64) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        Body::new(&mut bytes).u32(7).u32(minor).u32(0x20000).u32(flags as u32).u32((flags >> 32) as u32);
        bytes
    }

    fn offer(transport: FuseTransport) -> Offer {
        Offer {
            payload_bytes: 128 << 10,
            transport,
            background: 64,
            features: init_flag::DO_READDIRPLUS | init_flag::DIRECT_IO_ALLOW_MMAP,
        }
    }

    #[test]
    fn the_answer_is_what_the_kernel_reads() {
        let mut body = [0xee; 80];
        let args = init_in(45, u64::MAX >> 16);
        let (agreement, length) = answer(&args, offer(FuseTransport::Auto), &mut body).unwrap();
        assert_eq!((agreement.transport, agreement.minor), (FuseTransport::Uring, 42));
        assert_eq!(length, 64, "struct fuse_init_out");
        let expected = [
            7, 0, 0, 0, 42, 0, 0, 0, // major, minor
            0, 0, 2, 0, // max_readahead
            0x21, 0xa0, 0x44, 0x40, // flags
            64, 0, 64, 0, // max_background, congestion_threshold
            0, 0, 2, 0, // max_write
            1, 0, 0, 0, // time_gran
            32, 0, 0, 0, // max_pages, map_alignment
            0x10, 2, 0, 0, // flags2
        ];
        assert_eq!(body[..36], expected);
        assert_eq!(body[36..64], [0; 28]);
    }

    #[test]
    fn the_transport_is_what_both_can() {
        let uring = init_flag::OVER_IO_URING | init_flag::INIT_EXT;
        let table = [
            (FuseTransport::Auto, uring, Ok(FuseTransport::Uring)),
            (FuseTransport::Auto, init_flag::INIT_EXT, Ok(FuseTransport::Classic)),
            // Without INIT_EXT there are no upper flags, whatever the bytes contain.
            (FuseTransport::Auto, init_flag::OVER_IO_URING, Ok(FuseTransport::Classic)),
            (FuseTransport::Classic, uring, Ok(FuseTransport::Classic)),
            (FuseTransport::Uring, uring, Ok(FuseTransport::Uring)),
            (FuseTransport::Uring, init_flag::INIT_EXT, Err(Disagreement::NoUring)),
        ];
        for (wanted, capable, expected) in table {
            let got = answer(&init_in(42, capable), offer(wanted), &mut [0; 64]);
            assert_eq!(got.map(|(agreement, _)| agreement.transport), expected, "{wanted:?} {capable:x}");
        }
    }

    #[test]
    fn strange_messages_are_refused() {
        let good = init_in(42, 0);
        for bad in [&good[..12], &init_in(20, 0), &[9; 64]] {
            assert_eq!(answer(bad, offer(FuseTransport::Auto), &mut [0; 64]), Err(Disagreement::NotInit));
        }
        assert_eq!(answer(&good, offer(FuseTransport::Auto), &mut [0; 63]), Err(Disagreement::NotInit));
    }
}
