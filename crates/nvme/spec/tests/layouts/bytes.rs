//! Bytes as in a figure of the specification: a size, and the contents at some offsets.

/// `size` zeroes, with these bytes at these offsets.
pub(crate) fn bytes(size: usize, parts: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; size];
    for (offset, part) in parts {
        bytes[*offset..offset + part.len()].copy_from_slice(part);
    }
    bytes
}

/// Reads a structure that is as long as the bytes.
pub(crate) fn read<T: zerocopy::FromBytes + zerocopy::KnownLayout>(size: usize, parts: &[(usize, &[u8])]) -> T {
    let bytes = bytes(size, parts);
    T::read_from_bytes(&bytes).expect("the structure is as long as the specification says")
}
