//! Which requests are answered, and what browsers may do with the answers.
//!
//! - A request names a host that this server has (`Host`): a page of another site whose name leads
//!   here is not answered.
//! - A request that changes something has the token, in its form or as `Authorization: Bearer`; and
//!   where a browser says which site it comes from (`Origin`), that is this one.
//! - Reading needs the token only where the server is private.
//!
//! The token comes once in an address (`/?token=…`), and then as a cookie that scripts cannot read
//! and other sites do not send. Answers forbid scripts other than the one of live pages, frames,
//! and that addresses are passed on.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::site::{Refused, Site, see_other};
use crate::token::{COOKIE, bearer, has_token, is_same};

/// The policy of the pages. Charts have styles of their own.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Answers only what may be answered.
pub(crate) async fn admit(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let token = &site.settings.token;
    let is_at_home = is_ours(request.uri(), request.headers(), &site.settings.hosts);
    let headers = request.headers();
    let mut response = if !is_at_home {
        let text = "this server answers only to its own names: use the address that iolab printed, or start it with --host-name=NAME";
        (StatusCode::MISDIRECTED_REQUEST, text).into_response()
    } else if let Some(given) = token_of_address(request.uri()) {
        entered(&site, headers, given, request.uri().path())
    } else if site.settings.is_private && !has_token(headers, token) {
        let text = "Open the address with the token that iolab printed.";
        site.refuse(headers, &Refused::new(StatusCode::UNAUTHORIZED, "The token is missing", text))
    } else if request.method() == Method::POST && !comes_from_here(headers, token) {
        let text = "The request comes from another site. Nothing was changed.";
        site.refuse(headers, &Refused::new(StatusCode::FORBIDDEN, "Refused", text))
    } else {
        next.run(request).await
    };
    protect(&mut response);
    response
}

/// Whether the request names one of our hosts, wherever it names one.
fn is_ours(uri: &Uri, headers: &HeaderMap, hosts: &[String]) -> bool {
    let is_known = |name: &str| hosts.iter().any(|host| host.eq_ignore_ascii_case(name));
    let mut named = headers.get_all(header::HOST).iter();
    let host = named.next().and_then(|host| host.to_str().ok());
    host.is_some_and(is_known) && named.next().is_none() && uri.authority().is_none_or(|name| is_known(name.as_str()))
}

/// Whether a browser sent the request from a page of ours, or a program that has the token.
fn comes_from_here(headers: &HeaderMap, token: &str) -> bool {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    match (text(header::ORIGIN), text(header::HOST)) {
        (Some(origin), Some(host)) => {
            origin.strip_prefix("http://").is_some_and(|site| site.eq_ignore_ascii_case(host))
        }
        (None, Some(_)) => bearer(headers).is_some_and(|given| is_same(given, token)),
        _ => false,
    }
}

fn token_of_address(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|part| part.strip_prefix("token="))
}

/// Takes the token of the address into a cookie, and the address out of sight.
fn entered(site: &Site, headers: &HeaderMap, given: &str, path: &str) -> Response {
    if !is_same(given, &site.settings.token) {
        let text = "It is not the token of this server, which has a new one each time it is started.";
        return site.refuse(headers, &Refused::new(StatusCode::UNAUTHORIZED, "Wrong token", text));
    }
    // `//name` would be another site.
    let mut response = see_other(if path.starts_with("//") { "/" } else { path });
    let cookie = format!("{COOKIE}={given}; Path=/; HttpOnly; SameSite=Strict");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// Whether a form may change something: it has the token, or its sender has it as a program.
pub(crate) fn may_change(headers: &HeaderMap, given: Option<&str>, token: &str) -> Result<(), Refused> {
    if given.or_else(|| bearer(headers)).is_some_and(|given| is_same(given, token)) {
        return Ok(());
    }
    let text = "Changing something needs the token: open the address with the token that iolab printed.";
    Err(Refused::new(StatusCode::FORBIDDEN, "The token is missing", text))
}

/// What browsers must not do with an answer. A report has a policy of its own.
fn protect(response: &mut Response) {
    let headers = response.headers_mut();
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_one_host_and_it_is_ours() {
        let hosts = ["127.0.0.1:80".to_owned(), "localhost:80".to_owned()];
        let of = |names: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for name in names {
                headers.append(header::HOST, HeaderValue::from_static(name));
            }
            headers
        };
        for (uri, names, ours) in [
            ("/", vec!["localhost:80"], true),
            ("/", vec!["LOCALHOST:80"], true),
            ("/", vec!["localhost"], false),
            ("/", vec!["evil.example:80"], false),
            ("/", vec![], false),
            ("/", vec!["localhost:80", "evil.example"], false),
            ("http://localhost:80/", vec!["localhost:80"], true),
            ("http://evil.example/", vec!["localhost:80"], false),
        ] {
            let parsed: Uri = uri.parse().expect("an address");
            assert_eq!(is_ours(&parsed, &of(&names), &hosts), ours, "{uri} {names:?}");
        }
    }
}
