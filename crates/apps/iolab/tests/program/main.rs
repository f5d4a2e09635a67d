//! The program as users start it: command lines, and what they leave on disk.
//!
//! All tests are one binary, because each would be linked with everything. `cargo test -p iolab
//! --test program run_safety` runs the tests of one file.

mod bench;
mod capture;
mod compare;
mod config;
mod db;
mod device_catalogue;
mod device_media;
mod device_nbd;
mod device_served;
mod device_tcp;
mod device_vfio_user;
mod doctor;
#[path = "../drop_in/mod.rs"]
mod drop_in;
mod example_jobs;
mod example_studies;
mod files_and_offsets;
mod findings;
mod following;
mod fs_benchmarks;
mod fs_domains;
mod fs_looking;
mod fs_making;
mod fs_resizing;
mod hostile_input;
mod hosts;
mod hosts_studies;
mod job_language;
mod killed_run;
mod manners;
mod nvme_jobs;
mod pace_of_jobs;
mod pages;
mod perf_command;
mod ranks;
mod replay;
mod report_pages;
mod run_calibration;
mod run_ends;
mod run_errors;
mod run_keeping;
mod run_layout;
mod run_logs;
mod run_outputs;
mod run_overlap;
mod run_safety;
mod run_secrets;
mod run_signals;
mod study;
mod study_procedure;
#[path = "../support/mod.rs"]
mod support;
mod user_files;
mod verification;
mod verification_beside_fio;
mod verification_durable;
mod verification_state;
mod watch_program;
mod write_iolog;
mod zoned_jobs;
