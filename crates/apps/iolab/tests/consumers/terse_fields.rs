//! The positions of the fields of a terse line, counted from 1 as in awk and cut.

/// Fields before the first direction.
pub(crate) const HEAD: usize = 5;

/// The layout of a version.
pub(crate) struct Layout {
    /// Directions in the line: reads and writes, and trims from version 4 on.
    pub(crate) directions: usize,
    /// Fields of a direction.
    pub(crate) width: usize,
}

/// `--terse-version=3`.
pub(crate) const V3: Layout = Layout { directions: 2, width: 41 };
/// `--terse-version=4`.
pub(crate) const V4: Layout = Layout { directions: 3, width: 41 };
/// `--terse-version=5`: adds the number of bandwidth samples and five figures of IOPS.
pub(crate) const V5: Layout = Layout { directions: 3, width: 47 };

impl Layout {
    /// Position of a direction's `nth` field, both from 0.
    pub(crate) fn direction(&self, direction: usize, nth: usize) -> usize {
        HEAD + direction * self.width + nth + 1
    }

    /// Position of the first field after the directions, which is user CPU.
    pub(crate) fn after(&self) -> usize {
        HEAD + self.directions * self.width + 1
    }

    /// Number of fields without disks: five of CPU and faults, then the depths, and the shares in
    /// microseconds and milliseconds.
    pub(crate) fn without_disks(&self) -> usize {
        HEAD + self.directions * self.width + 5 + 7 + 10 + 12
    }
}

/// One line, split into fields.
pub(crate) struct Line<'a> {
    fields: Vec<&'a str>,
}

impl<'a> Line<'a> {
    /// Checks that the line has the number of fields of its version; each disk adds nine.
    pub(crate) fn new(line: &'a str, layout: &Layout) -> Line<'a> {
        let fields: Vec<&str> = line.split(';').collect();
        let beyond = fields.len().checked_sub(layout.without_disks());
        assert!(beyond.is_some_and(|disks| disks % 9 == 0), "{} fields: {line}", fields.len());
        Line { fields }
    }

    /// The field at a position from 1.
    pub(crate) fn text(&self, position: usize) -> &'a str {
        self.fields[position - 1]
    }

    /// The field at a position as an integer.
    pub(crate) fn integer(&self, position: usize) -> u64 {
        let text = self.text(position);
        text.parse().unwrap_or_else(|_| panic!("field {position} is {text:?}, no integer"))
    }

    /// The field at a position as a number, with or without a percent sign.
    pub(crate) fn number(&self, position: usize) -> f64 {
        let text = self.text(position);
        text.trim_end_matches('%').parse().unwrap_or_else(|_| panic!("field {position} is {text:?}, no number"))
    }
}
