//! The numbers and structures of `linux/vfio.h`, as words.
//!
//! Every structure of that interface begins with its own size, `argsz`, and consists of 32-bit
//! words and pairs of them, so one function can make all the calls. This module makes no calls.
//!
//! ```text
//!   word      0      1      2           3           4           5          6           7
//!   group   │ argsz│ flags│
//!   region  │ argsz│ flags│ index     │ cap_offset│ size                 │ offset               │
//!   irq     │ argsz│ flags│ index     │ count     │
//!   device  │ argsz│ flags│ regions   │ irqs      │ cap_offset│ pad      │
//!   iommu   │ argsz│ flags│ page sizes            │ cap_offset│ pad      │
//!   map     │ argsz│ flags│ address of the memory │ bus address          │ size                 │
//!   unmap   │ argsz│ flags│ bus address           │ size                 │
//!   set irqs│ argsz│ flags│ index     │ start     │ count     │ one event descriptor for each vector …
//! ```

use std::mem::size_of;

/// `_IO(';', 100 + position)`: the request numbers contain no size, the structures do.
const fn request(position: u32) -> u32 {
    (b';' as u32) << 8 | (100 + position)
}

pub(crate) const GET_API_VERSION: u32 = request(0);
pub(crate) const CHECK_EXTENSION: u32 = request(1);
pub(crate) const SET_IOMMU: u32 = request(2);
pub(crate) const GROUP_GET_STATUS: u32 = request(3);
pub(crate) const GROUP_SET_CONTAINER: u32 = request(4);
pub(crate) const GROUP_GET_DEVICE_FD: u32 = request(6);
pub(crate) const DEVICE_GET_INFO: u32 = request(7);
pub(crate) const DEVICE_GET_REGION_INFO: u32 = request(8);
pub(crate) const DEVICE_GET_IRQ_INFO: u32 = request(9);
pub(crate) const DEVICE_SET_IRQS: u32 = request(10);
pub(crate) const DEVICE_RESET: u32 = request(11);
pub(crate) const IOMMU_GET_INFO: u32 = request(12);
pub(crate) const IOMMU_MAP_DMA: u32 = request(13);
pub(crate) const IOMMU_UNMAP_DMA: u32 = request(14);

/// The only version of the interface.
pub(crate) const API_VERSION: i32 = 0;
/// The IOMMU model of x86 and Arm, version 2: a mapping can only be removed exactly as it was made.
pub(crate) const TYPE1V2_IOMMU: u32 = 3;

pub(crate) const GROUP_VIABLE: u32 = 1 << 0;
pub(crate) const DEVICE_HAS_RESET: u32 = 1 << 0;
pub(crate) const DEVICE_IS_PCI: u32 = 1 << 1;
pub(crate) const REGION_MAPPABLE: u32 = 1 << 2;
pub(crate) const IRQ_EVENTFD: u32 = 1 << 0;

pub(crate) const BAR0_REGION: u32 = 0;
pub(crate) const CONFIG_REGION: u32 = 7;
pub(crate) const MSIX_IRQ: u32 = 2;

/// Capabilities in the description of a region.
pub(crate) const REGION_CAP_SPARSE_MMAP: u16 = 1;
/// Capability in the description of the IOMMU: the bus addresses that it translates.
pub(crate) const IOMMU_CAP_IOVA_RANGES: u16 = 1;

/// `VFIO_DMA_MAP_FLAG_READ` and `_WRITE`: the allowed accesses of the device.
const MAP_READ: u32 = 1 << 0;
const MAP_WRITE: u32 = 1 << 1;
/// `VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER`.
const SET_EVENTS: u32 = 1 << 2 | 1 << 5;

/// Bytes of `words` words.
pub(crate) const fn bytes_of(words: usize) -> u32 {
    (words * size_of::<u32>()) as u32
}

/// The 64-bit number in the words at `position` and after.
pub(crate) fn wide(words: &[u32], position: usize) -> u64 {
    let half = |at: usize| words.get(at).copied().map_or(0, u64::from);
    half(position) | half(position + 1) << 32
}

fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// The request for a structure of `words` words about number `index`.
pub(crate) fn question(words: usize, index: u32) -> Vec<u32> {
    let mut question = vec![0; words.max(3)];
    question[0] = bytes_of(question.len());
    question[2] = index;
    question
}

