//! Opens and reads the traces that users name, and reports errors about them.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use iolab_text::grouped;
use iolab_trace::Reader;

use crate::exit::ExitFailure;

pub(crate) fn warn_of_damage(reader: &Reader<BufReader<File>>, path: &Path) {
    if let Some(damage) = reader.damage() {
        let (path, at) = (path.display(), grouped(damage.at_byte));
        eprintln!("iolab: warning: {path}: {} at byte {at}: only what comes before is shown", damage.what);
    }
}

pub(crate) fn open(path: &Path) -> Result<Reader<BufReader<File>>, ExitFailure> {
    let file = iolab_bounded_read::open(path).map_err(|error| unreadable(path, error))?;
    Reader::new(BufReader::with_capacity(1 << 16, file)).map_err(|error| unreadable(path, error))
}

pub(crate) fn next(
    reader: &mut Reader<BufReader<File>>,
    path: &Path,
) -> Result<Option<iolab_trace::Operation>, ExitFailure> {
    reader.next_operation().map_err(|error| unreadable(path, error))
}

pub(crate) fn unreadable(path: &Path, error: impl std::fmt::Display) -> ExitFailure {
    ExitFailure::mistake(format!("iolab: {}: {error}", path.display()))
}
