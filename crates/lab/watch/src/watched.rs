//! The program that is watched, and how it ended.

/// What is watched while it works.
#[derive(Debug, Clone)]
pub enum Watched {
    /// A command, which is started.
    Command(Vec<String>),
    /// A process that runs already.
    Process(i32),
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramEnd {
    /// With this code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// A process that was watched is gone; only its parent knows how it ended.
    Gone,
    /// It continues: the time was up, or the user ended the watch.
    GoesOn,
}

impl ProgramEnd {
    /// The exit code of a command, as a shell reports it; 0 for a process that continues or was not
    /// started here.
    pub fn code(self) -> i32 {
        match self {
            ProgramEnd::Exited(code) => code,
            ProgramEnd::Killed(signal) => 128 + signal,
            ProgramEnd::Gone | ProgramEnd::GoesOn => 0,
        }
    }
}
