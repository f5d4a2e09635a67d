//! `verify_pattern`: repeated bytes, some of which are the offset.

use iolab_plan::VerifyPattern;

/// Fills an interval that begins at `offset` with a pattern that restarts every `every` bytes (0:
/// only at the interval). Its `%o` is the offset of its last start.
pub(crate) fn fill(pattern: &VerifyPattern, every: u64, offset: u64, out: &mut [u8]) {
    let every = if every == 0 { out.len() } else { usize::try_from(every).unwrap_or(usize::MAX) };
    let mut place = offset;
    for piece in out.chunks_mut(every.max(1)) {
        crate::content::fill_repeated(&with_offset(pattern, place), piece);
        place += piece.len() as u64;
    }
}

fn with_offset(pattern: &VerifyPattern, offset: u64) -> std::borrow::Cow<'_, [u8]> {
    if pattern.offsets_at.is_empty() {
        return (&pattern.bytes).into();
    }
    let mut bytes = pattern.bytes.clone();
    for at in &pattern.offsets_at {
        if let Some(place) = bytes.get_mut(*at as usize..).and_then(|rest| rest.first_chunk_mut::<8>()) {
            *place = offset.to_le_bytes();
        }
    }
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_those_of_the_place_where_the_pattern_starts() {
        let mut bytes = vec![0xff];
        bytes.extend([0; 8]);
        bytes.extend(b"ab");
        let pattern = VerifyPattern { bytes, offsets_at: vec![1] };
        let mut out = [0; 32];
        fill(&pattern, 0, 0x1000, &mut out);
        let whole = [0xff, 0, 0x10, 0, 0, 0, 0, 0, 0, b'a', b'b'];
        assert_eq!(&out[..11], &whole);
        assert_eq!(&out[11..22], &whole);
        fill(&pattern, 16, 0x1000, &mut out);
        assert_eq!(out[16 + 1], 0x10);
        assert_eq!(out[16 + 2], 0x10);
    }
}