pub(crate) const DEVICE_INFO_WORDS: usize = 6;
pub(crate) const REGION_INFO_WORDS: usize = 8;
pub(crate) const IRQ_INFO_WORDS: usize = 4;
pub(crate) const IOMMU_INFO_WORDS: usize = 6;

/// The request to map `bytes` from `memory` at `bus_address` for the device.
pub(crate) fn map_dma(memory: u64, bus_address: u64, bytes: u64, device_may_write: bool) -> Vec<u32> {
    let flags = if device_may_write { MAP_READ | MAP_WRITE } else { MAP_READ };
    let mut order = vec![bytes_of(8), flags];
    for value in [memory, bus_address, bytes] {
        order.extend(halves(value));
    }
    order
}

/// The request to unmap them. The kernel replaces the size by the number of bytes it has removed.
pub(crate) fn unmap_dma(bus_address: u64, bytes: u64) -> Vec<u32> {
    let mut order = vec![bytes_of(6), 0];
    for value in [bus_address, bytes] {
        order.extend(halves(value));
    }
    order
}

/// The request to signal one event for each vector from `start`; -1 stands for a vector without an
/// event.
pub(crate) fn set_events(start: u32, events: &[i32]) -> Vec<u32> {
    let count = events.len() as u32;
    let mut order = vec![bytes_of(5 + events.len()), SET_EVENTS, MSIX_IRQ, start, count];
    order.extend(events.iter().map(|event| event.cast_unsigned()));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_those_of_the_kernel() {
        let expected = [
            (GET_API_VERSION, 0x3b64),
            (CHECK_EXTENSION, 0x3b65),
            (SET_IOMMU, 0x3b66),
            (GROUP_GET_STATUS, 0x3b67),
            (GROUP_SET_CONTAINER, 0x3b68),
            (GROUP_GET_DEVICE_FD, 0x3b6a),
            (DEVICE_GET_INFO, 0x3b6b),
            (DEVICE_GET_REGION_INFO, 0x3b6c),
            (DEVICE_GET_IRQ_INFO, 0x3b6d),
            (DEVICE_SET_IRQS, 0x3b6e),
            (DEVICE_RESET, 0x3b6f),
            (IOMMU_GET_INFO, 0x3b70),
            (IOMMU_MAP_DMA, 0x3b71),
            (IOMMU_UNMAP_DMA, 0x3b72),
        ];
        for (request, number) in expected {
            assert_eq!(request, number);
        }
    }

    /// The bytes passed to the kernel.
    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn orders_are_laid_out_as_the_kernel_reads_them() {
        #[rustfmt::skip]
        assert_eq!(bytes(&map_dma(0x7f12_3456_7000, 0x1_0000_2000, 0x3000, true)), [
            32, 0, 0, 0, 3, 0, 0, 0,
            0x00, 0x70, 0x56, 0x34, 0x12, 0x7f, 0, 0,
            0x00, 0x20, 0x00, 0x00, 0x01, 0x00, 0, 0,
            0x00, 0x30, 0, 0, 0, 0, 0, 0,
        ]);
        assert_eq!(map_dma(0, 0, 0, false)[1], 1, "a device that may only read");
        #[rustfmt::skip]
        assert_eq!(bytes(&unmap_dma(0x80_0000_1000, 0x2000)), [
            24, 0, 0, 0, 0, 0, 0, 0,
            0x00, 0x10, 0, 0, 0x80, 0, 0, 0,
            0x00, 0x20, 0, 0, 0, 0, 0, 0,
        ]);
        #[rustfmt::skip]
        assert_eq!(bytes(&set_events(4, &[9, -1])), [
            28, 0, 0, 0, 0x24, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0,
            9, 0, 0, 0, 255, 255, 255, 255,
        ]);
        assert_eq!(bytes(&question(IRQ_INFO_WORDS, MSIX_IRQ)), [16, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn wide_numbers_have_their_low_half_first() {
        assert_eq!(wide(&[1, 0x5566_7788, 0x1122_3344], 1), 0x1122_3344_5566_7788);
        assert_eq!(wide(&[1], 0), 1, "what is not there is zero");
    }
}
