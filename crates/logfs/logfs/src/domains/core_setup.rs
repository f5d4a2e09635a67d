//! Opening all domains of a file system, on as many cores as there are.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::finish_resize;
use super::messages::{Answer, CoreDriver, Message, MessageReceiver, MessageSender};
use super::root::RootCopy;
use super::volume::{Answered, Volume};
use super::worker::{Work, Worker};
use crate::recovery::{OnLoss, Recovery, load, read_map};
use crate::{Disk, Error, LogFs, OpenOptions, Runtime, open};

/// What a core needs to take part in opening a file system. [`core_setups`] makes one for each
/// core; each is sent to its thread. If one is dropped without being opened, no core can open the
/// file system.
#[derive(Debug)]
pub struct CoreSetup(Option<Place>);

/// Number of a core, and its message channels.
#[derive(Debug)]
struct Place {
    number: usize,
    senders: Vec<MessageSender<Work>>,
    receiver: MessageReceiver<Work>,
}

/// Makes one setup for each core. All of them have to be opened: each waits for the others.
pub fn core_setups(cores: usize) -> Vec<CoreSetup> {
    let (senders, receivers): (Vec<MessageSender<Work>>, Vec<MessageReceiver<Work>>) =
        (0..cores).map(|_| MessageReceiver::new()).unzip();
    let setup = |(number, receiver)| CoreSetup(Some(Place { number, senders: senders.clone(), receiver }));
    receivers.into_iter().enumerate().map(setup).collect()
}

/// Opens a file system of any number of domains on this thread alone. The executor is driven by the
/// disk.
///
/// # Errors
/// As [`open()`](crate::open()), but any number of domains is accepted.
pub async fn open_volume(disk: &Disk, options: OpenOptions, runtime: Runtime) -> Result<(Volume, Recovery), Error> {
    let (sender, receiver) = MessageReceiver::new();
    Place { number: 0, senders: vec![sender], receiver }.open(disk, options, runtime).await
}

impl Drop for CoreSetup {
    fn drop(&mut self) {
        if let Some(place) = self.0.take() {
            place.refuse(Error::Closed);
        }
    }
}

impl CoreSetup {
    fn receiver(&self) -> &MessageReceiver<Work> {
        // Only opening takes the place out, and it consumes `self`.
        &self.0.as_ref().expect("a setup that was not opened").receiver
    }

    /// The driver for the executor of a core that has its thread to itself. Cores that share a
    /// thread, as in a simulation, use their disk as the driver.
    pub fn driver(&self, disk: &Disk) -> CoreDriver {
        self.receiver().driver(disk)
    }

    /// Calls a function for every message to this core, on the thread of the sender. For a core
    /// that also waits for other events, and therefore not in [`CoreSetup::driver`]. The function
    /// must not block; the executor that the domains were opened on must run soon after.
    pub fn call_on_messages(&self, call: impl Fn() + Send + Sync + 'static) {
        self.receiver().call_on_messages(Box::new(call));
    }

    /// Opens the domains of this core, waits for the other cores, and returns a handle to all
    /// domains. The disk is this core's own access to the device.
    ///
    /// # Errors
    /// As [`open()`](crate::open()). If a domain of another core cannot be opened, none is.
    pub async fn open(
        mut self,
        disk: &Disk,
        options: OpenOptions,
        runtime: Runtime,
    ) -> Result<(Volume, Recovery), Error> {
        self.0.take().ok_or(Error::Closed)?.open(disk, options, runtime).await
    }
}

impl Place {
    fn open(
        self,
        disk: &Disk,
        options: OpenOptions,
        runtime: Runtime,
    ) -> Answered<'_, Result<(Volume, Recovery), Error>> {
        Box::pin(async move {
            let (number, cores) = (self.number, self.senders.len());
            let (layout, owners) = match read_map(disk).await {
                Ok(found) => found,
                Err(error) => return Err(self.refuse(error)),
            };
            let (mut domains, mut refused) = (BTreeMap::new(), None);
            let mut recovery = Recovery { closed: true, ..Recovery::default() };
            for domain in (0..layout.domains).filter(|domain| *domain as usize % cores == number) {
                let opened = async {
                    let loaded = load(disk, layout, Rc::clone(&owners), domain, OnLoss::Refuse).await?;
                    finish_resize(disk, &layout).await?;
                    open::start(disk, options, runtime.clone(), loaded).await
                };
                match opened.await {
                    Ok((fs, found)) => {
                        domains.insert(domain, fs);
                        recovery.add(&found);
                    }
                    Err(error) => refused = Some(error),
                }
            }
            let worker =
                Rc::new(Worker::new(number, self.senders, self.receiver, layout, domains, runtime.spawner.clone()));
            runtime.spawner.spawn(Rc::clone(&worker).serve());
            let outcome = worker.call(0, async move |first: Rc<Worker>| first.gather(refused).await).await;
            match outcome {
                Ok(root) => {
                    *worker.root.borrow_mut() = root;
                    worker.all_have_the_root().await?;
                    Ok((Volume::new(worker), recovery))
                }
                Err(error) => {
                    for fs in worker.domains.values().cloned() {
                        // Report the first error.
                        let _second = LogFs::close(fs).await;
                    }
                    worker.stop();
                    Err(error)
                }
            }
        })
    }
}

impl Place {
    /// Tells the other cores, which wait, that this core cannot open its domains.
    fn refuse(self, error: Error) -> Error {
        let told = error.clone();
        let work: Work =
            Box::new(|first| Box::pin(async move { Box::new(first.gather(Some(told)).await.map(drop)) as Answer }));
        match self.senders.split_first() {
            Some((_, others)) if self.number == 0 => {
                others.iter().for_each(|sender| drop(sender.send(Message::Stop)));
            }
            Some((first, _)) => drop(first.send(Message::Request { from: self.number, token: 0, work })),
            None => {}
        }
        error
    }
}

impl Worker {
    /// On the first core: notes that a core has opened its domains, and waits for all cores.
    async fn gather(self: Rc<Self>, refused: Option<Error>) -> Result<RootCopy, Error> {
        let startup = &self.startup;
        if let Some(error) = refused {
            startup.refused.borrow_mut().get_or_insert(error);
        }
        startup.arrived.set(startup.arrived.get() + 1);
        if startup.arrived.get() == self.cores() {
            let refused = startup.refused.take();
            let outcome = match refused {
                Some(error) => Err(error),
                None => self.reconcile().await,
            };
            *startup.outcome.borrow_mut() = Some(outcome);
            startup.changed.notify();
        }
        startup.changed.until(|_| startup.outcome.borrow().clone()).await
    }

    /// Waits until every core has its copy of the root: from then on, changes reach all cores.
    async fn all_have_the_root(self: &Rc<Self>) -> Result<(), Error> {
        self.call(0, async |first: Rc<Worker>| {
            let startup = &first.startup;
            startup.settled.set(startup.settled.get() + 1);
            startup.changed.notify();
            let all = first.cores();
            startup.changed.until(|_| (startup.settled.get() == all).then_some(())).await;
            Ok(())
        })
        .await
    }
}
