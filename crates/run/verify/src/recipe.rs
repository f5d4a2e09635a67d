//! Fills and checks blocks.

use std::fmt;

use iolab_plan::{BufferPlan, VerifyKind, VerifyPlan};

use crate::content::{Content, Origin};
use crate::diagnosis::{BlockDamage, Interval, WantedContent, diagnose};
use crate::header::{self, FIXED_BYTES, Header, REGENERABLE};
use crate::kind::{LONGEST, digest, digest_bytes, header_bytes, is_weak};
use crate::known_sums::KnownSums;
use crate::pattern;

/// How the intervals of one worker are made and checked.
#[derive(Debug, Clone)]
pub struct Recipe {
    plan: VerifyPlan,
    content: Content,
    plain: Content,
    header_bytes: usize,
    /// Known sums, which make CRC-32C of plain content cheap, if the header is at the front.
    known: Option<&'static KnownSums>,
    job: u16,
    run: u64,
}

fn origin_of(header: &Header) -> Origin {
    let Header { seed, run, offset, generation, .. } = *header;
    Origin { seed, run, offset, generation }
}

/// Why an interval does not have its expected content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// There is no whole header.
    NoHeader,
    /// A field of the header differs.
    Field {
        /// Its name.
        name: &'static str,
        /// The expected value.
        wanted: u64,
        /// The value found.
        found: u64,
    },
    /// The checksum in the header does not match the data.
    Checksum {
        /// From the header, hexadecimal.
        wanted: String,
        /// From the data, hexadecimal.
        found: String,
    },
    /// The first byte that differs from the expected content.
    Content {
        /// Its offset in the file.
        offset: u64,
        /// The expected byte.
        wanted: u8,
        /// The byte found.
        found: u8,
    },
}

/// An interval without its expected content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Its place.
    pub interval: Interval,
    /// Its length, bytes.
    pub length: u32,
    /// The first reason found.
    pub why: Why,
    /// The expected content.
    pub wanted: WantedContent,
    /// The header found.
    pub found: Option<Header>,
    /// The kind of damage.
    pub damage: BlockDamage,
}

impl Recipe {
    /// The recipe of a worker: its options, its buffers, its number, and when the run began (ns
    /// since 1970).
    pub fn new(plan: &VerifyPlan, buffers: &BufferPlan, job: u32, run: u64) -> Recipe {
        let content = Content::new(buffers);
        let mut plan = plan.clone();
        // Two names of one checksum.
        if plan.kind == VerifyKind::Crc32cIntel {
            plan.kind = VerifyKind::Crc32c;
        }
        let has_known_sums = plan.kind == VerifyKind::Crc32c && plan.header_offset_bytes == 0;
        let known = has_known_sums.then(KnownSums::get);
        Recipe {
            header_bytes: header_bytes(plan.kind),
            known,
            plan,
            plain: Content::plain(),
            content,
            job: job as u16,
            run,
        }
    }

    /// Bytes of an interval.
    pub fn interval_bytes(&self) -> u64 {
        self.plan.interval_bytes
    }

    /// Whether a piece of this number of bytes has room for a header.
    pub fn fits(&self, bytes: u64) -> bool {
        bytes >= self.plan.header_offset_bytes + self.header_bytes as u64
    }

    /// Fills one interval.
    #[inline]
    pub fn fill(&self, at: Interval, generation: u32, sequence: u64, time_ns: u64, out: &mut [u8]) {
        let origin = self.origin(at, generation);
        let known = self.known.filter(|_| self.content.is_plain() && KnownSums::covers(out.len()));
        let mut sum = [0; LONGEST];
        match (known, self.plan.kind) {
            (Some(known), _) => sum[..4].copy_from_slice(&known.fill(&origin, out).to_le_bytes()),
            (None, VerifyKind::Pattern | VerifyKind::PatternHdr) => self.fill_pattern(at, out),
            (None, _) => self.content.fill(&origin, out),
        }
        let from = self.plan.header_offset_bytes as usize;
        if self.header_bytes == 0 || out.len() < from + self.header_bytes {
            return;
        }
        let header = Header {
            length: out.len() as u32,
            kind: self.plan.kind,
            flags: if self.content.is_plain() { REGENERABLE } else { 0 },
            job: self.job,
            offset: at.offset,
            seed: self.plan.seed,
            sequence,
            generation,
            file: at.file,
            time_ns,
            run: self.run,
        };
        if known.is_none() {
            digest(self.plan.kind, self.outside(out), &mut sum);
        }
        let place = &mut out[from..from + self.header_bytes];
        let length = self.header_bytes - FIXED_BYTES;
        place[FIXED_BYTES..].copy_from_slice(&sum[..length]);
        header.put(place);
    }

