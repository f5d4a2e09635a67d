//! NVMe Qualified Names (Base, section 7.9; Fabrics, section 1.5.2).

use std::fmt;

use iolab_nvme_spec::fabrics::DISCOVERY_NQN;

/// The most bytes of a name.
pub const MOST_NAME_BYTES: usize = 223;
/// The name of every discovery subsystem.
pub const DISCOVERY_NAME: &str = DISCOVERY_NQN;

/// A name of a host or a subsystem.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QualifiedName(String);

/// Why a text is not a valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QualifiedNameError {
    /// The text is too long.
    #[error("an NVMe qualified name has at most {MOST_NAME_BYTES} bytes; this one has {0}")]
    Long(usize),
    /// The text does not begin like a name.
    #[error("`{0}` is not an NVMe qualified name: they begin with `nqn.`, as in nqn.2014-08.org.nvmexpress:uuid:…")]
    Form(String),
    /// The text is not UTF-8, or contains characters that names must not contain.
    #[error("an NVMe qualified name is UTF-8 without spaces and control characters")]
    Characters,
}

impl QualifiedName {
    /// Checks a text and makes a name of it.
    pub fn new(text: &str) -> Result<QualifiedName, QualifiedNameError> {
        if text.len() > MOST_NAME_BYTES {
            return Err(QualifiedNameError::Long(text.len()));
        }
        if text.chars().any(|one| one.is_control() || one.is_whitespace()) {
            return Err(QualifiedNameError::Characters);
        }
        if !text.starts_with("nqn.") || text.len() < 5 {
            return Err(QualifiedNameError::Form(text.to_owned()));
        }
        Ok(QualifiedName(text.to_owned()))
    }

    /// Decodes a field of a structure: the text up to the first zero.
    pub fn of_field(field: &[u8]) -> Result<QualifiedName, QualifiedNameError> {
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
        let text = std::str::from_utf8(&field[..end]).map_err(|_| QualifiedNameError::Characters)?;
        QualifiedName::new(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Writes it to a field, followed by zeroes.
    pub fn put_into(&self, field: &mut [u8]) {
        field.fill(0);
        field[..self.0.len()].copy_from_slice(self.0.as_bytes());
    }
}

impl fmt::Display for QualifiedName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_the_specification_allows() {
        let long = format!("nqn.{}", "a".repeat(MOST_NAME_BYTES - 4));
        for text in [DISCOVERY_NAME, "nqn.2014-08.org.nvmexpress:uuid:f81d4fae", &long] {
            let name = QualifiedName::new(text).unwrap();
            let mut field = [1; 256];
            name.put_into(&mut field);
            assert_eq!(QualifiedName::of_field(&field), Ok(name));
        }
        assert_eq!(QualifiedName::new(&format!("{long}b")), Err(QualifiedNameError::Long(224)));
        assert_eq!(QualifiedName::new("nqn.a b"), Err(QualifiedNameError::Characters));
        assert_eq!(QualifiedName::new("iqn.a"), Err(QualifiedNameError::Form("iqn.a".into())));
        assert_eq!(QualifiedName::of_field(&[0xff; 256]), Err(QualifiedNameError::Characters));
        assert!(QualifiedName::of_field(&[b'n'; 256]).is_err());
        assert!(QualifiedName::of_field(&[]).is_err());
    }
}
