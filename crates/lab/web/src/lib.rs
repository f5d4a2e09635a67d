//! A page in the browser: running and past runs, live charts by server-sent events, comparisons,
//! tags and notes, a form that starts jobs, and metrics for Prometheus.
//!
//! It is a process of its own, and knows runs only by what they leave: partial recordings that
//! grow, recordings, the database. It cannot disturb a run other than by the processors that it
//! uses.
//!
//! | file | what it does |
//! | --- | --- |
//! | `server` | accepts connections, with limits |
//! | `admission` | decides which requests are answered: Host, Origin, token; and what browsers may do with answers |
//! | `site` | what all requests share |
//! | `feed` | follows a run, and makes the parts of its page |
//! | `live` | the page of a run, and its events |
//! | `reading` | lists, entries, reports, comparisons |
//! | `changes` | tags and notes |
//! | `token` | who may change things |
//! | `jobs`, `started` | the form, the plan, the start; jobs that were started |
//! | `words` | what a form may say, as words of a command line |
//! | `metrics` | `/metrics` |
//!
//! Names in addresses are compared with the names in the recordings folder, never joined to a path.
//! Files are never sent as they are: what is sent was made from a recording that could be read.

mod admission;
mod changes;
mod feed;
mod jobs;
mod live;
mod metrics;
mod reading;
mod server;
mod site;
mod started;
mod token;
mod words;

pub use server::{new_token, router, serve};
pub use site::{Followed, WebEngine, WebSettings};
