//! The engines on the calls of POSIX: plain reads and writes, mappings, the C library's
//! asynchronous I/O, and file-system calls.
//!
//! | module | engines |
//! | --- | --- |
//! | [`read_write`] | `sync`, `psync`, `vsync`, `pvsync`, `pvsync2`, `splice` |
//! | [`mmap`] | `mmap` |
//! | [`posixaio`] | `posixaio` |
//! | [`fileops`] | `filecreate`, `filestat`, `filedelete`, `dircreate`, `dirstat`, `dirdelete`, `falloc`, `ftruncate` |
//! | [`tree`] | `tree` |

pub mod fileops;
pub mod mmap;
pub mod posixaio;
pub mod read_write;
pub mod tree;
