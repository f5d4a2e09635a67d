//! The head of a request, with all that its identity adds.

use iolab_text::base64;
use sha2::{Digest, Sha256};

use crate::object::append_number;
use crate::options::{Asked, Identity};
use crate::signature::{DayKey, Signer, hexadecimal, stamp};

/// The mark of objects that iolab has written: S3 and Swift keep it and return it.
pub(crate) const MARKS: [&str; 2] = ["x-amz-meta-iolab", "x-object-meta-iolab"];

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    /// First byte and bytes, of a GET.
    pub(crate) range: Option<(u64, u32)>,
    /// Of a PUT.
    pub(crate) content: Option<&'a [u8]>,
}

/// Makes heads.
#[derive(Debug)]
pub(crate) struct Heads {
    asked: Asked,
    basic: String,
    day: DayKey,
}

impl Heads {
    pub(crate) fn new(asked: &Asked) -> Heads {
        let basic = match &asked.identity {
            Identity::Basic { user, password } => base64::encode(format!("{user}:{password}").as_bytes()),
            _ => String::new(),
        };
        Heads { asked: asked.clone(), basic, day: DayKey::default() }
    }

    /// Writes a head.
    pub(crate) fn write(&mut self, out: &mut String, wanted: &Wanted<'_>, unix_seconds: u64) {
        out.clear();
        let Wanted { method, path, range, content } = *wanted;
        let range = range.map(|(first, bytes)| {
            let mut text = String::from("bytes=");
            append_number(&mut text, first);
            text.push('-');
            append_number(&mut text, first + u64::from(bytes) - 1);
            text
        });
        out.push_str(method);
        out.push(' ');
        out.push_str(path);
        out.push_str(" HTTP/1.1\r\n");
        line(out, "host", &self.asked.authority);
        if let Some(content) = content {
            out.push_str("content-length: ");
            append_number(out, content.len() as u64);
            out.push_str("\r\ncontent-type: application/octet-stream\r\n");
        }
        if let Some(range) = &range {
            line(out, "range", range);
        }
        match &self.asked.identity {
            Identity::Nobody => {}
            Identity::Basic { .. } => {
                out.push_str("authorization: Basic ");
                out.push_str(&self.basic);
                out.push_str("\r\n");
            }
            Identity::Swift { token } => {
                line(out, "x-auth-token", token);
                if content.is_some() {
                    line(out, MARKS[1], "1");
                }
            }
            Identity::S3 { key_id, key, region, token } => {
                let signer = Signer { key_id, key, region };
                let checksum = hexadecimal(&Sha256::digest(content.unwrap_or_default()));
                let stamp = stamp(unix_seconds);
                let mut headers = vec![("host", self.asked.authority.as_str())];
                headers.extend(range.as_deref().map(|range| ("range", range)));
                let mut own = vec![("x-amz-content-sha256", checksum.as_str()), ("x-amz-date", stamp.as_str())];
                if content.is_some() {
                    own.push((MARKS[0], "1"));
                }
                own.extend(token.as_deref().map(|token| ("x-amz-security-token", token)));
                own.extend(self.asked.storage_class.as_deref().filter(|_| content.is_some()).map(storage_class));
                own.iter().for_each(|(name, value)| line(out, name, value));
                headers.extend(own);
                let authorization = signer.authorization(&mut self.day, &stamp, (method, path), &headers, &checksum);
                line(out, "authorization", &authorization);
            }
        }
        out.push_str("\r\n");
    }
}

fn storage_class(class: &str) -> (&str, &str) {
    ("x-amz-storage-class", class)
}

fn line(out: &mut String, name: &str, value: &str) {
    out.push_str(name);
    out.push_str(": ");
    out.push_str(value);
    out.push_str("\r\n");
}
