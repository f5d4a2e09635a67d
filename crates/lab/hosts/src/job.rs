//! The process of one job on a server: it plans, judges, waits for the client, runs and reports.
//!
//! It is a process of its own, because a run forks its workers and must have no threads, and
//! because its end must not be the server's. It speaks with the server over the socket that is its
//! standard input, in the messages of the client, which the server passes on.
//!
//! If the client or the server has gone, it ends the run as an interrupt does, and keeps what was
//! measured among the recordings of this machine.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::Ordering;

use iolab_activity::Failure;
use iolab_archive::outputs_beside;
use iolab_archive::recordings::Keeping;
use iolab_bounded_read::{JOB_FILE, RECORDING};
use iolab_clock::Clock;
use iolab_guard::Guard;
use iolab_jobfile::command_line;
use iolab_jobfile::{Input, JobSet, Surroundings};
use iolab_observe::System;
use iolab_options::Rank;
use iolab_pipeline::{Pipeline, PlanRequest, Planned, ThisMachine};
use iolab_process::INTERRUPTS;
use iolab_recording::{Event, Recording};
use iolab_resolve::Mode;
use iolab_runner::{RunObserver, Spools, Start, Wish};

use crate::channel::{Channel, ChannelError, FrameKind, Patience};
use crate::clock_offset;
use crate::fence::{Fence, FencedMachine};
use crate::gather;
use crate::message::{JobRules, PROGRESS_NS, ProgressThere, SpoolContent, ToClient, ToServer};
use crate::parcel::{Answers, JobParcel};
use crate::room::RoomThere;
use crate::spool;

/// Most bytes of the jobs of a client: some files, which are escaped as JSON.
pub(crate) const MOST_JOB_BYTES: u64 = 4 * JOB_FILE.bytes;
/// What is between the messages of all ranks at least, ns: the client of many is told less often by
/// each.
const PROGRESS_OF_ALL_NS: u64 = 200_000;
/// How long the process waits for anything, ns. The server, on the same machine, ends it long
/// before if the client is gone.
const PATIENCE_NS: u64 = 7 * 86_400 * 1_000_000_000;

/// Runs one job for the server at the other end of `socket`. Returns whether the job could be run.
pub fn run_job(pipeline: &Pipeline<'_>, socket: OwnedFd) -> bool {
    let clock = Clock::monotonic();
    let mut channel = Channel::new(socket);
    channel.allow(MOST_JOB_BYTES);
    let ran = serve(pipeline, &mut channel, &clock);
    let failed = ran.is_err();
    if let Err(Some(failure)) = ran {
        channel.say(&ToClient::Refused(failure.into()));
    }
    // A server that has gone has nobody to tell.
    let _ = channel.send_all(&Patience::of(&clock, PATIENCE_NS));
    !failed
}

/// An error without a failure: there is nobody to tell.
fn serve(pipeline: &Pipeline<'_>, channel: &mut Channel, clock: &Clock) -> Result<(), Option<Failure>> {
    let lost = |_: ChannelError| None;
    let next = |channel: &mut Channel| channel.receive(Patience::of(clock, PATIENCE_NS));
    let rules: JobRules = next(channel).and_then(|frame| frame.message()).map_err(lost)?;
    let ToServer::Job(parcel) = next(channel).and_then(|frame| frame.message()).map_err(lost)? else {
        return Err(Some(Failure::mistake("the client sent no job")));
    };
    if let Some(folder) = &parcel.folder {
        let entered = std::env::set_current_dir(folder);
        entered.map_err(|error| Failure::mistake(format!("the folder of the jobs, {}: {error}", folder.display())))?;
    }
    let (planned, guard) = plan(pipeline, channel, &rules, &parcel)?;
    channel.queue(FrameKind::Planned, empty_recording(&planned, clock).to_json().as_bytes());
    loop {
        // The client waits for other hosts, whose plans may take their time.
        match next(channel).and_then(|frame| frame.message()).map_err(lost)? {
            ToServer::Prepare => break,
            ToServer::End | ToServer::Finish | ToServer::Gone => return Err(None),
            _ => {}
        }
    }
    run(pipeline, channel, &planned, guard, parcel.rank.1)
}

