//! Block devices stacked on each other, as a lane traverses them.
//!
//! ```text
//!   Raid0 ── strip of 64k ──▶ Delay ▶ Malloc
//!         └───────────────▶ Error ▶ Split (from 1 GiB) ▶ leaf: a lane of another engine
//! ```
//!
//! A step goes from the top to the bottom: its end, and the effects on its way. It covers only one
//! contiguous range at the bottom; the rest is another step.

use std::path::PathBuf;
use std::sync::Arc;

use iolab_engine::OpKind;
use iolab_memory::SharedBytes;
use iolab_random::SplitMix64;

use crate::methods::{Fault, KernelInterface, Latency};
use crate::shared::Faults;

/// One device of a stack; numbers refer to other nodes.
#[derive(Debug)]
pub(crate) enum Node {
    /// Nothing: operations succeed.
    Null,
    /// Memory of this process.
    Memory(SharedBytes),
    /// A lane of another engine, by its number.
    Leaf(u32),
    Delay {
        base: u32,
        reads: Latency,
        writes: Latency,
    },
    Error {
        base: u32,
        faults: Arc<Faults>,
    },
    Raid0 {
        bases: Box<[Base]>,
        strip_shift: u32,
    },
    Split {
        base: u32,
        start: u64,
    },
}

/// A base of a RAID.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Base {
    pub(crate) node: u32,
    /// Number of devices at its bottom, each of which needs a flush.
    pub(crate) flushes: u32,
}

/// What another engine opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Leaf {
    Nvme { name: String },
    Kernel { by: KernelInterface, path: PathBuf, read_only: bool, bytes: u64 },
}

/// A device of the job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Root {
    pub(crate) node: u32,
    pub(crate) bytes: u64,
    pub(crate) block_bytes: u32,
    pub(crate) flushes: u32,
}

/// All devices of a lane.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    pub(crate) nodes: Vec<Node>,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) roots: Vec<Root>,
}

/// Where a step ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bottom {
    Null,
    /// The node that has the memory.
    Memory(u32),
    Leaf(u32),
}

/// The path of one part of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) bottom: Bottom,
    /// Its offset at the bottom, bytes.
    pub(crate) offset: u64,
    /// How much of the operation it covers; 1 for a flush.
    pub(crate) length: u32,
    /// Delay of its completion.
    pub(crate) delay_ns: u64,
    pub(crate) fault: Option<Fault>,
}

impl Stack {
    /// One step of an operation on `node`: `offset` and `left` are its place and length in bytes.
    /// For a flush, they are its number and how many are left.
    #[inline]
    pub(crate) fn step(&self, node: u32, kind: OpKind, place: (u64, u32), random: &mut SplitMix64) -> Step {
        let (mut offset, mut length) = place;
        let mut node = node;
        let (mut delay_ns, mut fault) = (0, None);
        if kind.is_sync() {
            length = 1;
        }
        loop {
            let bottom = match &self.nodes[node as usize] {
                Node::Null => Bottom::Null,
                Node::Memory(_) => Bottom::Memory(node),
                Node::Leaf(leaf) => Bottom::Leaf(*leaf),
                Node::Delay { base, reads, writes } => {
                    delay_ns += match kind {
                        OpKind::Read => pick(reads, random),
                        OpKind::Write => pick(writes, random),
                        // SPDK delays no other operations.
                        _ => 0,
                    };
                    node = *base;
                    continue;
                }
                Node::Error { base, faults } => {
                    let own = faults.next(kind);
                    fault = fault.or(own.filter(|own| *own != Fault::NoMemory));
                    node = *base;
                    continue;
                }
                Node::Raid0 { bases, .. } if kind.is_sync() => {
                    for base in bases {
                        node = base.node;
                        if offset < u64::from(base.flushes) {
                            break;
                        }
                        offset -= u64::from(base.flushes);
                    }
                    continue;
                }
                Node::Raid0 { bases, strip_shift } => {
                    let (strip, within) = (offset >> strip_shift, offset & ((1 << strip_shift) - 1));
                    let count = bases.len() as u64;
                    length = u64::from(length).min((1 << strip_shift) - within) as u32;
                    offset = ((strip / count) << strip_shift) + within;
                    node = bases[(strip % count) as usize].node;
                    continue;
                }
                Node::Split { base, start } => {
                    // The number of a flush is not an offset.
                    offset += if kind.is_sync() { 0 } else { *start };
                    node = *base;
                    continue;
                }
            };
            return Step { bottom, offset, length, delay_ns, fault };
        }
    }
}

/// SPDK's rule: one operation in a hundred gets the longer delay.
fn pick(latency: &Latency, random: &mut SplitMix64) -> u64 {
    if random.below(100) == 0 { latency.p99_ns } else { latency.average_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A RAID of 4 KiB strips over leaf 0, the second MiB of leaf 1, and a delayed leaf 2.
    fn striped() -> Stack {
        let late = Latency { average_ns: 5, p99_ns: 5 };
        let base = |node| Base { node, flushes: 1 };
        let nodes = vec![
            Node::Leaf(0),
            Node::Leaf(1),
            Node::Split { base: 1, start: 1 << 20 },
            Node::Leaf(2),
            Node::Delay { base: 3, reads: late, writes: Latency { average_ns: 7, p99_ns: 7 } },
            Node::Raid0 { bases: [base(0), base(2), base(4)].into(), strip_shift: 12 },
        ];
        Stack { nodes, ..Stack::default() }
    }

    #[test]
    fn strips_go_round_the_bases() {
        let (stack, mut random) = (striped(), SplitMix64::new(1));
        let cases = [
            (0, 4096, 0, 0, 4096, 0),
            (0, 100_000, 0, 0, 4096, 0),
            (4096 + 512, 8192, 1, (1 << 20) + 512, 3584, 0),
            (2 * 4096, 512, 2, 0, 512, 5),
            (3 * 4096 + 1024, 1024, 0, 4096 + 1024, 1024, 0),
            (3_000_000 * 4096, 4096, 0, 1_000_000 * 4096, 4096, 0),
        ];
        for (offset, left, leaf, at, length, delay_ns) in cases {
            let step = stack.step(5, OpKind::Read, (offset, left), &mut random);
            let expected = Step { bottom: Bottom::Leaf(leaf), offset: at, length, delay_ns, fault: None };
            assert_eq!(step, expected, "{left} bytes at {offset}");
        }
    }

    #[test]
    fn every_base_is_flushed_once_and_without_delay() {
        let (stack, mut random) = (striped(), SplitMix64::new(1));
        let bottoms: Vec<Bottom> = (0..3)
            .map(|number| {
                let step = stack.step(5, OpKind::Sync, (number, 3), &mut random);
                assert_eq!((step.length, step.delay_ns), (1, 0));
                step.bottom
            })
            .collect();
        assert_eq!(bottoms, [Bottom::Leaf(0), Bottom::Leaf(1), Bottom::Leaf(2)]);
    }

    #[test]
    fn one_operation_in_a_hundred_is_late() {
        let (latency, mut random) = (Latency { average_ns: 1, p99_ns: 1000 }, SplitMix64::new(7));
        let late = (0..100_000).filter(|_| pick(&latency, &mut random) == 1000).count();
        assert!((800..1200).contains(&late), "{late} of 100000");
    }
}
