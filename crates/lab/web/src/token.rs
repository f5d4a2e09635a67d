//! The token, and where requests carry it.

use axum::http::{HeaderMap, header};

/// The cookie that contains it.
pub(crate) const COOKIE: &str = "iolab_token";

/// Whether whoever asks has the token: as a cookie, or as a program.
pub(crate) fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut given = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    given.any(|(name, value)| name == COOKIE && is_same(value, token))
        || bearer(headers).is_some_and(|given| is_same(given, token))
}

/// The token of a program.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ").map(str::trim)
}

/// Compares in a time that does not tell how much is right.
pub(crate) fn is_same(given: &str, token: &str) -> bool {
    let differences = given.bytes().zip(token.bytes()).fold(0, |sum, (one, other)| sum | (one ^ other));
    given.len() == token.len() && differences == 0 && !token.is_empty()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn tokens_are_compared_whole() {
        for (given, token, same) in
            [("abc", "abc", true), ("abd", "abc", false), ("ab", "abc", false), ("abcd", "abc", false), ("", "", false)]
        {
            assert_eq!(is_same(given, token), same, "{given} {token}");
        }
    }

    #[test]
    fn a_cookie_counts_by_its_whole_name() {
        for (line, has) in [
            ("iolab_token=abc", true),
            ("a=1; iolab_token=abc; b=2", true),
            ("xiolab_token=abc", false),
            ("iolab_token=abcd", false),
            ("iolab_token", false),
        ] {
            let headers = HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_static(line))]);
            assert_eq!(has_token(&headers, "abc"), has, "{line}");
        }
    }
}
