//! One server, as a client knows it.

mod clock;
mod results;

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use iolab_activity::Failure;
use iolab_bounded_read::RECORDING;
use iolab_clock::Clock;
use iolab_recording::{Recording, WorkerProgress, WorkerRecording};

use crate::address::{Fallback, HostAddress};
use crate::channel::{Channel, ChannelError, Frame, FrameKind, Patience};
use crate::clock_offset::{ClockOffset, ClockProbe};
use crate::greeting::{self, GREETING_NS};
use crate::message::{ProgressThere, ToClient, ToServer};
use crate::parcel::JobParcel;
use crate::remote_shell::Shell;
use crate::room::RoomThere;
use crate::seal::SharedSecret;
use crate::session::{ALIVE_NS, SILENCE_NS};
use crate::spool::Receiving;

/// How far a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// It makes its plan.
    Planning,
    /// It has a plan.
    Planned,
    /// It waits for the start.
    Ready,
    /// It has sent all it has; its clock is compared again.
    Delivered,
    /// It has sent all it has, and knows that it came.
    Finished,
}

/// A server with the jobs of this client.
pub(crate) struct Peer {
    pub(crate) name: String,
    /// How messages call it: what it is, and its name.
    pub(crate) called: String,
    /// The port of a server, 0 for a UNIX socket; nothing of a rank.
    pub(crate) port: Option<u16>,
    /// Dropped before the shell, which waits for the end of its program.
    pub(crate) channel: Channel,
    /// The remote shell that reaches it.
    pub(crate) shell: Option<Shell>,
    pub(crate) stage: Stage,
    pub(crate) clock_offset: ClockOffset,
    /// What tells its machine from others, if it is known.
    pub(crate) machine: Option<String>,
    /// How much its clock has moved since, ns; nothing if it was not compared again.
    pub(crate) clock_drift_ns: Option<i64>,
    probe: Option<ClockProbe>,
    /// What it said of its plan: a report, and what is overwritten although it holds something.
    pub(crate) warnings: Vec<String>,
    /// What its files need, if it is a rank.
    pub(crate) rooms: Vec<RoomThere>,
    /// Why its results do not come.
    pub(crate) lost: Option<String>,
    /// What it has refused, if that is why.
    pub(crate) refusal: Option<Failure>,
    pub(crate) laid_out: Option<(std::path::PathBuf, u64, u64)>,
    planned: Option<Recording>,
    /// How many workers its plan has.
    workers: Option<usize>,
    so_far: Option<Recording>,
    recording: Option<Recording>,
    progress: ProgressThere,
    /// How far its workers of a job were when their time was up, by job.
    pub(crate) reached: BTreeMap<String, u64>,
    receiving: Receiving,
    heard_ns: u64,
    /// When its job last said something.
    job_heard_ns: u64,
    spoken_ns: u64,
}

impl Peer {
    /// Connects and greets.
    ///
    /// # Errors
    /// A sentence that names the server.
    pub(crate) fn connect(
        address: &HostAddress,
        secret: Option<&SharedSecret>,
        clock: &Clock,
    ) -> Result<Peer, Failure> {
        let named = |why: String| Failure::failed(format!("client {address}: {why}"));
        let socket = open(address).map_err(|error| named(explained(&error)))?;
        let channel = greeting::greet(Channel::new(socket), secret, Patience::of(clock, GREETING_NS)).map_err(named)?;
        let mut peer = Peer::over(channel, address.name(), clock);
        peer.called = format!("client {}", peer.name);
        peer.port = Some(address.port().unwrap_or(0));
        Ok(peer)
    }

    /// Over a connection whose ends have greeted each other.
    pub(crate) fn over(mut channel: Channel, name: String, clock: &Clock) -> Peer {
        channel.allow(RECORDING.bytes);
        let now_ns = clock.now_ns();
        Peer {
            called: name.clone(),
            name,
            port: None,
            shell: None,
            channel,
            stage: Stage::Planning,
            clock_offset: ClockOffset::default(),
            machine: None,
            clock_drift_ns: None,
            probe: None,
            warnings: Vec::new(),
            rooms: Vec::new(),
            lost: None,
            refusal: None,
            laid_out: None,
            planned: None,
            workers: None,
            so_far: None,
            recording: None,
            progress: ProgressThere::default(),
            reached: BTreeMap::new(),
            receiving: Receiving::default(),
            heard_ns: now_ns,
            job_heard_ns: now_ns,
            spoken_ns: now_ns,
        }
    }