/// The plan, if it is one that this server runs.
fn plan(
    pipeline: &Pipeline<'_>,
    channel: &mut Channel,
    rules: &JobRules,
    parcel: &JobParcel,
) -> Result<(Planned, Guard), Failure> {
    let fence = if rules.is_rank { None } else { Some(Fence::new(&rules.allowed)?) };
    let (number, ranks) = parcel.rank;
    let rank = Rank { number, ranks: ranks.max(1), host: iolab_observe::host_name() };
    let here = pipeline.here().seen_by(Some(&rank));
    let include = |name: &str, from: &str| included(parcel, fence.as_ref(), &here, name, from);
    let variable = |name: &str| parcel.variable(name);
    let surroundings = Answers { here: &here, include: &include, variable: &variable };
    let line = command_line::parse(&parcel.words, &[], &surroundings)
        .map_err(|failure| pipeline.mistake(&failure.diagnostics, &failure.sources))?;
    let mode = if parcel.as_fio { Mode::Fio } else { Mode::Iolab };
    let max_jobs = parcel.max_jobs.into_iter().chain(rules.max_jobs).min();
    let request = PlanRequest {
        mode,
        sections: &parcel.sections,
        readonly: parcel.readonly,
        max_jobs,
        // What tells the files of servers apart is fio's, also where it is nothing.
        client: (!rules.is_rank).then(|| rules.address.as_deref().unwrap_or_default()),
        rank: Some(&rank),
        allowed: &parcel.allow_destroy,
        ..PlanRequest::of(&line)
    };
    let jobs = pipeline.parse(&request, &inputs(pipeline, parcel, fence.as_ref())?, &surroundings)?;
    let planned = match &fence {
        Some(fence) => within(fence, pipeline, &request, &here, jobs)?,
        None => pipeline.resolve(&request, &here, jobs)?,
    };
    let judged = pipeline.judge(&planned.plan, mode, &parcel.allow_destroy)?;
    let text = iolab_jobfile::render(&planned.warnings, &planned.jobs.sources, false);
    let has_warnings = !planned.warnings.is_empty();
    let text = if has_warnings { text } else { String::new() };
    // What a server has room for is not for its clients.
    let rooms = if rules.is_rank { &judged.rooms[..] } else { &[] };
    channel.say(&ToClient::Warnings {
        text,
        accepted: judged.accepted,
        machine: clock_offset::this_machine(),
        rooms: rooms.iter().map(|room| RoomThere::of(room, number)).collect(),
    });
    Ok((planned, judged.guard))
}

/// The plan of jobs that may touch only what the server's user allows.
fn within(
    fence: &Fence,
    pipeline: &Pipeline<'_>,
    request: &PlanRequest<'_>,
    here: &ThisMachine,
    jobs: JobSet,
) -> Result<Planned, Failure> {
    let refused = |reasons: &[String]| Failure::refused(format!("refused\n  {}", reasons.join("\n  ")));
    let machine = FencedMachine::new(here, fence);
    let planned = pipeline.resolve(request, &machine, jobs).map_err(|failure| match machine.withheld().as_slice() {
        [] => failure,
        withheld => refused(withheld),
    })?;
    let refusals = fence.refusals(&planned.plan, pipeline.engines);
    if refusals.is_empty() { Ok(planned) } else { Err(refused(&refusals)) }
}

/// The client's job files, and those of this server that it names.
fn inputs(pipeline: &Pipeline<'_>, parcel: &JobParcel, fence: Option<&Fence>) -> Result<Vec<Input>, Failure> {
    let sent = parcel.files.iter().map(|file| Input { name: file.name.clone(), bytes: file.text.clone().into_bytes() });
    let mut inputs: Vec<Input> = sent.collect();
    if let Some(fence) = fence
        && let Some(outside) = parcel.remote_files.iter().find(|name| !fence.admits(name.as_ref()))
    {
        return Err(Failure::refused(fence.refusal(outside.as_ref())));
    }
    inputs.extend(pipeline.read_inputs(&parcel.remote_files)?);
    Ok(inputs)
}

