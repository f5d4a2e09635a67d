//! One client of a server: greeting, then messages between the client and the process of its job.
//!
//! The session answers what needs no job (`Ping`, `Alive`) and passes the rest on. It reads no more
//! from the job than the client takes. A client that has gone, or says nothing for too long, ends
//! its job, which then keeps what it measured.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use iolab_activity::Failure;
use iolab_archive::recordings;
use iolab_clock::Clock;

use crate::channel::{Channel, ChannelError, Frame, FrameKind, wait};
use crate::greeting;
use crate::job::MOST_JOB_BYTES;
use crate::message::{JobRules, ToClient, ToServer};
use crate::seal::SharedSecret;

/// How often each end says that it is there, ns.
pub(crate) const ALIVE_NS: u64 = 1_000_000_000;
/// From so long a silence on, the other end is taken for gone, ns.
pub(crate) const SILENCE_NS: u64 = 15_000_000_000;
/// How often to look whether something is due, ns. Longer than between two messages of a job, so
/// that a session whose job runs wakes up only for these.
const LOOK_NS: u64 = 500_000_000;
/// How long a job of a client that has gone may take to end, ns.
const ENDING_NS: u64 = 120_000_000_000;
/// Most bytes that wait for a client.
const AHEAD_BYTES: usize = 8 << 20;

/// What a session needs of its server.
pub(crate) struct SessionRules<'a> {
    pub(crate) secret: Option<&'a SharedSecret>,
    pub(crate) job: &'a JobRules,
    /// The server's address as the client reached it; `None` on a UNIX socket.
    pub(crate) address: Option<String>,
    /// The program that runs a job, with the socket to this server as its standard input.
    pub(crate) job_command: &'a dyn Fn() -> io::Result<Command>,
    /// Whether the server is to end.
    pub(crate) is_ending: &'a dyn Fn() -> bool,
}

/// Serves one client to its end. Returns why it was not served, or how it went.
pub(crate) fn serve(connection: Channel, rules: &SessionRules<'_>) -> String {
    let clock = Clock::monotonic();
    let mut client = match greeting::welcome(connection, rules.secret, &clock) {
        Ok(client) => client,
        Err(reason) => return format!("turned away: {reason}"),
    };
    client.allow(MOST_JOB_BYTES);
    let now_ns = clock.now_ns();
    let mut session = Session { client, job: None, clock, heard_ns: now_ns, spoken_ns: now_ns, ended: None };
    session.go_on(rules)
}

struct Session {
    client: Channel,
    job: Option<Job>,
    clock: Clock,
    /// When the client last said something.
    heard_ns: u64,
    /// When it was last told something.
    spoken_ns: u64,
    /// How the session ended.
    ended: Option<String>,
}

/// The process of a job.
struct Job {
    child: Child,
    channel: Channel,
    /// Where it keeps its run until it is delivered.
    partial: Option<PathBuf>,
    /// It has said all that it had to say.
    has_finished: bool,
}

impl Session {
    fn go_on(&mut self, rules: &SessionRules<'_>) -> String {
        while self.ended.is_none() {
            let mut channels = vec![&self.client];
            if self.takes_from_job() {
                channels.extend(self.job.as_ref().map(|job| &job.channel));
            }
            wait(&channels, LOOK_NS);
            let step = self.hear_client(rules).and_then(|()| self.hear_job()).and_then(|()| self.keep_alive());
            if let Err(error) = step {
                self.ended = Some(format!("the client has gone: {error}"));
            } else if (rules.is_ending)() {
                self.ended = Some("the server ends".to_owned());
            }
        }
        self.finish();
        self.ended.take().unwrap_or_default()
    }

    fn takes_from_job(&self) -> bool {
        self.client.waiting_bytes() < AHEAD_BYTES
    }

    fn hear_client(&mut self, rules: &SessionRules<'_>) -> Result<(), ChannelError> {
        self.client.fill()?;
        while let Some(frame) = self.client.next()? {
            self.heard_ns = self.clock.now_ns();
            match frame.message()? {
                ToServer::Ping { token } => {
                    self.client.say(&ToClient::Pong { token, unix_ns: self.clock.unix_ns() });
                }
                ToServer::Alive | ToServer::Gone => {}
                ToServer::Abandon => self.abandon(),
                ToServer::Job(_) => self.begin_job(&frame, rules)?,
                ToServer::Received => {
                    self.pass_on(&frame)?;
                    self.ended = Some("the job is done".to_owned());
                    return Ok(());
                }
                _ => self.pass_on(&frame)?,
            }
        }
        if self.client.is_closed() { Err(ChannelError::Closed) } else { Ok(()) }
    }