    /// Tells it that all has come.
    fn finish(&mut self) {
        self.stage = Stage::Finished;
        self.channel.say(&ToServer::Received);
        // It has been given all it needs; if it does not hear that, it keeps its run, too.
        let _ = self.channel.flush();
    }

    /// For how long its job has said nothing, ns.
    pub(crate) fn job_silent_ns(&self, now_ns: u64) -> u64 {
        if self.stage < Stage::Delivered { now_ns.saturating_sub(self.job_heard_ns) } else { 0 }
    }

    /// Its job begins to be listened to now.
    pub(crate) fn expect_its_job(&mut self, now_ns: u64) {
        self.job_heard_ns = now_ns;
    }

    /// Takes it for gone.
    pub(crate) fn give_up(&mut self, why: String) {
        if self.is_there() && self.stage < Stage::Delivered {
            self.lost = Some(why);
        }
    }

    /// Whether its run was lost, or a worker of it failed.
    pub(crate) fn has_failed(&self) -> bool {
        let failed = |recording: &Recording| recording.workers.iter().any(WorkerRecording::has_failed);
        self.lost.is_some() || self.recording.as_ref().is_some_and(failed)
    }

    pub(crate) fn send_job(&mut self, parcel: JobParcel) {
        self.say(&ToServer::Job(Box::new(parcel)));
    }

    /// Says something; a server that has gone is noticed when it is listened to.
    pub(crate) fn say(&mut self, message: &ToServer) {
        if self.is_there() {
            self.channel.say(message);
            let _ = self.channel.flush();
        }
    }

    /// Whether something is still to come of it.
    pub(crate) fn is_there(&self) -> bool {
        self.lost.is_none() && self.stage != Stage::Finished
    }

    /// Takes what has come, and notices a server that has gone.
    pub(crate) fn listen(&mut self, clock: &Clock) {
        if !self.is_there() {
            return;
        }
        if let Err(error) = self.listen_once(clock) {
            if self.stage == Stage::Delivered {
                // All has come: only the clock was still to be compared.
                self.stage = Stage::Finished;
                return;
            }
            self.lost = Some(match (&self.refusal, error) {
                (Some(refusal), _) => refusal.message.trim_end().to_owned(),
                (None, ChannelError::Closed) => "the server ended, or was killed".to_owned(),
                (None, ChannelError::Silent { seconds }) => format!("the server said nothing for {seconds} s"),
                (None, error) => error.to_string(),
            });
        }
    }

    /// Whether it is in the middle of its run, so that what it says next may be heard a little
    /// later.
    pub(crate) fn only_tells_progress(&self) -> bool {
        let is_quiet = self.channel.untaken().is_empty() && self.channel.waiting_bytes() == 0;
        is_quiet && self.recording.is_none() && !self.is_probing()
    }

    fn listen_once(&mut self, clock: &Clock) -> Result<(), ChannelError> {
        let now_ns = clock.now_ns();
        if now_ns >= self.spoken_ns + ALIVE_NS {
            self.spoken_ns = now_ns;
            self.channel.say(&ToServer::Alive);
        }
        self.channel.flush()?;
        let before = self.channel.untaken().len();
        let filled = self.channel.fill();
        if self.channel.untaken().len() > before {
            self.heard_ns = now_ns;
        }
        while let Some(frame) = self.channel.next()? {
            self.take(&frame, clock)?;
            if self.stage == Stage::Finished {
                return Ok(());
            }
        }
        filled?;
        if self.channel.is_closed() {
            return Err(ChannelError::Closed);
        }
        let is_silent = now_ns >= self.heard_ns + SILENCE_NS;
        if is_silent { Err(ChannelError::Silent { seconds: SILENCE_NS / 1_000_000_000 }) } else { Ok(()) }
    }

