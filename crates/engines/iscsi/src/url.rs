//! Where a logical unit is, as text: `iscsi://[USER%PASSWORD@]HOST[:PORT]/TARGET/LUN`.
//!
//! The form is that of libiscsi and fio. Deliberately not here: the URL's parameters.

use std::fmt;
use std::str::FromStr;

/// The port that IANA has assigned to iSCSI.
const DEFAULT_PORT: &str = "3260";
const FORM: &str = "write iscsi://HOST:PORT/TARGET/LUN, as in iscsi://127.0.0.1:3260/iqn.2026-01.lab:disk/1";

/// A logical unit of a target.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct UnitUrl {
    /// Name and password.
    pub(crate) user: Option<(String, String)>,
    /// `HOST:PORT`.
    pub(crate) portal: String,
    pub(crate) target: String,
    pub(crate) lun: i32,
}

impl FromStr for UnitUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<UnitUrl, String> {
        let wrong = |what: &str| format!("{what}: {FORM}");
        let rest = text.strip_prefix("iscsi://").ok_or_else(|| wrong("this is no URL of iSCSI"))?;
        if rest.contains(['?', '\0']) {
            return Err(wrong("parameters are not supported"));
        }
        let (authority, path) = rest.split_once('/').ok_or_else(|| wrong("the target is missing"))?;
        let (target, lun) = path.rsplit_once('/').ok_or_else(|| wrong("the number of the logical unit is missing"))?;
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => {
                let pair = user.split_once('%').ok_or_else(|| wrong("USER%PASSWORD come before @"))?;
                (Some((pair.0.to_owned(), pair.1.to_owned())), host)
            }
            None => (None, authority),
        };
        let lun = lun.parse().ok().filter(|lun| (0..=16_383).contains(lun));
        let has_port = host
            .rsplit_once(':')
            .is_some_and(|(before, port)| !port.contains(']') && (before.ends_with(']') || !before.contains(':')));
        if host.is_empty() || target.is_empty() {
            return Err(wrong("the host or the target is empty"));
        }
        let portal = if has_port { host.to_owned() } else { format!("{host}:{DEFAULT_PORT}") };
        let lun = lun.ok_or_else(|| wrong("the number of the logical unit is from 0 to 16383"))?;
        Ok(UnitUrl { user, portal, target: target.to_owned(), lun })
    }
}

impl fmt::Display for UnitUrl {
    /// Without the password.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "iscsi://{}/{}/{}", self.portal, self.target, self.lun)
    }
}

impl fmt::Debug for UnitUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_and_shown_without_passwords() {
        let table = [
            ("iscsi://h/iqn.a:b/1", "iscsi://h:3260/iqn.a:b/1", None),
            ("iscsi://h:7/iqn.a:b/0", "iscsi://h:7/iqn.a:b/0", None),
            ("iscsi://[::1]/t/2", "iscsi://[::1]:3260/t/2", None),
            ("iscsi://[::1]:9/t/2", "iscsi://[::1]:9/t/2", None),
            ("iscsi://me%p@ss@h/t/2", "iscsi://h:3260/t/2", Some(("me", "p@ss"))),
        ];
        for (text, shown, user) in table {
            let url: UnitUrl = text.parse().unwrap();
            assert_eq!(format!("{url:?}"), shown, "{text}");
            assert_eq!(url.user, user.map(|(name, word): (&str, &str)| (name.to_owned(), word.to_owned())));
        }
        for text in [
            "h/t/1",
            "iscsi://h",
            "iscsi://h/t",
            "iscsi:///t/1",
            "iscsi://h//1",
            "iscsi://h/t/x",
            "iscsi://h/t/-1",
            "iscsi://h/t/1?x",
            "iscsi://me@h/t/1",
        ] {
            assert!(text.parse::<UnitUrl>().unwrap_err().contains("write iscsi://"), "{text}");
        }
    }
}
