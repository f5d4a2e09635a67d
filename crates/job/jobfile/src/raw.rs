//! The output of the file reader and of the command line: sections of unparsed `name=value`
//! assignments with their places.

/// One `name=value` or bare `name`.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    /// Name as written.
    pub(crate) name: String,
    /// Text right of `=`, before expansion; `None` when there is no `=`.
    pub(crate) value: Option<String>,
    /// Its source.
    pub(crate) source: usize,
    /// Byte range of the name.
    pub(crate) name_span: (usize, usize),
    /// Byte range of the value (an empty range behind the name if there is none).
    pub(crate) value_span: (usize, usize),
}

impl Assignment {
    /// Byte range of the whole assignment.
    pub(crate) fn span(&self) -> (usize, usize) {
        (self.name_span.0, self.value_span.1.max(self.name_span.1))
    }
}

/// What a group of assignments applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The following jobs.
    Global,
    /// One job.
    Job,
}

/// One section.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    /// Whether it is a job.
    pub(crate) scope: Scope,
    /// Its name.
    pub(crate) name: String,
    /// Source of its header.
    pub(crate) source: usize,
    /// Byte range of its header.
    pub(crate) span: (usize, usize),
    /// Its options, in order.
    pub(crate) assignments: Vec<Assignment>,
}

/// The sections of one job file or of the command line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Document {
    /// In order.
    pub(crate) sections: Vec<Section>,
}
