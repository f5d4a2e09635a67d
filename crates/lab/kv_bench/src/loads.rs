//! What the threads of each benchmark do, operation by operation.

use iolab_kv::{Batch, Durability, Seek, Store, StoreError, Way};
use iolab_random::Mersenne64;

use crate::benchmarks::{Load, Order, Ycsb};
use crate::keys::{Numbers, Zipf, blank_key, put_key, unit};
use crate::meter::{Meter, SCAN_STEPS};
use crate::result::{Direction, ThreadResult};
use crate::settings::Distribution;
use crate::values::Values;

/// Steps of a scan of YCSB E, at most.
const LONGEST_SCAN: u64 = 100;
/// Theta of YCSB's key distribution.
const YCSB_THETA: f64 = 0.99;

/// The parameters of a thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task {
    pub(crate) load: Load,
    pub(crate) num: u64,
    pub(crate) key_size: usize,
    pub(crate) value_size: usize,
    pub(crate) compression_ratio: f64,
    pub(crate) seed: u64,
    pub(crate) distribution: Distribution,
    pub(crate) durability: Durability,
    pub(crate) batch_size: u64,
    pub(crate) read_percent: u64,
    pub(crate) seek_nexts: u64,
    pub(crate) back: bool,
}

/// A thread at work.
struct Loader<'a> {
    task: Task,
    store: &'a dyn Store,
    meter: Meter<'a>,
    key: Vec<u8>,
    values: Values,
    found: u64,
    asked: u64,
    put_bytes: u64,
}

/// What a thread needs at hand before its time begins.
#[derive(Debug)]
pub(crate) struct Prepared {
    task: Task,
    key: Vec<u8>,
    values: Values,
}

impl Prepared {
    pub(crate) fn new(task: Task) -> Prepared {
        let size = if task.load == Load::Get(true) { task.key_size + 1 } else { task.key_size };
        Prepared { task, key: blank_key(size), values: Values::new(task.value_size, task.compression_ratio) }
    }
}

/// Performs the task until its meter ends it.
pub(crate) fn work(prepared: Prepared, store: &dyn Store, meter: Meter<'_>) -> Result<ThreadResult, StoreError> {
    let Prepared { task, key, values } = prepared;
    let mut loader = Loader { task, store, meter, key, values, found: 0, asked: 0, put_bytes: 0 };
    match task.load {
        Load::Fill(order) if task.batch_size > 1 => loader.fill_by_batches(order)?,
        Load::Fill(order) => loader.fill(order)?,
        Load::Scan(back) => loader.scan(back)?,
        Load::Get(_) => loader.get()?,
        Load::Mixed => loader.mix()?,
        Load::Update => loader.update()?,
        Load::Seek => loader.seek()?,
        Load::Delete(order) => loader.delete(order)?,
        Load::Ycsb(mix) => loader.ycsb(mix)?,
        Load::Once(_) => {}
    }
    let (found, asked, put_bytes) = (loader.found, loader.asked, loader.put_bytes);
    Ok(ThreadResult { found, asked, put_bytes, ..loader.meter.finish() })
}