    fn take(&mut self, frame: &Frame, clock: &Clock) -> Result<(), ChannelError> {
        if frame.kind != FrameKind::Message {
            self.job_heard_ns = clock.now_ns();
        }
        match frame.kind {
            FrameKind::Message => self.take_message(frame.message()?, clock),
            FrameKind::Planned => {
                let planned = recording(frame)?;
                self.receiving = Receiving::of(planned.plan.workers.len());
                self.workers = Some(planned.plan.workers.len());
                self.planned = Some(planned);
                self.stage = self.stage.max(Stage::Planned);
                Ok(())
            }
            FrameKind::SoFar => {
                self.so_far = Some(self.of_the_plan(recording(frame)?)?);
                Ok(())
            }
            FrameKind::Recording => {
                self.recording = Some(self.of_the_plan(recording(frame)?)?);
                // It has all that these had; of many ranks, they are much.
                (self.planned, self.so_far) = (None, None);
                self.stage = self.stage.max(Stage::Ready);
                Ok(())
            }
            FrameKind::Piece => self.receiving.add(&frame.payload),
            FrameKind::Progress => {
                self.progress = frame.progress()?;
                Ok(())
            }
        }
    }

    fn take_message(&mut self, message: ToClient, clock: &Clock) -> Result<(), ChannelError> {
        if !matches!(message, ToClient::Alive | ToClient::Pong { .. }) {
            self.job_heard_ns = clock.now_ns();
        }
        match message {
            ToClient::Refused(refusal) => {
                self.refusal = Some(refusal.into());
                return Err(ChannelError::Closed);
            }
            ToClient::Warnings { text, accepted, machine, rooms } => {
                (self.machine, self.rooms) = (machine, rooms);
                self.warnings.extend((!text.is_empty()).then_some(text));
                self.warnings.extend(accepted.iter().map(|warning| format!("warning: {warning}\n")));
            }
            ToClient::LaidOut { path, done_bytes, total_bytes } => {
                self.laid_out = Some((path, done_bytes, total_bytes));
            }
            ToClient::Ready => self.stage = self.stage.max(Stage::Ready),
            ToClient::Reached { job, operations } => drop(self.reached.insert(job, operations)),
            ToClient::Spool { worker, content, bytes } => self.receiving.begin(worker, content, bytes)?,
            ToClient::Finished if self.recording.is_some() && self.receiving.is_whole() => {
                self.stage = Stage::Delivered;
                // Drift is not asked of servers, nor of the clock of this machine.
                if self.port.is_some() || self.clock_offset == ClockOffset::default() {
                    self.finish();
                } else {
                    self.probe_clock(clock);
                }
            }
            ToClient::Finished => {
                return Err(ChannelError::Malformed("the server ended before its results".to_owned()));
            }
            ToClient::Pong { token, unix_ns } => {
                if let Some(probe) = &mut self.probe {
                    probe.pong(token, unix_ns, clock.unix_ns());
                    self.ping(clock);
                }
            }
            ToClient::Keeps { .. } | ToClient::Alive => {}
        }
        Ok(())
    }

    /// A recording of the plan that was told before: workers of another could not be told apart.
    fn of_the_plan(&self, recording: Recording) -> Result<Recording, ChannelError> {
        if self.workers != Some(recording.plan.workers.len()) || !recording.hosts.is_empty() {
            return Err(ChannelError::Malformed("the recording is not of the plan".to_owned()));
        }
        Ok(recording)
    }

    /// The recording before the run, once there is a plan.
    pub(crate) fn planned(&self) -> Option<&Recording> {
        self.planned.as_ref()
    }

    /// How many workers it has.
    fn workers(&self) -> usize {
        self.workers.unwrap_or(0)
    }

    /// Where its workers stand.
    pub(crate) fn progress(&self) -> (u64, impl Iterator<Item = WorkerProgress> + '_) {
        (self.progress.elapsed_ns(), self.progress.workers(self.workers()))
    }
}

/// A recording, checked as one that is read from a file.
fn recording(frame: &Frame) -> Result<Recording, ChannelError> {
    let text = std::str::from_utf8(&frame.payload).map_err(|_| ChannelError::Malformed("not UTF-8".to_owned()))?;
    Recording::from_json(text).map_err(|error| ChannelError::Malformed(error.to_string()))
}

fn open(address: &HostAddress) -> io::Result<OwnedFd> {
    if let HostAddress::Unix(path) = address {
        return Ok(UnixStream::connect(path)?.into());
    }
    let mut last = io::Error::other("it has no address");
    for address in address.resolve(Fallback::Loopback)? {
        match connect(&address) {
            Ok(stream) => return Ok(stream.into()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn connect(address: &SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(address, Duration::from_nanos(GREETING_NS))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn explained(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
            format!("no server answers there ({error}): start one with `iolab --server=ADDRESS`")
        }
        _ => error.to_string(),
    }
}
