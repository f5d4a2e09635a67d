//! The thread that has the file system, and the way to it.

use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use iolab_clock::Clock;
use iolab_disk::{BlockDevice, DiskOptions, Volatile, open_disk};
use iolab_executor::{Executor, ReadyOrder};
use iolab_image::{ImageAccess, ImageError, Lock};
use iolab_logfs::{Disk, Error, Layout, LocalVolume, OpenOptions, Placement, Runtime, open_volume};

use crate::doorway::{Closing, Doorway, Job, Queue};
use crate::{CallFailure, Location};

/// A file system on a thread of its own, and its image locked. It is closed when this is dropped.
#[derive(Debug)]
pub(crate) struct Service {
    queue: Arc<Queue>,
    layout: Layout,
    thread: Mutex<Option<JoinHandle<Result<(), Error>>>>,
}

impl Service {
    /// Locks and opens the image of a location.
    ///
    /// # Errors
    /// What speaks against it, with the image's path.
    pub(crate) fn start(location: &Location) -> Result<Service, CallFailure> {
        let lock = Lock::take(&location.image, ImageAccess::Write)?;
        let io = |what: &'static str| {
            let path = location.image.clone();
            move |source: std::io::Error| ImageError::Io { path, what, source }
        };
        let queue = Arc::new(Queue::new().map_err(|errno| io("making an eventfd")(errno.into()))?);
        let (opened, has_opened) = sync_channel(1);
        let (inside, place) = (Arc::clone(&queue), location.clone());
        let thread = std::thread::Builder::new().name("logfs".to_owned()).spawn(move || {
            let _lock = lock;
            // Whoever waits when this thread ends, however it ends, is told so.
            let _closing = Closing(Arc::clone(&inside));
            let mut room = match open(&place, &inside) {
                Ok((room, layout)) => {
                    let _gone = opened.send(Ok(layout));
                    room
                }
                Err(failure) => {
                    let _gone = opened.send(Err(failure));
                    return Ok(());
                }
            };
            room.serve()
        });
        let thread = thread.map_err(io("starting a thread"))?;
        let layout = has_opened.recv().unwrap_or_else(|_| Err(CallFailure::of(b"the image", &Error::Closed)))?;
        Ok(Service { queue, layout, thread: Mutex::new(Some(thread)) })
    }

    /// Sizes and numbers of the file system.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Does something with the file system, on its thread, and waits for the answer.
    ///
    /// # Errors
    /// Those of `work`, and [`Error::Closed`] when the thread has ended.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(LocalVolume) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, answered) = sync_channel(1);
        self.queue.post(Box::new(move |inside| {
            let fs = inside.fs.clone();
            // Whoever asked waits for it, unless its thread was torn away.
            inside.spawner.spawn(async move { drop(answer.send(work(fs).await)) });
        }));
        answered.recv().unwrap_or(Err(Error::Closed))
    }

    /// Does several things at once, and waits for all; the answers in their order.
    pub(crate) fn call_each<T, W>(&self, works: Vec<W>) -> Vec<Result<T, Error>>
    where
        T: Send + 'static,
        W: AsyncFnOnce(LocalVolume) -> Result<T, Error> + Send + 'static,
    {
        let (answer, answered) = channel();
        let mut answers: Vec<Result<T, Error>> = works.iter().map(|_| Err(Error::Closed)).collect();
        self.queue.post(Box::new(move |inside| {
            for (number, work) in works.into_iter().enumerate() {
                let (fs, answer) = (inside.fs.clone(), answer.clone());
                inside.spawner.spawn(async move { drop(answer.send((number, work(fs).await))) });
            }
        }));
        // Ends when every task has, or the thread.
        for (number, result) in answered {
            answers[number] = result;
        }
        answers
    }

    /// Does something with the file system at some time, if it is still open then.
    pub(crate) fn tell(&self, work: impl FnOnce(&LocalVolume) + Send + 'static) {
        self.queue.post(Box::new(move |inside| work(&inside.fs)));
    }

    /// Closes the file system, and waits until it is closed.
    ///
    /// # Errors
    /// [`Error::Failed`] when the device does not let it.
    pub(crate) fn close(&self) -> Result<(), Error> {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else { return Ok(()) };
        let close: Job = Box::new(|inside| inside.close());
        self.queue.post(close);
        thread.join().unwrap_or(Err(Error::Closed))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Who wants to know has asked by `close`; what no sync had made durable was not promised.
        let _failed = self.close();
    }
}

/// What the thread has to itself.
struct Room {
    executor: Executor,
    doorway: Doorway,
}

fn open(location: &Location, queue: &Arc<Queue>) -> Result<(Room, Layout), CallFailure> {
    let opening = DiskOptions::default();
    let failed = |source| ImageError::Io { path: location.image.clone(), what: "opening it", source };
    let (device, _notes) = open_disk(&location.image, &opening).map_err(failed)?;
    let device: Box<dyn BlockDevice> = match location.volatile {
        None => device,
        Some(seed) => Box::new(Volatile::new(device, seed)),
    };
    let disk = Disk::new(device);
    let mut executor = Executor::new(ReadyOrder::Fair);
    let runtime = Runtime { clock: Clock::monotonic(), spawner: executor.spawner() };
    let opened = executor.run(&mut disk.clone(), open_volume(&disk, OpenOptions::default(), runtime));
    let wrong = |source| ImageError::FileSystem { path: location.image.clone(), source };
    let (volume, _recovery) = opened.unwrap_or(Err(Error::Closed)).map_err(wrong)?;
    let layout = volume.layout();
    let fs = LocalVolume::try_from(volume.with_placement(Placement::LeastFull)).map_err(wrong)?;
    let doorway = Doorway::new(disk, Arc::clone(queue), fs, executor.spawner());
    Ok((Room { executor, doorway }, layout))
}

impl Room {
    /// Until somebody closes it.
    fn serve(&mut self) -> Result<(), Error> {
        let closed = self.doorway.closed();
        // The doorway never says that waiting would be for ever.
        let _stalled = self.executor.run(&mut self.doorway, closed);
        let fs = self.doorway.fs().into_volume();
        self.executor.run(&mut self.doorway, fs.close()).unwrap_or(Err(Error::Closed))
    }
}
