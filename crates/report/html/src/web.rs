//! The pages that a server makes: runs that go on and past ones, one entry, a live run, a form for
//! a job.
//!
//! | file | page |
//! | --- | --- |
//! | `page` | the frame of all of them |
//! | `listing` | running and past runs |
//! | `entry` | one entry of the database: figures, tags, note |
//! | `live` | a run that goes on |
//! | `job_form` | a form of job options, and the plan made from it |
//!
//! Values in, text out: nothing here knows a request. Everything works without a script; `live.js`
//! replaces the parts of a live page as they arrive, and asks for nothing else. Forms that change
//! something contain the token, and are left out of pages for readers who do not have it.

mod entry;
mod job_form;
mod listing;
mod live;
mod page;

pub use entry::{EntryPage, EntryRow};
pub use job_form::{FormChoice, FormField, FormGroup, JobForm, PlannedJob};
pub use listing::{ListedEntry, ListingPage, RunningRun};
pub use live::{LivePage, LivePart, live_course, live_now};
pub use page::{Site, message_page};

/// The style sheet of the pages: that of reports and charts, and what only these pages have.
pub fn web_style() -> String {
    format!("{}\n{}\n{}", iolab_charts::STYLE, include_str!("style.css"), include_str!("web/web.css"))
}

/// The script of live pages.
pub const LIVE_SCRIPT: &str = include_str!("web/live.js");
