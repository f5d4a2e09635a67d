//! What jobs are resolved to.

mod defaults;
mod documents;
mod files;
mod measure;
mod option_table;
mod ranks;
mod run;
mod steady;
mod support;
mod workload;