    fn origin(&self, at: Interval, generation: u32) -> Origin {
        Origin { seed: self.plan.seed, run: self.run, offset: at.offset, generation }
    }

    fn fill_pattern(&self, at: Interval, out: &mut [u8]) {
        if let Some(bytes) = &self.plan.pattern {
            pattern::fill(bytes, self.plan.pattern_interval_bytes, at.offset, out);
        }
    }

    /// The bytes in front of the header and behind it.
    #[inline]
    fn outside<'a>(&self, bytes: &'a [u8]) -> [&'a [u8]; 2] {
        let from = self.plan.header_offset_bytes as usize;
        [&bytes[..from], &bytes[from + self.header_bytes..]]
    }

    /// Checks one interval, or the part of it that was read.
    ///
    /// # Errors
    /// The mismatch, with its kind of damage.
    #[inline]
    pub fn check(&self, at: Interval, wanted: WantedContent, found: &[u8]) -> Result<(), Box<Mismatch>> {
        let why = match (wanted, self.plan.kind) {
            (WantedContent::Zeroes, _) => zeroes(at, found),
            (_, VerifyKind::Null) => Ok(()),
            (_, VerifyKind::Pattern) => self.check_pattern(at, found, found.len()),
            _ => self.check_headed(at, wanted, found),
        };
        why.map_err(|why| self.mismatch(at, wanted, found, why))
    }

    #[inline]
    fn check_headed(&self, at: Interval, wanted: WantedContent, found: &[u8]) -> Result<(), Why> {
        let from = self.plan.header_offset_bytes as usize;
        if found.len() < from + self.header_bytes {
            // There is no room for a header here, and nothing is known about the content.
            return Ok(());
        }
        let header = Header::get(&found[from..]).ok_or(Why::NoHeader)?;
        let field = |name, wanted: u64, found: u64| {
            if wanted == found { Ok(()) } else { Err(Why::Field { name, wanted, found }) }
        };
        field("kind", self.plan.kind as u64, header.kind as u64)?;
        field("offset", at.offset, header.offset)?;
        let shorter = self.plan.partial && self.fits(u64::from(header.length)) && header.length as usize <= found.len();
        if !shorter {
            field("length", found.len() as u64, u64::from(header.length))?;
        }
        if let WantedContent::Generation(generation) | WantedContent::EarlierRun(generation) = wanted {
            if self.plan.checks_seed {
                field("seed", self.plan.seed, header.seed)?;
            }
            if self.plan.checks_sequence {
                if matches!(wanted, WantedContent::Generation(_)) {
                    field("run", self.run, header.run)?;
                }
                field("generation", u64::from(generation), u64::from(header.generation))?;
            }
        }
        let found = &found[..header.length as usize];
        if self.is_known(&header, found) {
            return Ok(());
        }
        let mut sum = [0; LONGEST];
        digest(self.plan.kind, self.outside(found), &mut sum);
        let length = digest_bytes(self.plan.kind);
        let written = &found[from + FIXED_BYTES..from + FIXED_BYTES + length];
        if sum[..length] != *written {
            return Err(Why::Checksum { wanted: hex(written), found: hex(&sum[..length]) });
        }
        if self.plan.kind == VerifyKind::PatternHdr {
            self.check_pattern(at, found, found.len())?;
        } else if is_weak(self.plan.kind) && header.flags & REGENERABLE != 0 {
            self.check_content(at, &header, found)?;
        }
        Ok(())
    }

    /// Whether the content follows from the header's fields. If it does, the checksum is right too,
    /// because the header's own checksum covers it. If it does not, the checksum decides.
    #[inline]
    fn is_known(&self, header: &Header, found: &[u8]) -> bool {
        let Some(known) = self.known.filter(|_| header.flags & REGENERABLE != 0) else { return false };
        KnownSums::covers(found.len()) && known.is_there(&origin_of(header), found)
    }

    fn check_pattern(&self, at: Interval, found: &[u8], length: usize) -> Result<(), Why> {
        let mut wanted = vec![0; length];
        self.fill_pattern(at, &mut wanted);
        self.same(at, found, &mut wanted)
    }

    fn check_content(&self, at: Interval, header: &Header, found: &[u8]) -> Result<(), Why> {
        let mut wanted = vec![0; found.len()];
        self.regenerate(header, &mut wanted);
        self.same(at, found, &mut wanted)
    }

    /// Compares all but the header.
    fn same(&self, at: Interval, found: &[u8], wanted: &mut [u8]) -> Result<(), Why> {
        let from = self.plan.header_offset_bytes as usize;
        let headed = from..(from + self.header_bytes).min(found.len());
        if headed.start < headed.end {
            wanted[headed.clone()].copy_from_slice(&found[headed]);
        }
        if found == wanted {
            return Ok(());
        }
        let place = found.iter().zip(&*wanted).position(|(found, wanted)| found != wanted).unwrap_or(0);
        Err(Why::Content { offset: at.offset + place as u64, wanted: wanted[place], found: found[place] })
    }

    fn regenerate(&self, header: &Header, out: &mut [u8]) {
        self.plain.fill(&origin_of(header), out);
    }

    /// Whether blocks of this kind have headers.
    pub(crate) fn has_headers(&self) -> bool {
        self.header_bytes > 0
    }

    /// The range of an interval's header.
    pub(crate) fn header_place(&self) -> std::ops::Range<usize> {
        let from = self.plan.header_offset_bytes as usize;
        from..from + self.header_bytes
    }

    /// The header found, if it is whole and of this kind.
    pub(crate) fn header_of(&self, found: &[u8]) -> Option<Header> {
        let header = found.get(self.header_place().start..).filter(|_| self.has_headers()).and_then(Header::get);
        header.filter(|header| header.kind == self.plan.kind)
    }

    /// Fills an interval as the writer of the header would have, in another generation.
    pub(crate) fn fill_as(&self, header: &Header, at: Interval, generation: u32, out: &mut [u8]) {
        let mut writer = self.clone();
        (writer.plan.seed, writer.run, writer.job) = (header.seed, header.run, header.job);
        writer.fill(at, generation, header.sequence, header.time_ns, out);
    }

    #[cold]
    pub(crate) fn mismatch(&self, at: Interval, wanted: WantedContent, found: &[u8], why: Why) -> Box<Mismatch> {
        let from = self.plan.header_offset_bytes as usize;
        let header = found.get(from..).filter(|_| self.header_bytes > 0).and_then(Header::get);
        let must = self.must_be(at, wanted, found);
        let stamps = self.header_bytes > 0 && self.content.has_stamps() && self.plan.kind != VerifyKind::PatternHdr;
        let origin = stamps.then(|| self.origin_wanted(at, wanted, header.as_ref()));
        let damage = diagnose(at, wanted, found, must.as_deref(), header.as_ref(), origin.flatten());
        Box::new(Mismatch { interval: at, length: found.len() as u32, why, wanted, found: header, damage })
    }

    fn origin_wanted(&self, at: Interval, wanted: WantedContent, found: Option<&Header>) -> Option<Origin> {
        match wanted {
            WantedContent::Generation(generation) => Some(self.origin(at, generation)),
            WantedContent::EarlierRun(generation) => {
                found.map(|header| Origin { run: header.run, ..self.origin(at, generation) })
            }
            WantedContent::Valid => found.map(|header| Origin {
                seed: header.seed,
                run: header.run,
                offset: at.offset,
                generation: header.generation,
            }),
            WantedContent::Zeroes => None,
        }
    }

    /// The expected bytes; values that cannot be known (times, sequence numbers) are copied from
    /// the found ones. `None` if too little is known.
    pub fn must_be(&self, at: Interval, wanted: WantedContent, found: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = vec![0; found.len()];
        if wanted == WantedContent::Zeroes {
            return Some(bytes);
        }
        if self.plan.kind == VerifyKind::Pattern {
            self.fill_pattern(at, &mut bytes);
            return Some(bytes);
        }
        let place = found.get(self.plan.header_offset_bytes as usize..);
        let header = place.and_then(Header::get);
        let origin = self.origin_wanted(at, wanted, header.as_ref())?;
        let (sequence, time_ns) = place.and_then(header::sequence_and_time).unwrap_or_default();
        let mut writer = self.clone();
        (writer.plan.seed, writer.run) = (origin.seed, origin.run);
        if let Some(header) = header.filter(|header| header.offset == at.offset) {
            writer.job = header.job;
        }
        writer.fill(at, origin.generation, sequence, time_ns, &mut bytes);
        Some(bytes)
    }
}

fn zeroes(at: Interval, found: &[u8]) -> Result<(), Why> {
    match found.iter().position(|byte| *byte != 0) {
        None => Ok(()),
        Some(place) => Err(Why::Content { offset: at.offset + place as u64, wanted: 0, found: found[place] }),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Display for Why {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::NoHeader => text.write_str("there is no header"),
            Why::Field { name, wanted, found } => write!(text, "{name} of the header wanted {wanted}, found {found}"),
            Why::Checksum { wanted, found } => write!(text, "checksum wanted {wanted}, found {found}"),
            Why::Content { offset, wanted, found } => {
                write!(text, "byte at {offset} wanted {wanted:#04x}, found {found:#04x}")
            }
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            text,
            "offset {}, length {}: {}; it looks like {}",
            self.interval.offset, self.length, self.why, self.damage
        )?;
        match &self.found {
            Some(header) => write!(text, "; header found: {header}"),
            None => Ok(()),
        }
    }
}
