//! The location of an image, and how it is used: `logfs://PATH?option=value&…`.

use std::path::PathBuf;

use iolab_units::{KbBase, parse_bytes};

/// The content of a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The image: a regular file or a block device.
    pub image: PathBuf,
    /// Most appended bytes that a file gathers before they are sent; 0 sends every append at once.
    pub gather_bytes: usize,
    /// Most bytes read ahead of a sequential reader; 0 disables read-ahead.
    pub ahead_bytes: usize,
    /// Changes without a sync are made durable after this number of seconds; with 0, when the file
    /// system decides.
    pub commit_seconds: u32,
    /// The disk has a volatile cache that is lost when this process ends and writes back depending
    /// on this seed; for crash tests ([`iolab_disk::Volatile`]).
    pub volatile: Option<u64>,
}

/// A URI that is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{uri}: {what}; write logfs://PATH-OF-IMAGE, optionally followed by ? and gather=SIZE, ahead=SIZE, \
    commit=SECONDS, volatile=SEED, separated by &"
)]
pub struct BadLocation {
    uri: String,
    what: String,
}

impl Location {
    /// An image with the default options.
    pub fn new(image: impl Into<PathBuf>) -> Location {
        Location {
            image: image.into(),
            gather_bytes: 1 << 20,
            ahead_bytes: 256 << 10,
            commit_seconds: 5,
            volatile: None,
        }
    }

    /// Parses `logfs://PATH`, or `logfs:PATH`, with options after a question mark.
    ///
    /// # Errors
    /// [`BadLocation`], which says what is wrong and what would be valid.
    pub fn parse(uri: &str) -> Result<Location, BadLocation> {
        let bad = |what: String| BadLocation { uri: uri.to_owned(), what };
        let rest = uri.strip_prefix("logfs:").ok_or_else(|| bad("not a logfs location".to_owned()))?;
        let rest = rest.strip_prefix("//").unwrap_or(rest);
        let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
        if path.is_empty() {
            return Err(bad("the image is missing".to_owned()));
        }
        let mut location = Location::new(path);
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let wrong = || bad(format!("{name} cannot be `{value}`"));
            let bytes = || parse_bytes(value, KbBase::K1024).ok().and_then(|bytes| usize::try_from(bytes).ok());
            match name {
                "gather" => location.gather_bytes = bytes().ok_or_else(wrong)?,
                "ahead" => location.ahead_bytes = bytes().ok_or_else(wrong)?,
                "commit" => location.commit_seconds = value.parse().map_err(|_| wrong())?,
                "volatile" => location.volatile = Some(value.parse().map_err(|_| wrong())?),
                _ => return Err(bad(format!("`{name}` is not an option"))),
            }
        }
        Ok(location)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_read() {
        let usual = Location::new("/tmp/image");
        assert_eq!(Location::parse("logfs:///tmp/image").unwrap(), usual);
        assert_eq!(Location::parse("logfs:/tmp/image").unwrap(), usual);
        assert_eq!(Location::parse("logfs://image?").unwrap(), Location::new("image"));
        let all = Location::parse("logfs:///tmp/image?gather=64k&ahead=0&commit=30&volatile=7").unwrap();
        let expected =
            Location { gather_bytes: 64 << 10, ahead_bytes: 0, commit_seconds: 30, volatile: Some(7), ..usual };
        assert_eq!(all, expected);
        for (bad, said) in [
            ("file:///tmp", "not a logfs location"),
            ("logfs://", "the image is missing"),
            ("logfs://a?gather=much", "gather cannot be `much`"),
            ("logfs://a?commit", "commit cannot be ``"),
            ("logfs://a?colour=red", "`colour` is not an option"),
        ] {
            let message = Location::parse(bad).unwrap_err().to_string();
            assert!(message.contains(said) && message.contains("gather=SIZE"), "{message}");
        }
    }
}
