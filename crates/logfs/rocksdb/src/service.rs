//! The thread that owns the file system, and the interface to it.

use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use iolab_clock::Clock;
use iolab_disk::{BlockDevice, DiskOptions, Volatile, open_disk};
use iolab_executor::{Executor, ReadyOrder};
use iolab_image::{ImageAccess, ImageError, Lock};
use iolab_logfs::{Disk, Error, Layout, LocalVolume, OpenOptions, Placement, Runtime, open_volume};

use crate::requests::{Closing, Queue, Request, RequestDriver};
use crate::{CallFailure, Location};

/// A file system on a thread of its own, with its image locked. Dropping this closes it.
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
    /// Why it cannot be opened, with the image's path.
    pub(crate) fn start(location: &Location) -> Result<Service, CallFailure> {
        let lock = Lock::take(&location.image, ImageAccess::Write)?;
        let io = |what: &'static str| {
            let path = location.image.clone();
            move |source: std::io::Error| ImageError::Io { path, what, source }
        };
        let queue = Arc::new(Queue::new().map_err(|errno| io("making an eventfd")(errno.into()))?);
        let (opened, has_opened) = sync_channel(1);
        let (queue_of_thread, place) = (Arc::clone(&queue), location.clone());
        let thread = std::thread::Builder::new().name("logfs".to_owned()).spawn(move || {
            let _lock = lock;
            // Whoever waits when this thread ends, for any reason, gets an error.
            let _closing = Closing(Arc::clone(&queue_of_thread));
            let mut service = match open(&place, &queue_of_thread) {
                Ok((service, layout)) => {
                    let _gone = opened.send(Ok(layout));
                    service
                }
                Err(failure) => {
                    let _gone = opened.send(Err(failure));
                    return Ok(());
                }
            };
            service.serve()
        });
        let thread = thread.map_err(io("starting a thread"))?;
        let layout = has_opened.recv().unwrap_or_else(|_| Err(CallFailure::of(b"the image", &Error::Closed)))?;
        Ok(Service { queue, layout, thread: Mutex::new(Some(thread)) })
    }

    /// Sizes and numbers of the file system.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Runs some work with the file system on its thread, and waits for the result.
    ///
    /// # Errors
    /// Those of `work`, and [`Error::Closed`] when the thread has ended.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(LocalVolume) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (answer, answered) = sync_channel(1);
        self.queue.post(Box::new(move |context| {
            let fs = context.fs.clone();
            // The caller waits for the result, unless its thread has been killed.
            context.spawner.spawn(async move { drop(answer.send(work(fs).await)) });
        }));
        answered.recv().unwrap_or(Err(Error::Closed))
    }

    /// Runs several works concurrently, and waits for all; the results are in the same order.
    pub(crate) fn call_each<T, W>(&self, works: Vec<W>) -> Vec<Result<T, Error>>
    where
        T: Send + 'static,
        W: AsyncFnOnce(LocalVolume) -> Result<T, Error> + Send + 'static,
    {
        let (answer, answered) = channel();
        let mut answers: Vec<Result<T, Error>> = works.iter().map(|_| Err(Error::Closed)).collect();
        self.queue.post(Box::new(move |context| {
            for (number, work) in works.into_iter().enumerate() {
                let (fs, answer) = (context.fs.clone(), answer.clone());
                context.spawner.spawn(async move { drop(answer.send((number, work(fs).await))) });
            }
        }));
        // Ends when every task has ended, or the thread.
        for (number, result) in answered {
            answers[number] = result;
        }
        answers
    }

    /// Runs some work with the file system later, if it is still open then.
    pub(crate) fn tell(&self, work: impl FnOnce(&LocalVolume) + Send + 'static) {
        self.queue.post(Box::new(move |context| work(&context.fs)));
    }

    /// Closes the file system, and waits until it is closed.
    ///
    /// # Errors
    /// [`Error::Failed`] when the device fails.
    pub(crate) fn close(&self) -> Result<(), Error> {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else { return Ok(()) };
        let close: Request = Box::new(|context| context.close());
        self.queue.post(close);
        thread.join().unwrap_or(Err(Error::Closed))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // A caller who needs the result has called `close`; what no sync had made durable was not
        // promised.
        let _failed = self.close();
    }
}

/// The state that only the thread uses.
struct ServiceThread {
    executor: Executor,
    driver: RequestDriver,
}

fn open(location: &Location, queue: &Arc<Queue>) -> Result<(ServiceThread, Layout), CallFailure> {
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
    let driver = RequestDriver::new(disk, Arc::clone(queue), fs, executor.spawner());
    Ok((ServiceThread { executor, driver }, layout))
}

impl ServiceThread {
    /// Serves until the service is closed.
    fn serve(&mut self) -> Result<(), Error> {
        let closed = self.driver.closed();
        // The driver never reports that waiting would take forever.
        let _stalled = self.executor.run(&mut self.driver, closed);
        let fs = self.driver.fs().into_volume();
        self.executor.run(&mut self.driver, fs.close()).unwrap_or(Err(Error::Closed))
    }
}
