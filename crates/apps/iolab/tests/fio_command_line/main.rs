//! fio's command line as scripts use it: options of the run, forms of options, sources of jobs,
//! exit codes and signals. The expected results are those of fio 3.33 for the same command lines.

mod debug;
#[path = "../drop_in/mod.rs"]
mod drop_in;
mod exits;
mod forms;
mod jobs;
mod merging;
mod program;
mod reports;
mod signals;

/// A job file of one section that ends at once.
const ONE: &str = "[c]\nrw=read\nioengine=null\nsize=1m\n";
/// A job file of two sections.
const TWO: &str =
    "[a]\nrw=randread\nioengine=null\nsize=1m\nbs=4k\n[b]\nstonewall\nrw=randwrite\nioengine=null\nsize=2m\n";
