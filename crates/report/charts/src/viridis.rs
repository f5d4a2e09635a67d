//! The viridis colour map (van der Walt and Smith, 2015), sampled and interpolated: its lightness
//! increases evenly for every eye and printer.

/// Samples at equal distances.
#[rustfmt::skip]
const SAMPLES: [[u8; 3]; 9] = [
    [68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141], [39, 173, 129], [92, 200, 99], [170, 220, 50],
    [253, 231, 37],
];

/// The colour at `share`, 0 (dark) to 1 (light), as `#rrggbb`.
pub(crate) fn colour(share: f64) -> String {
    let [red, green, blue] = mixed(share);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Class of text that is readable on the colour at `share`.
pub(crate) fn text_class(share: f64) -> &'static str {
    let [red, green, blue] = mixed(share).map(|channel| {
        let level = f64::from(channel) / 255.0;
        // WCAG 2.1, relative luminance.
        if level <= 0.04045 { level / 12.92 } else { ((level + 0.055) / 1.055).powf(2.4) }
    });
    let luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    if luminance < 0.18 { "on-dark" } else { "on-light" }
}

fn mixed(share: f64) -> [u8; 3] {
    let place = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 } * (SAMPLES.len() - 1) as f64;
    let below = (place.floor() as usize).min(SAMPLES.len() - 2);
    let part = place - below as f64;
    std::array::from_fn(|channel| {
        let (a, b) = (f64::from(SAMPLES[below][channel]), f64::from(SAMPLES[below + 1][channel]));
        (a + (b - a) * part).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_middle() {
        for (share, expected) in
            [(0.0, "#440154"), (1.0, "#fde725"), (0.5, "#21908d"), (f64::NAN, "#440154"), (7.0, "#fde725")]
        {
            assert_eq!(colour(share), expected);
        }
        assert_eq!((text_class(0.0), text_class(1.0)), ("on-dark", "on-light"));
    }
}
