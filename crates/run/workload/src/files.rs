//! The file of the next operation.
//!
//! Files are numbered by their place in the plan. Only files with room for a block are served. At
//! most `open_files` are served at once; when one has ended, the next in the plan takes its place.

use iolab_plan::{FileService, FileServiceKind};

use crate::Extent;
use crate::distribution::{Cells, Normal, Pareto, Zipf};
use crate::random::{Generator, Role, derive};

/// Chooses files.
pub(crate) trait Files: Send {
    /// The file of the next operation; `None` when all have had their share.
    fn current(&mut self) -> Option<usize>;
    /// Records that an operation of `bytes` went to the current file.
    fn served(&mut self, bytes: u64);
    /// The current file is at its end.
    fn ended(&mut self) -> Ended;
    /// Begins a pass, or all files again within one.
    fn begin(&mut self, seed: u64);
    /// First byte of a file's extent.
    fn start_bytes(&self, file: usize) -> u64;
    /// The files served, in the order of the plan.
    fn list(&self) -> &[u32];
    /// Memory held.
    fn memory_bytes(&self) -> usize;
}

/// What to do when a file is at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Ask again: another file is current.
    Next,
    /// Begin the same file again.
    Again,
    /// No file is left.
    All,
}

/// A single file.
#[derive(Debug, Clone)]
pub(crate) struct SingleFile {
    pub(crate) file: [u32; 1],
    pub(crate) start_bytes: u64,
}

impl Files for SingleFile {
    #[inline]
    fn current(&mut self) -> Option<usize> {
        Some(self.file[0] as usize)
    }

    #[inline]
    fn served(&mut self, _bytes: u64) {}

    fn ended(&mut self) -> Ended {
        Ended::All
    }

    fn begin(&mut self, _seed: u64) {}

    #[inline]
    fn start_bytes(&self, _file: usize) -> u64 {
        self.start_bytes
    }

    fn list(&self) -> &[u32] {
        &self.file
    }

    fn memory_bytes(&self) -> usize {
        std::mem::size_of::<SingleFile>()
    }
}

/// Several files, served as the plan specifies.
#[derive(Debug)]
pub(crate) struct ServedFiles {
    list: Box<[u32]>,
    extents: Box<[Extent]>,
    choice: Choice,
    every: u32,
    window: usize,
    /// Files in use.
    live: Vec<u32>,
    /// Position in `list` of the next file to be used.
    waiting: usize,
    cursor: usize,
    /// Operations left before choosing again.
    left: u32,
    /// Bytes that each file has left, if only counting can end it.
    shares: Option<Box<[u64]>>,
    generator: Generator,
}

#[derive(Debug)]
enum Choice {
    InTurn,
    ToTheEnd,
    Random,
    Zipf(Cells<Zipf>),
    Pareto(Cells<Pareto>),
    Normal(Normal),
}

impl ServedFiles {
    /// With `endless`, the placement never ends a file by itself. Then a file that must make way
    /// for others ends when it has been served as many bytes as it is long.
    pub(crate) fn new(
        list: Vec<u32>,
        extents: &[Extent],
        service: &FileService,
        endless: bool,
    ) -> Result<ServedFiles, String> {
        let count = list.len() as u64;
        let choice = match service.kind {
            FileServiceKind::RoundRobin => Choice::InTurn,
            FileServiceKind::Sequential => Choice::ToTheEnd,
            FileServiceKind::Random => Choice::Random,
            FileServiceKind::Zipf(theta) => Choice::Zipf(Cells::new(Zipf::new(theta)?, count)),
            FileServiceKind::Pareto(h) => Choice::Pareto(Cells::new(Pareto::new(count, h)?, count)),
            FileServiceKind::Gauss(percent) => Choice::Normal(Normal::new(count, percent, 0.5)?),
        };
        let skewed = matches!(choice, Choice::Zipf(_) | Choice::Pareto(_) | Choice::Normal(_));
        let window = match service.open_files as usize {
            _ if skewed => list.len(),
            0 => list.len(),
            open => open.min(list.len()),
        };
        let window = if matches!(choice, Choice::ToTheEnd) { 1 } else { window };
        let counts = endless && window < list.len();
        let mut files = ServedFiles {
            live: Vec::with_capacity(window),
            shares: counts.then(|| vec![0; extents.len()].into_boxed_slice()),
            list: list.into_boxed_slice(),
            extents: extents.into(),
            choice,
            every: service.every.max(1),
            window,
            waiting: 0,
            cursor: 0,
            left: 0,
            generator: Generator::new(0),
        };
        files.begin(0);
        Ok(files)
    }