/// The client's answer; for job files of this server, what is beside them.
fn included(
    parcel: &JobParcel,
    fence: Option<&Fence>,
    here: &dyn Surroundings,
    name: &str,
    from: &str,
) -> Result<String, String> {
    if let Some(sent) = parcel.included(name, from) {
        return sent;
    }
    if !parcel.remote_files.iter().any(|file| file == from) {
        return Err("the client did not send this file".to_owned());
    }
    let beside = Path::new(from).parent().unwrap_or(Path::new("")).join(name);
    let candidates = [Path::new(name), &beside];
    let may = |path: &&Path| fence.is_none_or(|fence| fence.admits(path)) && path.exists();
    match candidates.into_iter().find(may) {
        Some(path) => here.include(&path.to_string_lossy(), ""),
        None => Err(fence.map_or_else(|| "there is no such file".to_owned(), |fence| fence.refusal(&beside))),
    }
}

/// The recording before the run.
fn empty_recording(planned: &Planned, clock: &Clock) -> Recording {
    Recording {
        plan: planned.plan.clone(),
        host: System::live().host_facts(clock.name(), std::env::args().collect()),
        warnings: planned.plan.warnings.clone(),
        ..gather::nothing()
    }
}

/// Runs the plan, and gives the client what came of it.
fn run(
    pipeline: &Pipeline<'_>,
    channel: &mut Channel,
    planned: &Planned,
    guard: Guard,
    ranks: u32,
) -> Result<(), Option<Failure>> {
    let mut outputs = outputs_beside(false, []);
    // Where recordings cannot be kept, the run has only its client.
    let keeping = Keeping::begin(&planned.plan, &mut outputs, None, pipeline.console).ok();
    let stream = keeping.as_ref().and_then(Keeping::stream).or_else(|| tempfile::tempfile().ok());
    if let Some(partial) = keeping.as_ref().and_then(Keeping::partial) {
        channel.say(&ToClient::Keeps { partial: partial.canonicalize().unwrap_or_else(|_| partial.to_owned()) });
    }
    let clock = Clock::monotonic();
    let mut reporter = Reporter::new(channel, &clock, ranks);
    let (recording, spools) = pipeline.run(planned, guard, stream, &mut reporter)?;
    let has_client = !reporter.is_gone;
    if has_client && deliver(channel, &recording, &spools, &clock).is_ok() {
        return Ok(());
    }
    let mut kept = recording;
    planned.redaction.recording(&mut kept);
    let Some(keeping) = keeping else { return Err(None) };
    match keeping.save(&mut outputs, &kept) {
        Ok(path) => pipeline.console.note(&format!("the client has gone: its run was saved as {}", path.display())),
        Err(failure) => {
            pipeline.console.note(&format!("the client has gone, and its run could not be saved: {failure}"))
        }
    }
    Err(None)
}

/// Sends all that came of a run, and waits until the client has it.
fn deliver(channel: &mut Channel, recording: &Recording, spools: &[Spools], clock: &Clock) -> Result<(), ChannelError> {
    let json = recording.to_json();
    if json.len() as u64 > RECORDING.bytes {
        return Err(ChannelError::Malformed("the recording is too long".to_owned()));
    }
    channel.queue(FrameKind::Recording, json.as_bytes());
    let patience = || Patience::of(clock, PATIENCE_NS);
    for (worker, own) in (0..).zip(spools) {
        for (content, file) in [(SpoolContent::Logs, &own.logs), (SpoolContent::Operations, &own.operations)] {
            if let Some(file) = file {
                spool::send(channel, worker, content, file, &patience)?;
            }
        }
    }
    channel.say(&ToClient::Finished);
    loop {
        match channel.receive(patience())?.message()? {
            ToServer::Received => return Ok(()),
            ToServer::Gone => return Err(ChannelError::Closed),
            _ => {}
        }
    }
}

