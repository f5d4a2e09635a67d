//! Tags and notes of entries.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{Form, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use iolab_store::Database;

use crate::admission::may_change;
use crate::site::{Refused, Site, see_other};

const LONGEST_NOTE: usize = 16 << 10;
const LONGEST_TAG: usize = 64;
const MOST_TAGS: usize = 32;

type Fields = HashMap<String, String>;

/// Sets the tags of an entry.
pub(crate) async fn tags(
    State(site): State<Arc<Site>>,
    Path(id): Path<i64>,
    headers: HeaderMap,
    Form(fields): Form<Fields>,
) -> Response {
    change(site, headers, id, fields, |database, id, fields| {
        let wanted: Vec<String> =
            fields.get("tags").map_or("", String::as_str).split_whitespace().map(str::to_owned).collect();
        let is_bad = |tag: &String| tag.len() > LONGEST_TAG || tag.chars().any(char::is_control);
        if wanted.len() > MOST_TAGS || wanted.iter().any(is_bad) {
            let text = format!("Up to {MOST_TAGS} tags, each of up to {LONGEST_TAG} letters.");
            return Err(Refused::new(StatusCode::BAD_REQUEST, "These are no tags", text));
        }
        let known = database.entry(id).map_err(|error| Refused::not_found(error.to_string()))?.tags;
        let gone: Vec<String> = known.into_iter().filter(|tag| !wanted.contains(tag)).collect();
        database.tag(id, &wanted, &gone).map_err(|error| Refused::failed(error.to_string()))
    })
    .await
}

/// Sets the note of an entry.
pub(crate) async fn note(
    State(site): State<Arc<Site>>,
    Path(id): Path<i64>,
    headers: HeaderMap,
    Form(fields): Form<Fields>,
) -> Response {
    change(site, headers, id, fields, |database, id, fields| {
        let note = fields.get("note").map_or("", String::as_str).trim().replace('\r', "");
        if note.len() > LONGEST_NOTE {
            let text = format!("A note has up to {LONGEST_NOTE} bytes.");
            return Err(Refused::new(StatusCode::BAD_REQUEST, "The note is too long", text));
        }
        database.entry(id).map_err(|error| Refused::not_found(error.to_string()))?;
        database.note(id, &note).map_err(|error| Refused::failed(error.to_string()))
    })
    .await
}

async fn change(
    site: Arc<Site>,
    headers: HeaderMap,
    id: i64,
    fields: Fields,
    change: fn(&mut Database, i64, &Fields) -> Result<(), Refused>,
) -> Response {
    site.work(headers, move |site, headers| {
        may_change(headers, fields.get("token").map(String::as_str), &site.settings.token)?;
        let gone = || Refused::not_found("No runs are kept here.");
        let path = site.settings.database.as_ref().ok_or_else(gone)?;
        let database = Database::open_existing(path).map_err(|error| Refused::failed(error.to_string()))?;
        change(&mut database.ok_or_else(gone)?, id, &fields)?;
        Ok(see_other(&format!("/entries/{id}")))
    })
    .await
}
