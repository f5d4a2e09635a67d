//! Opening all domains of a file system, on as many cores as there are.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use iolab_clock::Clock;
use iolab_executor::{Event, Spawner};

use super::finish_resize;
use super::mail::{CoreDriver, Job, Letter, Mailbox, Slit, Value};
use super::root::RootCopy;
use super::volume::Volume;
use super::worker::Worker;
use crate::recovery::{OnLoss, Recovery, load, read_map};
use crate::{Disk, Error, LogFs, OpenOptions, open};

/// What a core needs to take part in opening a file system: made for all cores at once by
/// [`seats`], and sent to their threads.
#[derive(Debug)]
pub struct Seat {
    number: usize,
    slits: Vec<Slit>,
    mailbox: Mailbox,
}

/// One seat for each core. All have to be opened: each waits for the others.
pub fn seats(cores: usize) -> Vec<Seat> {
    let (slits, mailboxes): (Vec<Slit>, Vec<Mailbox>) = (0..cores).map(|_| Mailbox::new()).unzip();
    let seat = |(number, mailbox)| Seat { number, slits: slits.clone(), mailbox };
    mailboxes.into_iter().enumerate().map(seat).collect()
}

/// Opens a file system of any number of domains on this thread alone. The executor is driven by the
/// disk.
///
/// # Errors
/// As [`open()`](crate::open()), but for the number of domains.
pub async fn open_volume(
    disk: &Disk,
    options: OpenOptions,
    context: (Clock, Spawner),
) -> Result<(Volume, Recovery), Error> {
    let (slit, mailbox) = Mailbox::new();
    Seat { number: 0, slits: vec![slit], mailbox }.open(disk, options, context).await
}

/// Who has come, on the first core; the others wait for what becomes of it.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    arrived: Cell<usize>,
    settled: Cell<usize>,
    refused: RefCell<Option<Error>>,
    outcome: RefCell<Option<Result<RootCopy, Error>>>,
    changed: Event,
}

impl Seat {
    /// What drives the executor of a core that has its thread to itself. Cores that share a thread,
    /// as in a simulation, are driven by their disk.
    pub fn driver(&self, disk: &Disk) -> CoreDriver {
        self.mailbox.driver(disk)
    }

    /// Opens the domains of this core, waits for the other cores, and answers a handle to all
    /// domains. The disk is this core's own way to the device.
    ///
    /// # Errors
    /// As [`open()`](crate::open()), also when a domain of another core cannot be opened: then none
    /// is.
    pub async fn open(
        self,
        disk: &Disk,
        options: OpenOptions,
        (clock, spawner): (Clock, Spawner),
    ) -> Result<(Volume, Recovery), Error> {
        let (number, cores) = (self.number, self.slits.len());
        let (layout, owners) = match read_map(disk).await {
            Ok(found) => found,
            Err(error) => return Err(self.refuse(error)),
        };
        let (mut domains, mut refused) = (BTreeMap::new(), None);
        let mut recovery = Recovery { closed: true, ..Recovery::default() };
        for domain in (0..layout.domains).filter(|domain| *domain as usize % cores == number) {
            let opened = async {
                let loaded = load(disk, (layout, Rc::clone(&owners)), domain, OnLoss::Refuse).await?;
                finish_resize(disk, &layout).await?;
                open::start(disk, options, (clock.clone(), spawner.clone()), loaded).await
            };
            match opened.await {
                Ok((fs, found)) => {
                    domains.insert(domain, fs);
                    recovery.add(&found);
                }
                Err(error) => refused = Some(error),
            }
        }
        let mailbox = (number, self.slits, self.mailbox);
        let worker = Rc::new(Worker::new(mailbox, layout, domains, spawner.clone()));
        spawner.spawn(Rc::clone(&worker).serve());
        let outcome = worker.call(0, async move |first: Rc<Worker>| first.gather(refused).await).await;
        match outcome {
            Ok(root) => {
                *worker.root.borrow_mut() = root;
                worker.all_have_the_root().await?;
                Ok((Volume::new(worker), recovery))
            }
            Err(error) => {
                for fs in worker.domains.values().cloned() {
                    // The first error is the one to tell.
                    let _second = LogFs::close(fs).await;
                }
                worker.stop();
                Err(error)
            }
        }
    }
}

impl Seat {
    /// Tells the others, who wait, that this core cannot open anything.
    fn refuse(self, error: Error) -> Error {
        let told = error.clone();
        let job: Job =
            Box::new(|first| Box::pin(async move { Box::new(first.gather(Some(told)).await.map(drop)) as Value }));
        match self.slits.split_first() {
            Some((_, others)) if self.number == 0 => {
                others.iter().for_each(|slit| drop(slit.post(Letter::Stop)));
            }
            Some((first, _)) => drop(first.post(Letter::Ask { from: self.number, token: 0, job })),
            None => {}
        }
        error
    }
}

impl Worker {
    /// On the first core: notes that a core has opened its domains, and waits for all.
    async fn gather(self: Rc<Self>, refused: Option<Error>) -> Result<RootCopy, Error> {
        let gathering = &self.gathering;
        if let Some(error) = refused {
            gathering.refused.borrow_mut().get_or_insert(error);
        }
        gathering.arrived.set(gathering.arrived.get() + 1);
        if gathering.arrived.get() == self.cores() {
            let refused = gathering.refused.take();
            let outcome = match refused {
                Some(error) => Err(error),
                None => self.reconcile().await,
            };
            *gathering.outcome.borrow_mut() = Some(outcome);
            gathering.changed.notify();
        }
        gathering.changed.until(|_| gathering.outcome.borrow().clone()).await
    }

    /// Waits until every core has its copy of the root: from then on changes reach all.
    async fn all_have_the_root(self: &Rc<Self>) -> Result<(), Error> {
        self.call(0, async |first: Rc<Worker>| {
            let gathering = &first.gathering;
            gathering.settled.set(gathering.settled.get() + 1);
            gathering.changed.notify();
            let all = first.cores();
            gathering.changed.until(|_| (gathering.settled.get() == all).then_some(())).await;
            Ok(())
        })
        .await
    }
}
