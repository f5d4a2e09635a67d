//! The buffers of a worker: memory of the kind that its plan requires.

use std::fs::File;

use iolab_engine::Capabilities;
use iolab_guard::{Guard, OpenMode, PathChange};
use iolab_memory::{Backing, SlotPool};
use iolab_plan::{BufferMemory, WorkerPlan};
use rustix::fs::OFlags;

use crate::changes::buffer_file;
use crate::open_files;
use crate::trouble::Fatal;

pub(crate) fn make_pool(plan: &WorkerPlan, capabilities: &Capabilities, guard: &Guard) -> Result<SlotPool, Fatal> {
    let backing = match &plan.buffers.memory {
        // A device served by another process must be able to map the buffers.
        BufferMemory::Anonymous if capabilities.files.is_devices() => Backing::Memfd,
        BufferMemory::Anonymous => Backing::Anonymous,
        BufferMemory::Shared => Backing::Shared,
        BufferMemory::Huge { page_bytes } => Backing::HugePages { page_bytes: *page_bytes as usize },
        BufferMemory::File { shared, .. } => {
            Backing::File { file: open_buffer_file(plan, guard)?.into(), shared: *shared }
        }
    };
    let slot_bytes = if capabilities.moves_data { plan.buffers.slot_bytes as usize } else { 1 };
    SlotPool::new(plan.queue.depth as usize, slot_bytes, plan.buffers.offset_bytes as usize, &backing)
        .map_err(|error| open_files::fatal(&error.message, &error.source))
}

fn open_buffer_file(plan: &WorkerPlan, guard: &Guard) -> Result<File, Fatal> {
    let Some(target) = buffer_file(plan) else {
        return Err(Fatal { errno: libc::EINVAL, message: "the buffers have no file".to_owned() });
    };
    let opening = OpenMode { flags: OFlags::RDWR, create: true, make_folders: false };
    let opened = guard.open(&target, &PathChange::OVERWRITES, &opening);
    opened.map_err(|refusal| open_files::refused(&format!("buffers in {}", target.path.display()), refusal))
}
