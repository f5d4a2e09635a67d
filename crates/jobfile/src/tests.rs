//! Whole job files and command lines.
