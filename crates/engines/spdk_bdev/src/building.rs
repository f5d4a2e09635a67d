//! Builds a stack from the names of a job: sizes, blocks, and the devices to open.

use std::collections::HashMap;
use std::path::Path;

use iolab_engine::{DeviceFacts, Engine, OpenError};
use iolab_observe::{FileKind, file_facts, logical_block_bytes};
use iolab_options::Settings;

use crate::configuration::{Configuration, Found, said};
use crate::json::Wrong;
use crate::methods::{Bdev, KernelInterface, Kind};
use crate::shared;
use crate::stack::{Base, Leaf, Node, Root, Stack};

/// Limit of nesting, deeper than any real stack: detects a device that is, through others, its own
/// base.
const DEEPEST: u32 = 32;
/// Each needs a step, and is represented by a bit.
pub(crate) const MOST_LEAVES: usize = 64;

/// Returns the facts about an NVMe device.
type AskNvme<'a> = &'a dyn Fn(&str) -> Result<DeviceFacts, OpenError>;

/// Builds stacks.
pub(crate) struct Builder<'a> {
    configuration: &'a Configuration,
    nvme: AskNvme<'a>,
    /// Whether operations will be performed, which needs memory.
    live: bool,
    stack: Stack,
    /// Devices already built.
    known: HashMap<String, Root>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(configuration: &'a Configuration, nvme: AskNvme<'a>, live: bool) -> Builder<'a> {
        Builder { configuration, nvme, live, stack: Stack::default(), known: HashMap::new() }
    }

    /// Adds a device of the job.
    pub(crate) fn add_root(&mut self, name: &str) -> Result<Root, OpenError> {
        if let Some(owner) = self.configuration.owner(name) {
            return Err(mistake(format!(
                "{name} belongs to {owner}, which alone may use it ({})",
                self.configuration.path.display()
            )));
        }
        let root = self.add(name, None, 0)?;
        self.stack.roots.push(root);
        Ok(root)
    }

    pub(crate) fn build(self) -> Stack {
        self.stack
    }

    fn wrong(&self, line: u32, reason: String) -> OpenError {
        mistake(said(&self.configuration.path, &Wrong::at(line, reason)))
    }

    /// The device of this name, as a base of the device in line `by`.
    fn add(&mut self, name: &str, by: Option<u32>, depth: u32) -> Result<Root, OpenError> {
        if let Some(root) = self.known.get(name) {
            return Ok(*root);
        }
        let configuration = self.configuration;
        let root = match configuration.find(name) {
            _ if depth > DEEPEST => return Err(self.wrong(by.unwrap_or(1), format!("{name} is its own base"))),
            Some(Found::Bdev(bdev)) => self.bdev(bdev, depth)?,
            Some(Found::Namespace { words, line }) => {
                let facts = (self.nvme)(&words).map_err(|error| {
                    let place = said(&configuration.path, &Wrong::at(line, error.message));
                    OpenError { message: place, errno: error.errno }
                })?;
                self.leaf(Leaf::Nvme { name: words }, facts.size_bytes, facts.block_bytes, line)?
            }
            None => {
                let reason = format!("there is no device {name}; there are: {}", configuration.names());
                return Err(match by {
                    Some(line) => self.wrong(line, reason),
                    None => mistake(format!("{}: {reason}", configuration.path.display())),
                });
            }
        };
        self.known.insert(name.to_owned(), root);
        Ok(root)
    }

    fn bdev(&mut self, bdev: &Bdev, depth: u32) -> Result<Root, OpenError> {
        let line = bdev.line;
        let base = |own: &mut Self, name: &str| own.add(name, Some(line), depth + 1);
        match &bdev.kind {
            // A name without a namespace number is not found (`find`).
            Kind::Controller { .. } => Err(self.wrong(line, "a controller is no device".to_owned())),
            &Kind::Memory { blocks, block_bytes, keeps } => {
                let bytes = blocks * u64::from(block_bytes);
                let node = if keeps && self.live { self.memory(bdev, bytes)? } else { Node::Null };
                Ok(self.push(node, bytes, block_bytes, 1))
            }
            Kind::Kernel { by, path, block_bytes, read_only } => {
                let (bytes, block_bytes) = self.file(bdev, *by, path, *block_bytes)?;
                let leaf = Leaf::Kernel { by: *by, path: path.clone(), read_only: *read_only, bytes };
                self.leaf(leaf, bytes, block_bytes, line)
            }
            Kind::Delay { base: name, reads, writes } => {
                let under = base(self, name)?;
                let node = Node::Delay { base: under.node, reads: *reads, writes: *writes };
                Ok(self.push(node, under.bytes, under.block_bytes, under.flushes))
            }
            Kind::Error { base: name } => {
                let under = base(self, name)?;
                let faults = match self.live {
                    true => shared::faults(&self.configuration.path, &bdev.name, &self.configuration.injections),
                    false => Default::default(),
                };
                Ok(self.push(Node::Error { base: under.node, faults }, under.bytes, under.block_bytes, under.flushes))
            }
            Kind::Split { base: name, part, parts, part_bytes } => {
                let under = base(self, name)?;
                let blocks = under.bytes / u64::from(under.block_bytes);
                let bytes = part_bytes.unwrap_or(blocks / parts * u64::from(under.block_bytes));
                let end = bytes.checked_mul(part + 1).filter(|end| *end <= under.bytes && bytes > 0);
                let Some(end) = end else {
                    return Err(self.wrong(line, format!("{name} has no room for {}: it is too small", bdev.name)));
                };
                let node = Node::Split { base: under.node, start: end - bytes };
                Ok(self.push(node, bytes, under.block_bytes, under.flushes))
            }
            Kind::Raid0 { bases, strip_bytes } => {
                let under: Vec<Root> = bases.iter().map(|name| base(self, name)).collect::<Result<_, _>>()?;
                self.raid0(bdev, &under, *strip_bytes)
            }
        }
    }

    fn raid0(&mut self, bdev: &Bdev, under: &[Root], strip_bytes: u64) -> Result<Root, OpenError> {
        let block_bytes = under[0].block_bytes;
        if under.iter().any(|base| base.block_bytes != block_bytes) {
            return Err(self.wrong(bdev.line, format!("the bases of {} have blocks of different sizes", bdev.name)));
        }
        let strips = under.iter().map(|base| base.bytes / strip_bytes).min().unwrap_or(0);
        if strips == 0 || strip_bytes < u64::from(block_bytes) {
            let reason = format!(
                "a strip of {strip_bytes} bytes fits {} badly: blocks have {block_bytes} bytes, bases {strips} strips",
                bdev.name
            );
            return Err(self.wrong(bdev.line, reason));
        }
        let bases: Vec<Base> = under.iter().map(|base| Base { node: base.node, flushes: base.flushes }).collect();
        let (bytes, flushes) = (strips * strip_bytes * under.len() as u64, bases.iter().map(|base| base.flushes).sum());
        let node = Node::Raid0 { bases: bases.into(), strip_shift: strip_bytes.trailing_zeros() };
        Ok(self.push(node, bytes, block_bytes, flushes))
    }

    fn memory(&self, bdev: &Bdev, bytes: u64) -> Result<Node, OpenError> {
        shared::memory(&self.configuration.path, &bdev.name, bytes).map(Node::Memory).map_err(|error| {
            let message = format!("{}: {bytes} bytes of memory: {error}", bdev.name);
            OpenError { message, errno: error.raw_os_error().or(Some(libc::ENOMEM)) }
        })
    }

    /// Size and blocks of a file or block device.
    fn file(
        &self,
        bdev: &Bdev,
        by: KernelInterface,
        path: &Path,
        block_bytes: Option<u32>,
    ) -> Result<(u64, u32), OpenError> {
        let failed = |reason: String| self.wrong(bdev.line, format!("{}: {reason}", path.display()));
        let facts = file_facts(path).map_err(|error| failed(error.to_string()))?;
        let block_bytes = match (facts.kind, block_bytes) {
            (FileKind::BlockDevice, given) => {
                let own = logical_block_bytes(path).map_err(|error| failed(error.to_string()))?;
                match given {
                    Some(given) if given < own => {
                        return Err(failed(format!("block_size {given} is less than the device's {own}")));
                    }
                    _ => given.unwrap_or(own),
                }
            }
            (FileKind::Regular, Some(given)) => given,
            (FileKind::Regular, None) => {
                let method = match by {
                    KernelInterface::Aio => "bdev_aio_create",
                    KernelInterface::Uring => "bdev_uring_create",
                };
                return Err(failed(format!("a file has no blocks of its own: {method} needs block_size")));
            }
            (FileKind::Missing, _) => {
                return Err(failed("there is no such file: make it first (truncate -s SIZE)".to_owned()));
            }
            _ => return Err(failed("neither a regular file nor a block device".to_owned())),
        };
        let bytes = facts.size_bytes / u64::from(block_bytes) * u64::from(block_bytes);
        if bytes == 0 { Err(failed("it is empty".to_owned())) } else { Ok((bytes, block_bytes)) }
    }

    fn leaf(&mut self, leaf: Leaf, bytes: u64, block_bytes: u32, line: u32) -> Result<Root, OpenError> {
        let number = self.stack.leaves.len();
        if number >= MOST_LEAVES {
            return Err(self.wrong(line, format!("more than {MOST_LEAVES} devices below one job")));
        }
        self.stack.leaves.push(leaf);
        Ok(self.push(Node::Leaf(number as u32), bytes, block_bytes, 1))
    }

    fn push(&mut self, node: Node, bytes: u64, block_bytes: u32, flushes: u32) -> Root {
        self.stack.nodes.push(node);
        Root { node: self.stack.nodes.len() as u32 - 1, bytes, block_bytes, flushes }
    }
}

/// The facts about an NVMe device.
pub(crate) fn ask<N: Engine>(name: &str) -> Result<DeviceFacts, OpenError> {
    N::device(name, &Settings::default())
}

fn mistake(message: String) -> OpenError {
    OpenError { message, errno: Some(libc::EINVAL) }
}
