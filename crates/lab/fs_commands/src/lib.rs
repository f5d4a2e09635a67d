//! What `iolab fs` does, without its command line: makes, examines, changes, checks, serves and
//! measures images of logfs.
//!
//! A command takes its arguments as values and returns its report as text or JSON. Nothing here
//! prints; a command that reports during its work takes a closure for it.

mod change;
mod cluster_reading;
mod cp;
mod defrag;
mod dump_log;
mod error;
mod facts;
mod fsck;
mod image_access;
mod info;
mod io_tester;
mod ls;
mod mkfs;
mod perf;
mod perf_text;
mod qualify;
mod resize_cores;
mod serving;
mod show;
mod targets;

pub use change::{make_directories, remove_paths, rename};
pub use cluster_reading::{
    cluster_reading_json, cluster_reading_text, read_clusters_of, reading_way, store_reading_cost,
};
pub use cp::{CopyRequest, copy};
pub use defrag::defragment;
pub use dump_log::{dump_line_json, dump_line_text, dump_log};
pub use error::FsError;
pub use fsck::{CHECK_IMPOSSIBLE, CheckRequest, check};
pub use info::info;
pub use io_tester::{TesterRequest, TesterRun, test_io, tester_json, tester_text};
pub use ls::{ListRequest, list};
pub use mkfs::{MakeRequest, make_image};
pub use perf::{Series, SweepSetting, VolumeRequest, measure_volumes};
pub use perf_text::{volumes_json, volumes_text};
pub use qualify::{qualify_folder, qualify_json, qualify_text};
pub use resize_cores::resize_cores;
pub use serving::{ServeRequest, serve_image, wait_until_closed};
pub use show::{describe_file, read_files, tree};
pub use targets::{LogfsSetting, processors, usual_domains};
