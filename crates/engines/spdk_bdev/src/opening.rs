//! Opening a lane: its stack, and a lane of another engine for every device at the bottom.
//!
//! Unsafe because it lends the pool of slots, which outlives the lane, to copies from and to
//! memory.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use iolab_clock::Clock;
use iolab_engine::{Engine, Lane, LaneRequest, OpenError, TargetFile};
use iolab_options::Settings;

use crate::building::{Builder, ask};
use crate::configuration::Configuration;
use crate::lane::{BdevLane, LeafLane, Parts, of_leaf};
use crate::methods::KernelInterface;
use crate::slots::Slots;
use crate::stack::Leaf;

/// A lane on lanes of these engines.
type LaneOf<N, A, U> = BdevLane<<N as Engine>::Lane, <A as Engine>::Lane, <U as Engine>::Lane>;
/// One of these lanes.
type LeafOf<N, A, U> = LeafLane<<N as Engine>::Lane, <A as Engine>::Lane, <U as Engine>::Lane>;

/// Opens a lane on the devices that the job names.
pub(crate) fn open<N: Engine, A: Engine, U: Engine>(request: &LaneRequest<'_>) -> Result<LaneOf<N, A, U>, OpenError> {
    let configuration = Configuration::of(request.options)?;
    let mut builder = Builder::new(&configuration, &ask::<N>, true);
    for file in request.files {
        builder.add_root(&file.path.to_string_lossy())?;
    }
    let stack = builder.build();
    let (mut leaves, mut files, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for leaf in &stack.leaves {
        let lane = open_leaf::<N, A, U>(leaf, request, &mut files)?;
        notes.extend_from_slice(of_leaf!(&lane, lane => lane.notes()));
        leaves.push(lane);
    }
    if !configuration.passed_over.is_empty() {
        let path = configuration.path.display();
        notes.push(format!("{path}: without effect here: {}", configuration.passed_over.join(", ")));
    }
    // SAFETY: the pool outlives the lane (contract of `LaneRequest`), and what is lent goes with
    // the lane.
    let bytes = unsafe { request.buffers.shared() };
    let bytes = bytes.map_err(|error| OpenError { message: error.to_string(), errno: error.raw_os_error() })?;
    Ok(BdevLane::new(Parts {
        leaves,
        files,
        stack,
        slots: Slots { bytes, view: request.buffers },
        depth: request.depth,
        seed: request.seed ^ u64::from(request.worker),
        clock: Clock::best().0,
        notes,
    }))
}

fn open_leaf<N: Engine, A: Engine, U: Engine>(
    leaf: &Leaf,
    request: &LaneRequest<'_>,
    files: &mut Vec<File>,
) -> Result<LeafOf<N, A, U>, OpenError> {
    // Options of the engines at the bottom are not options of this engine.
    let options = Settings::default();
    let target = match leaf {
        Leaf::Nvme { name } => TargetFile { path: name.into(), fd: -1, size_bytes: 0, is_block_device: true },
        Leaf::Kernel { path, read_only, bytes, .. } => {
            let failed = |error: io::Error| OpenError {
                message: format!("opening {}: {error}", path.display()),
                errno: error.raw_os_error(),
            };
            let file = open_file(path, *read_only).map_err(failed)?;
            let is_block_device = file.metadata().map_err(failed)?.file_type().is_block_device();
            let target = TargetFile { path: path.clone(), fd: file.as_raw_fd(), size_bytes: *bytes, is_block_device };
            files.push(file);
            target
        }
    };
    let own = LaneRequest { files: &[target], options: &options, direct: true, ..*request };
    Ok(match leaf {
        Leaf::Nvme { .. } => LeafLane::Nvme(N::open(&own)?),
        Leaf::Kernel { by: KernelInterface::Aio, .. } => LeafLane::Aio(A::open(&own)?),
        Leaf::Kernel { by: KernelInterface::Uring, .. } => LeafLane::Uring(U::open(&own)?),
    })
}

/// Opens like SPDK: for both directions, bypassing the page cache if the file system supports that.
fn open_file(path: &Path, read_only: bool) -> io::Result<File> {
    let open = |flags| OpenOptions::new().read(true).write(!read_only).custom_flags(flags).open(path);
    match open(libc::O_DIRECT) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => open(0),
        other => other,
    }
}
