//! Options of the program that reads the command line, as far as the language must know them:
//! enough to distinguish them from job options and job files. Their owners define their meaning.

/// Whether an option takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// Never.
    None,
    /// Only after `=`.
    Optional,
    /// After `=`, or as the next argument.
    Required,
}

/// An option of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramOption {
    /// Name without dashes.
    pub name: &'static str,
    /// One-letter name, after a single dash.
    pub letter: Option<char>,
    /// Whether it takes a value.
    pub argument: Argument,
}

/// An option of the program, as the user wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramSetting {
    /// Name of the [`ProgramOption`].
    pub name: &'static str,
    /// Its value, if it has one.
    pub value: Option<String>,
    /// Byte range in the command line: of the value if there is one, otherwise of the name.
    pub span: (usize, usize),
}
