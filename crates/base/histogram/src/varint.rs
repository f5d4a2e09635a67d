//! Numbers as LEB128 varints: seven bits per byte, lowest first.

/// Appends `number` as a LEB128 varint: seven bits per byte, lowest first. The eighth bit says that
/// more bytes follow.
#[inline]
pub fn put_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a varint from the front of `bytes`; `None` if it is cut off, longer than 64 bits, or not
/// in its shortest form.
pub fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.split_off_first()?;
        let bits = u64::from(byte & 0x7f);
        if (bits << shift) >> shift != bits || (byte == 0 && shift > 0) {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