/// Tells the client what happens, and does what it says.
struct Reporter<'a> {
    channel: &'a mut Channel,
    clock: &'a Clock,
    begin: Option<u64>,
    is_ready: bool,
    /// How often progress is told.
    every_ns: u64,
    /// When it is told again.
    next_ns: u64,
    wants: Wish,
    /// Jobs of which the client knows how far they are, with what it has answered.
    goals: BTreeMap<String, Option<u64>>,
    /// There is no client any more.
    is_gone: bool,
}

impl<'a> Reporter<'a> {
    fn new(channel: &'a mut Channel, clock: &'a Clock, ranks: u32) -> Reporter<'a> {
        let every_ns = PROGRESS_NS.max(u64::from(ranks) * PROGRESS_OF_ALL_NS);
        Reporter {
            channel,
            clock,
            every_ns,
            begin: None,
            is_ready: false,
            next_ns: 0,
            wants: Wish::Nothing,
            goals: BTreeMap::new(),
            is_gone: false,
        }
    }

    /// Takes what has come. A client or a server that has gone ends the run, as the user would.
    fn listen(&mut self) {
        let filled = self.channel.fill();
        let mut gone = filled.is_err() || self.channel.is_closed();
        loop {
            let message = match self.channel.next() {
                Ok(None) => break,
                Ok(Some(frame)) => frame.message(),
                Err(error) => Err(error),
            };
            match message {
                Ok(ToServer::Begin { unix_ns }) => self.begin = Some(unix_ns),
                Ok(ToServer::Goal { job, operations }) => drop(self.goals.insert(job, Some(operations))),
                Ok(ToServer::Report) => self.wants = Wish::SoFar,
                Ok(ToServer::Finish) => self.wants = Wish::End,
                Ok(ToServer::End) => drop(INTERRUPTS.fetch_add(1, Ordering::Relaxed)),
                Ok(ToServer::Gone) => gone = true,
                Ok(_) => {}
                Err(_) => {
                    gone = true;
                    break;
                }
            }
        }
        if gone && !self.is_gone {
            self.is_gone = true;
            INTERRUPTS.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether something may be told that need not be told: not too often, and only if all that was
    /// said before has gone.
    fn may_tell(&mut self) -> bool {
        let now_ns = self.clock.now_ns();
        let may = now_ns >= self.next_ns && self.channel.waiting_bytes() == 0;
        if may {
            self.next_ns = now_ns + self.every_ns;
        }
        may
    }
}

impl RunObserver for Reporter<'_> {
    fn take(&mut self, event: &Event<'_>) -> Wish {
        self.listen();
        match event {
            Event::LaidOut { path, done_bytes, total_bytes } if self.may_tell() => {
                let (path, done_bytes, total_bytes) = (path.to_path_buf(), *done_bytes, *total_bytes);
                self.channel.say(&ToClient::LaidOut { path, done_bytes, total_bytes });
            }
            Event::Progress(progress) if self.may_tell() => {
                ProgressThere::from(*progress).tell(self.channel);
            }
            Event::SoFar(recording) => self.channel.queue(FrameKind::SoFar, recording.to_json().as_bytes()),
            _ => {}
        }
        // What cannot be sent now is sent later, and a server that has gone was noticed above.
        let _ = self.channel.flush();
        if matches!(event, Event::Progress(_)) {
            std::mem::replace(&mut self.wants, Wish::Nothing)
        } else {
            Wish::Nothing
        }
    }

    fn start(&mut self) -> Start {
        if !self.is_ready {
            self.is_ready = true;
            self.channel.say(&ToClient::Ready);
        }
        let _ = self.channel.flush();
        self.listen();
        self.begin.map_or(Start::Later, Start::At)
    }

    fn wear_out(&mut self, job: &str, reached: u64) -> Option<u64> {
        if !self.goals.contains_key(job) {
            self.goals.insert(job.to_owned(), None);
            self.channel.say(&ToClient::Reached { job: job.to_owned(), operations: reached });
        }
        let _ = self.channel.flush();
        self.listen();
        self.goals.get(job).copied().flatten()
    }
}
