//! The address of a PCI function, `domain:bus:device.function` in hexadecimal.

use std::fmt;
use std::str::FromStr;

/// The address of a PCI function, in the notation of `lspci` and sysfs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    domain: u32,
    bus: u8,
    device: u8,
    function: u8,
}

/// A text that is not the address of a PCI function.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a PCI address: write it as in 0000:01:00.0 (lspci -D shows them)")]
pub struct AddressError(String);

impl FromStr for PciAddress {
    type Err = AddressError;

    /// Parses `dddd:bb:dd.f`; the domain may be omitted if it is 0.
    fn from_str(text: &str) -> Result<PciAddress, AddressError> {
        parse(text).ok_or_else(|| AddressError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<PciAddress> {
    let (rest, function) = text.rsplit_once('.')?;
    let (rest, device) = rest.rsplit_once(':')?;
    let (domain, bus) = rest.rsplit_once(':').unwrap_or(("0", rest));
    let number = |digits: &str, most: u32| {
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        u32::from_str_radix(digits, 16).ok().filter(|number| plain && *number <= most)
    };
    Some(PciAddress {
        domain: number(domain, u32::MAX)?,
        bus: number(bus, 0xff)? as u8,
        device: number(device, 0x1f)? as u8,
        function: number(function, 7)? as u8,
    })
}

impl fmt::Display for PciAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:04x}:{:02x}:{:02x}.{:x}", self.domain, self.bus, self.device, self.function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        let cases = [
            ("0000:01:00.0", Some("0000:01:00.0")),
            ("01:1f.7", Some("0000:01:1f.7")),
            ("10000:e1:00.0", Some("10000:e1:00.0")),
            ("ABCD:0A:0b.1", Some("abcd:0a:0b.1")),
            ("0000:01:20.0", None),
            ("0000:01:00.8", None),
            ("0000:100:00.0", None),
            ("0000:+1:00.0", None),
            ("01:00", None),
            (":01:00.0", None),
            ("../../etc", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let read = text.parse::<PciAddress>().ok().map(|address| address.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        }
        let error = "nvme0".parse::<PciAddress>().unwrap_err();
        assert!(error.to_string().contains("0000:01:00.0"), "{error}");
    }
}
