//! Signature version 4 of S3 ("Authenticating Requests (AWS Signature Version 4)", Amazon S3 API
//! Reference), in the header `Authorization`, with the checksum of the whole content.

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

const DIGITS: &[u8; 16] = b"0123456789abcdef";
/// The name of the scheme.
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// A moment as S3 writes it, `YYYYMMDDTHHMMSSZ`; the date is its first eight letters.
pub(crate) fn stamp(unix_seconds: u64) -> String {
    let (year, month, day) = date(unix_seconds / 86_400);
    let second = unix_seconds % 86_400;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// Year, month and day of a number of days since 1970, by the Gregorian calendar (Hinnant,
/// "chrono-compatible low-level date algorithms").
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

/// Bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    digits.map(char::from).collect()
}

/// A key for a day, a region and S3, which is computed once a day.
#[derive(Debug, Clone, Default)]
pub(crate) struct DayKey {
    date: String,
    key: [u8; 32],
}

fn hmac(key: &[u8], data: &str) -> [u8; 32] {
    // A key of any length is taken, so there is no error.
    let mut mac = match Hmac::<Sha256>::new_from_slice(key) {
        Ok(mac) => mac,
        Err(_) => return [0; 32],
    };
    mac.update(data.as_bytes());
    mac.finalize().into_bytes().into()
}

/// Who signs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signer<'a> {
    pub(crate) key_id: &'a str,
    pub(crate) key: &'a str,
    pub(crate) region: &'a str,
}

impl Signer<'_> {
    /// The value of `Authorization`: `headers` are lines `name:value` in the order of their names,
    /// in lower case, and `checksum` is the content's.
    pub(crate) fn authorization(
        &self,
        day: &mut DayKey,
        stamp: &str,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        checksum: &str,
    ) -> String {
        let mut names = String::new();
        let mut canonical = format!("{method}\n{path}\n\n");
        for (name, value) in headers {
            if !names.is_empty() {
                names.push(';');
            }
            names.push_str(name);
            canonical.push_str(name);
            canonical.push(':');
            canonical.push_str(value.trim());
            canonical.push('\n');
        }
        canonical.push_str(&format!("\n{names}\n{checksum}"));
        let date = &stamp[..8];
        let scope = format!("{date}/{}/s3/aws4_request", self.region);
        let hash = hexadecimal(&Sha256::digest(canonical.as_bytes()));
        if day.date != date {
            let of_date = hmac(format!("AWS4{}", self.key).as_bytes(), date);
            let key = hmac(&hmac(&hmac(&of_date, self.region), "s3"), "aws4_request");
            *day = DayKey { date: date.to_owned(), key };
        }
        let signature = hexadecimal(&hmac(&day.key, &format!("{ALGORITHM}\n{stamp}\n{scope}\n{hash}")));
        format!("{ALGORITHM} Credential={}/{scope},SignedHeaders={names},Signature={signature}", self.key_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written() {
        for (seconds, expected) in [
            (0, "19700101T000000Z"),
            (951_782_400, "20000229T000000Z"),
            (1_369_353_599, "20130523T235959Z"),
            (1_369_353_600, "20130524T000000Z"),
            (4_107_542_399, "21000228T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(stamp(seconds), expected);
        }
    }

    /// The examples of the reference ("Signature Calculations for the Authorization Header").
    #[test]
    fn the_examples_of_the_reference_have_their_signatures() {
        let signer = Signer {
            key_id: "AKIAIOSFODNN7EXAMPLE",
            key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            region: "us-east-1",
        };
        let stamp = "20130524T000000Z";
        let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let mut day = DayKey::default();
        let get = signer.authorization(
            &mut day,
            stamp,
            ("GET", "/test.txt"),
            &[
                ("host", "examplebucket.s3.amazonaws.com"),
                ("range", "bytes=0-9"),
                ("x-amz-content-sha256", nothing),
                ("x-amz-date", stamp),
            ],
            nothing,
        );
        assert_eq!(
            get,
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,\
             SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,\
             Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        );
        let content = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
        assert_eq!(hexadecimal(&Sha256::digest(b"Welcome to Amazon S3.")), content);
        let put = signer.authorization(
            &mut day,
            stamp,
            ("PUT", "/test%24file.text"),
            &[
                ("date", "Fri, 24 May 2013 00:00:00 GMT"),
                ("host", "examplebucket.s3.amazonaws.com"),
                ("x-amz-content-sha256", content),
                ("x-amz-date", stamp),
                ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
            ],
            content,
        );
        assert!(put.ends_with("98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"), "{put}");
    }
}
