//! The settings that can be changed, their formats and choices, and which of them change when
//! another is set.

/// One file of `/sys/block/DEVICE/queue` (Documentation/ABI/stable/sysfs-block).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: &'static str,
    /// Other settings that the kernel resets when this one is set.
    pub moves: &'static [&'static str],
    /// The file next to it that contains the largest value.
    pub limit: Option<&'static str>,
    /// Its possible values, for messages.
    pub offers: &'static str,
}

const PLAIN: Attribute = Attribute { name: "", moves: &[], limit: None, offers: "" };

/// All settings, in the order in which they are applied and restored: a setting that resets others
/// comes before those.
pub const ATTRIBUTES: &[Attribute] = &[
    Attribute { name: "scheduler", moves: &["nr_requests", "wbt_lat_usec"], ..PLAIN },
    Attribute { name: "nr_requests", offers: "up to the driver's queue size, at least 4 with a scheduler", ..PLAIN },
    Attribute { name: "wbt_lat_usec", ..PLAIN },
    Attribute { name: "nomerges", offers: "0, 1, 2", ..PLAIN },
    Attribute { name: "rq_affinity", offers: "0, 1, 2", ..PLAIN },
    Attribute { name: "io_timeout", offers: "milliseconds, in timer steps", ..PLAIN },
    Attribute { name: "max_sectors_kb", limit: Some("max_hw_sectors_kb"), ..LIMIT },
    Attribute { name: "io_poll", offers: "set when the driver was loaded", ..LIMIT },
    Attribute { name: "rotational", offers: "0, 1", ..LIMIT },
    Attribute { name: "add_random", offers: "0, 1", ..LIMIT },
    Attribute { name: "iostats", offers: "0, 1", ..LIMIT },
    Attribute { name: "write_cache", offers: "write back, write through", ..LIMIT },
    Attribute { name: "read_ahead_kb", offers: "multiples of the page size", ..PLAIN },
];

/// Since Linux 6.11, limits and features are committed together, which sets read-ahead to its
/// default.
const LIMIT: Attribute = Attribute { moves: &["read_ahead_kb"], ..PLAIN };

/// Position of an attribute in the order of application.
pub(crate) fn rank(name: &str) -> usize {
    ATTRIBUTES.iter().position(|attribute| attribute.name == name).unwrap_or(ATTRIBUTES.len())
}

/// Whether there is an attribute with this name or with this limit file.
pub(crate) fn is_attribute(name: &str) -> bool {
    ATTRIBUTES.iter().any(|attribute| attribute.name == name || attribute.limit == Some(name))
}

pub(crate) fn find(name: &str) -> Attribute {
    ATTRIBUTES.get(rank(name)).copied().unwrap_or(PLAIN)
}

/// The current value in the text of a file: in `[none] mq-deadline`, the word in brackets.
pub(crate) fn in_force(text: &str) -> &str {
    let text = text.trim();
    match text.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
        Some((chosen, _)) => chosen,
        None => text,
    }
}

/// Whether a value that was read back is the requested one. For wbt_lat_usec, -1 requests the
/// kernel's own choice.
pub(crate) fn is_as_asked(name: &str, asked: &str, read: &str) -> bool {
    asked == read || (name == "wbt_lat_usec" && asked == "-1")
}

/// What a device offers, for messages: the words of the file, the limit next to it, or what is
/// known.
pub(crate) fn offers(attribute: Attribute, text: &str, limit: Option<&str>) -> String {
    if text.contains('[') {
        return format!(
            "; it offers {}",
            text.trim().replace(['[', ']'], "").split_whitespace().collect::<Vec<_>>().join(", ")
        );
    }
    match limit {
        Some(limit) => format!("; it offers up to {}", limit.trim()),
        None if attribute.offers.is_empty() => String::new(),
        None => format!("; it offers {}", attribute.offers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_force() {
        for (text, expected) in [
            ("[none] mq-deadline\n", "none"),
            ("none [kyber]\n", "kyber"),
            ("128\n", "128"),
            ("write back\n", "write back"),
        ] {
            assert_eq!(in_force(text), expected, "{text}");
        }
    }

    #[test]
    fn offers_are_said() {
        assert_eq!(offers(find("scheduler"), "[none] kyber\n", None), "; it offers none, kyber");
        assert_eq!(offers(find("max_sectors_kb"), "128\n", Some("256\n")), "; it offers up to 256");
        assert_eq!(offers(find("wbt_lat_usec"), "2000\n", None), "");
    }

    #[test]
    fn what_moves_comes_after_what_moves_it() {
        for (at, attribute) in ATTRIBUTES.iter().enumerate() {
            assert!(
                attribute.moves.iter().all(|name| rank(name) > at && rank(name) < ATTRIBUTES.len()),
                "{}",
                attribute.name
            );
        }
    }
}