impl Loader<'_> {
    fn numbers(&self, order: Order) -> Numbers {
        Numbers::new(order, self.task.distribution, self.task.num, self.task.seed)
    }

    fn entry_bytes(&self) -> u64 {
        (self.task.key_size + self.task.value_size) as u64
    }

    fn fill(&mut self, order: Order) -> Result<(), StoreError> {
        let mut numbers = self.numbers(order);
        let bytes = self.entry_bytes();
        while self.meter.more() {
            put_key(&mut self.key, numbers.next());
            self.put()?;
            self.meter.done(Direction::Write, bytes);
        }
        Ok(())
    }

    /// An operation is a batch here, too; its bytes are those of all its puts.
    fn fill_by_batches(&mut self, order: Order) -> Result<(), StoreError> {
        let mut numbers = self.numbers(order);
        let mut batch = Batch::new();
        while self.meter.more() {
            batch.clear();
            let puts = self.task.batch_size.min(self.task.num);
            for _ in 0..puts {
                put_key(&mut self.key, numbers.next());
                batch.put(&self.key, self.values.next());
            }
            self.store.write(&batch, self.task.durability)?;
            self.put_bytes += puts * self.entry_bytes();
            self.meter.done(Direction::Write, puts * self.entry_bytes());
        }
        Ok(())
    }

    fn scan(&mut self, back: bool) -> Result<(), StoreError> {
        let (from, way) = if back { (Seek::Last, Way::Back) } else { (Seek::First, Way::Forward) };
        let mut cursor = self.store.cursor()?;
        cursor.seek(from)?;
        while self.meter.more() {
            let (mut steps, mut bytes) = (0, 0);
            let most = SCAN_STEPS.min(self.meter.left());
            while steps < most {
                let Some((key, value)) = cursor.entry() else { break };
                bytes += (key.len() + value.len()) as u64;
                steps += 1;
                cursor.step(way)?;
            }
            self.meter.done_many(steps, bytes);
            if steps < most {
                break;
            }
        }
        Ok(())
    }

    /// One lookup; the bytes of key and value.
    #[inline]
    fn look_up(&mut self) -> Result<u64, StoreError> {
        let mut length = 0;
        let found = self.store.get(&self.key, &mut |value| length = value.len())?;
        self.asked += 1;
        self.found += u64::from(found);
        Ok(if found { (self.key.len() + length) as u64 } else { 0 })
    }

    fn get(&mut self) -> Result<(), StoreError> {
        let mut numbers = self.numbers(Order::Random);
        while self.meter.more() {
            put_key(&mut self.key, numbers.next());
            let bytes = self.look_up()?;
            self.meter.done(Direction::Read, bytes);
        }
        Ok(())
    }

    #[inline]
    fn put(&mut self) -> Result<(), StoreError> {
        self.put_bytes += (self.task.key_size + self.task.value_size) as u64;
        self.store.put(&self.key, self.values.next(), self.task.durability)
    }

    /// Reads first, then writes, a hundred operations in turn.
    fn mix(&mut self) -> Result<(), StoreError> {
        let mut numbers = self.numbers(Order::Random);
        let bytes = self.entry_bytes();
        let mut turn = 0;
        while self.meter.more() {
            put_key(&mut self.key, numbers.next());
            if turn < self.task.read_percent {
                let bytes = self.look_up()?;
                self.meter.done(Direction::Read, bytes);
            } else {
                self.put()?;
                self.meter.done(Direction::Write, bytes);
            }
            turn = (turn + 1) % 100;
        }
        Ok(())
    }

    fn update(&mut self) -> Result<(), StoreError> {
        let mut numbers = self.numbers(Order::Random);
        let bytes = self.entry_bytes();
        while self.meter.more() {
            put_key(&mut self.key, numbers.next());
            let read = self.look_up()?;
            self.put()?;
            self.meter.done(Direction::Write, read + bytes);
        }
        Ok(())
    }

    fn seek(&mut self) -> Result<(), StoreError> {
        let mut numbers = self.numbers(Order::Random).without_skips();
        let way = if self.task.back { Way::Back } else { Way::Forward };
        while self.meter.more() {
            put_key(&mut self.key, numbers.next());
            let (hit, bytes) = self.scan_from(self.task.seek_nexts, way)?;
            self.asked += 1;
            self.found += u64::from(hit);
            self.meter.done(Direction::Read, bytes);
        }
        Ok(())
    }

    /// Makes a new cursor, seeks to the key and takes some steps. Returns whether the key exists,
    /// and the bytes stepped over.
    fn scan_from(&self, steps: u64, way: Way) -> Result<(bool, u64), StoreError> {
        let mut cursor = self.store.cursor()?;
        cursor.seek(Seek::AtLeast(&self.key))?;
        let hit = cursor.entry().is_some_and(|(key, _)| key == self.key);
        let mut bytes = 0;
        for _ in 0..steps {
            let Some((key, value)) = cursor.entry() else { break };
            bytes += (key.len() + value.len()) as u64;
            cursor.step(way)?;
        }
        Ok((hit, bytes))
    }

    fn delete(&mut self, order: Order) -> Result<(), StoreError> {
        let mut numbers = self.numbers(order);
        while self.meter.more() {
            put_key(&mut self.key, numbers.next());
            self.store.delete(&self.key, self.task.durability)?;
            // It moves no data.
            self.meter.done(Direction::Delete, 0);
        }
        Ok(())
    }

    /// New keys of this thread lie above all others, in a range of their own.
    fn ycsb(&mut self, mix: Ycsb) -> Result<(), StoreError> {
        let mut random = Mersenne64::new(self.task.seed);
        let zipf = Zipf::new(self.task.num, YCSB_THETA);
        let entry = self.entry_bytes();
        let first_new = self.task.num + (self.task.seed % (1 << 20)) * self.task.num;
        let mut inserted = 0_u64;
        while self.meter.more() {
            let existing = match mix.latest {
                false => zipf.scattered(unit(random.next())),
                true => latest(zipf.rank(unit(random.next())), inserted, first_new, self.task.num),
            };
            put_key(&mut self.key, existing);
            let choice = random.next() % 100;
            if choice < mix.updates {
                self.put()?;
                self.meter.done(Direction::Write, entry);
            } else if choice < mix.updates + mix.inserts {
                put_key(&mut self.key, first_new + inserted);
                inserted += 1;
                self.put()?;
                self.meter.done(Direction::Write, entry);
            } else if choice < mix.updates + mix.inserts + mix.scans {
                let (_, bytes) = self.scan_from(random.next() % LONGEST_SCAN, Way::Forward)?;
                self.meter.done(Direction::Read, bytes);
            } else if choice < mix.updates + mix.inserts + mix.scans + mix.read_modify_writes {
                self.look_up()?;
                self.put()?;
                self.meter.done(Direction::Write, entry);
            } else {
                let bytes = self.look_up()?;
                self.meter.done(Direction::Read, bytes);
            }
        }
        Ok(())
    }
}

/// The key that is `age` younger than the newest: those inserted by this thread, then the highest
/// of those that were there.
fn latest(age: u64, inserted: u64, first_new: u64, num: u64) -> u64 {
    match inserted.checked_sub(age + 1) {
        Some(number) => first_new + number,
        None => num.saturating_sub(age - inserted + 1).min(num - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_keys_are_the_inserted_ones_then_the_highest() {
        assert_eq!(latest(0, 0, 1000, 100), 99);
        assert_eq!(latest(3, 0, 1000, 100), 96);
        assert_eq!(latest(0, 5, 1000, 100), 1004);
        assert_eq!(latest(4, 5, 1000, 100), 1000);
        assert_eq!(latest(5, 5, 1000, 100), 99);
        assert_eq!(latest(500, 5, 1000, 100), 0);
    }
}
