//! The file system as its users see it, on disks that crash, fail and fill up.

mod background;
mod checkpoint;
mod cleaning;
mod concurrency;
mod crash;
mod damage;
mod disks;
mod domains;
mod domains_crash;
mod domains_resize;
mod domains_threads;
mod extended;
mod model;
mod nested;
mod policies;
mod rig;
mod space;
mod vectored;
mod version_one;