    #[inline]
    fn choose(&mut self) {
        self.left = self.every;
        let count = self.live.len() as u64;
        let generator = &mut self.generator;
        self.cursor = match &mut self.choice {
            Choice::InTurn if self.cursor + 1 < self.live.len() => self.cursor + 1,
            Choice::InTurn | Choice::ToTheEnd => 0,
            Choice::Random => generator.below(count) as usize,
            Choice::Zipf(zipf) => zipf.rank(generator) as usize,
            Choice::Pareto(pareto) => pareto.rank(generator) as usize,
            Choice::Normal(normal) => normal.draw(generator) as usize,
        };
    }

    /// Removes the current file; the next waiting one takes its place.
    fn replace(&mut self) -> Ended {
        if self.cursor >= self.live.len() {
            return Ended::All;
        }
        if let Some(file) = self.list.get(self.waiting) {
            self.live[self.cursor] = *file;
            self.waiting += 1;
            self.left = 0;
        } else {
            // The file behind it moves up and becomes the current one.
            self.live.remove(self.cursor);
            self.left = if matches!(self.choice, Choice::InTurn) { self.every } else { 0 };
            if self.cursor >= self.live.len() {
                self.cursor = 0;
            }
        }
        if self.live.is_empty() { Ended::All } else { Ended::Next }
    }
}

impl Files for ServedFiles {
    #[inline]
    fn current(&mut self) -> Option<usize> {
        if self.left == 0 {
            if self.live.is_empty() {
                return None;
            }
            self.choose();
        }
        self.live.get(self.cursor).map(|file| *file as usize)
    }

    #[inline]
    fn served(&mut self, bytes: u64) {
        self.left -= 1;
        let Some(shares) = &mut self.shares else { return };
        let Some(file) = self.live.get(self.cursor) else { return };
        let share = &mut shares[*file as usize];
        *share = share.saturating_sub(bytes);
        if *share == 0 {
            self.replace();
        }
    }

    fn ended(&mut self) -> Ended {
        match self.choice {
            Choice::Zipf(_) | Choice::Pareto(_) | Choice::Normal(_) => Ended::Again,
            _ => self.replace(),
        }
    }

    fn begin(&mut self, seed: u64) {
        self.generator = Generator::new(derive(seed, Role::File, 0));
        self.live.clear();
        self.live.extend_from_slice(&self.list[..self.window]);
        self.waiting = self.window;
        self.left = 0;
        // The first round-robin choice advances from here.
        self.cursor = self.window.saturating_sub(1);
        if let Some(shares) = &mut self.shares {
            for (share, extent) in shares.iter_mut().zip(&self.extents) {
                *share = extent.length_bytes;
            }
        }
    }

    #[inline]
    fn start_bytes(&self, file: usize) -> u64 {
        self.extents.get(file).map_or(0, |extent| extent.start_bytes)
    }

    fn list(&self) -> &[u32] {
        &self.list
    }
    fn memory_bytes(&self) -> usize {
        self.list.len() * 4
            + std::mem::size_of_val(&*self.extents)
            + self.live.capacity() * 4
            + self.shares.as_ref().map_or(0, |shares| shares.len() * 8)
    }
}
