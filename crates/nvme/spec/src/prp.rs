//! Physical Region Page entries and lists (Base, section 4.3): the constants and the arithmetic of
//! their layout.
//!
//! PRP entry 1 may start anywhere in a memory page (dword aligned). Data that does not fit in that
//! page continues at PRP entry 2: one page, or a list of pages if more than one is needed. The last
//! entry of a list page points to the next list page if entries remain.

/// Bytes of one entry of a list.
pub const PRP_ENTRY_BYTES: u64 = 8;

/// The smallest memory page, and the unit of CAP.MPSMIN, CAP.MPSMAX, CC.MPS and MDTS.
pub const MIN_PAGE_BYTES: u64 = 4096;

/// How many memory pages `bytes` from `address` touch.
#[inline]
pub const fn pages_touched(address: u64, bytes: u64, page_bytes: u64) -> u64 {
    (address % page_bytes + bytes).div_ceil(page_bytes)
}

/// Entries in one page of a list.
#[inline]
pub const fn entries_in_list_page(page_bytes: u64) -> u64 {
    page_bytes / PRP_ENTRY_BYTES
}