    fn begin_job(&mut self, frame: &Frame, rules: &SessionRules<'_>) -> Result<(), ChannelError> {
        if self.job.is_some() {
            return Err(ChannelError::Malformed("a client sends its jobs once".to_owned()));
        }
        match Job::start(frame, rules) {
            Ok(job) => self.job = Some(job),
            Err(error) => {
                let failure = Failure::failed(format!("the server cannot start a job: {error}"));
                self.client.say(&ToClient::Refused(failure.into()));
            }
        }
        Ok(())
    }

    /// Kills a job that answers no more; what it has kept is sent when its end is noticed.
    fn abandon(&mut self) {
        if let Some(job) = &mut self.job {
            // It may have ended meanwhile.
            let _ = job.child.kill();
        }
    }

    fn pass_on(&mut self, frame: &Frame) -> Result<(), ChannelError> {
        let Some(job) = &mut self.job else {
            return Err(ChannelError::Malformed("the client sent no job first".to_owned()));
        };
        job.channel.queue(FrameKind::Message, &frame.payload);
        // A job that has gone has said why, or its end is noticed below.
        let _ = job.channel.flush();
        Ok(())
    }

    fn hear_job(&mut self) -> Result<(), ChannelError> {
        if self.takes_from_job()
            && let Some(job) = &mut self.job
        {
            // What breaks between two processes of one program is the end of the other.
            let _ = job.channel.flush();
            let _ = job.channel.fill();
            while let Ok(Some(frame)) = job.channel.next() {
                if let Ok(ToClient::Keeps { partial }) = frame.message() {
                    job.partial = Some(partial);
                    continue;
                }
                job.has_finished |= matches!(frame.message(), Ok(ToClient::Finished | ToClient::Refused(_)));
                self.client.queue(frame.kind, &frame.payload);
                self.spoken_ns = self.clock.now_ns();
            }
            if job.channel.is_closed() && !job.has_finished {
                job.has_finished = true;
                // What it measured is in its partial recording, if it had begun.
                if let Some(kept) = job.partial.as_ref().and_then(|partial| recordings::load(partial).ok()) {
                    self.client.queue(FrameKind::Recording, kept.recording.to_json().as_bytes());
                }
                let how = job.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
                let failure = Failure::failed(format!("the process of the job ended before its results: {how}"));
                self.client.say(&ToClient::Refused(failure.into()));
            }
        }
        self.client.flush()
    }

    /// Says that the server is there, and notices a client that says nothing.
    fn keep_alive(&mut self) -> Result<(), ChannelError> {
        let now_ns = self.clock.now_ns();
        if now_ns >= self.spoken_ns + ALIVE_NS && self.client.waiting_bytes() == 0 {
            self.spoken_ns = now_ns;
            self.client.say(&ToClient::Alive);
            self.client.flush()?;
        }
        if now_ns >= self.heard_ns + SILENCE_NS {
            return Err(ChannelError::Silent { seconds: SILENCE_NS / 1_000_000_000 });
        }
        Ok(())
    }

    /// Ends the job, if it has not ended.
    fn finish(&mut self) {
        let Some(mut job) = self.job.take() else {
            let _ = self.client.flush();
            return;
        };
        job.channel.say(&ToServer::Gone);
        let until_ns = self.clock.now_ns() + ENDING_NS;
        while self.clock.now_ns() < until_ns && !job.channel.is_closed() {
            let _ = job.channel.flush();
            wait(&[&job.channel], LOOK_NS);
            let _ = job.channel.fill();
            // Nobody is there to be told.
            while let Ok(Some(_)) = job.channel.next() {}
        }
        if !job.channel.is_closed() {
            let _ = job.child.kill();
        }
        let _ = job.child.wait();
    }
}

impl Job {
    fn start(frame: &Frame, rules: &SessionRules<'_>) -> io::Result<Job> {
        let (own, theirs) = UnixStream::pair()?;
        let mut command = (rules.job_command)()?;
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
        let child = command.spawn()?;
        let mut channel = Channel::new(own.into());
        channel.allow(iolab_bounded_read::RECORDING.bytes);
        channel.say(&JobRules { address: rules.address.clone(), ..rules.job.clone() });
        channel.queue(FrameKind::Message, &frame.payload);
        Ok(Job { child, channel, partial: None, has_finished: false })
    }
}
