//! `iolab fs cp`: between this machine and an image.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use std::sync::atomic::Ordering;

use iolab_activity::{Progress, Unit};
use iolab_image::{Access, Copied, CopyError, Image, Source, Target, from_host_told, to_host_told};
use iolab_logfs::{InodeId, Volume};
use iolab_process::INTERRUPTS;

use super::facts::size_text;
use crate::exit::{Failure, INTERRUPTED};
use crate::printing::StandardError;

/// What to copy where.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Paths that begin with a colon are inside of the image:\n  iolab fs cp disk.img notes.txt :/            into the \
                        image\n  iolab fs cp -r disk.img :/project ./copy     out of it\nA file of this machine whose name begins with a colon is \
                        ./:name."
)]
pub(crate) struct Arguments {
    /// Regular file or block device
    image: PathBuf,
    /// What is copied, one or several, and last where to; inside of the image with a colon before
    /// the path
    #[arg(required = true, num_args = 2.., value_name = "SOURCE… DESTINATION")]
    paths: Vec<OsString>,
    /// Directories with all that is in them
    #[arg(short, long)]
    recursive: bool,
    /// Say what was copied
    #[arg(short, long)]
    verbose: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, Failure> {
    let Some((destination, sources)) = arguments.paths.split_last() else { return Ok(0) };
    iolab_process::count_signals();
    let inside = |path: &OsString| path.as_bytes().strip_prefix(b":").map(<[u8]>::to_vec);
    let copied = match inside(destination) {
        Some(destination) => {
            if let Some(both) = sources.iter().find(|source| inside(source).is_some()) {
                let text = format!("iolab: {}: both ends are inside of the image", both.display());
                return Err(Failure::mistake(format!("{text}; `iolab fs mv` renames")));
            }
            into_image(arguments, sources, &destination)?
        }
        None => {
            let inside: Option<Vec<Vec<u8>>> = sources.iter().map(inside).collect();
            let Some(sources) = inside else {
                let text =
                    "iolab: one end has to be inside of the image: paths there begin with a colon (`:/notes.txt`)";
                return Err(Failure::mistake(text));
            };
            out_of_image(arguments, &sources, Path::new(destination))?
        }
    };
    for left_out in &copied.left_out {
        eprintln!("iolab: left out {left_out}");
    }
    if arguments.verbose {
        let Copied { files, directories, bytes, .. } = &copied;
        crate::output::print(&format!("{files} files and {directories} directories, {}\n", size_text(*bytes)))?;
    }
    // As cp(1): what was left out makes it no success.
    Ok(if copied.left_out.is_empty() { 0 } else { crate::exit::FAILED })
}

impl From<CopyError> for Failure {
    fn from(error: CopyError) -> Failure {
        let message = format!("iolab: {error}");
        if matches!(error, CopyError::Ended(_)) {
            return Failure { code: INTERRUPTED, message };
        }
        if matches!(error, CopyError::Directory(_)) { Failure::mistake(message) } else { Failure::failed(message) }
    }
}

fn add(sum: &mut Copied, copied: Copied) {
    sum.files += copied.files;
    sum.directories += copied.directories;
    sum.bytes += copied.bytes;
    sum.left_out.extend(copied.left_out);
}

/// Shows how far the copies are, and ends them when somebody wants that.
struct Onlooker {
    progress: Progress<'static>,
    /// Bytes of the copies before this one.
    before: u64,
}

impl Onlooker {
    fn new(total: Option<u64>) -> Onlooker {
        Onlooker { progress: Progress::new(&StandardError, "copying", Unit::Bytes, total), before: 0 }
    }

    fn go_on(&mut self, done: &Copied) -> bool {
        self.progress.at(self.before + done.bytes);
        INTERRUPTS.load(Ordering::Relaxed) == 0
    }
}

/// Bytes of files of this machine and of what is in folders; what cannot be looked at counts as
/// nothing here, and fails when it is copied.
fn bytes_of(path: &Path) -> u64 {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return 0 };
    match metadata.is_dir() {
        true => {
            std::fs::read_dir(path).map_or(0, |entries| entries.flatten().map(|entry| bytes_of(&entry.path())).sum())
        }
        false => metadata.len(),
    }
}

fn into_image(arguments: &Arguments, sources: &[OsString], destination: &[u8]) -> Result<Copied, Failure> {
    Image::open(&arguments.image, Access::Write)?.with_fs(async |fs: &Volume| {
        let end = destination.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let destination = &destination[..end];
        let wrong = super::inside(&arguments.image, destination);
        let folder = super::folder(fs, destination).await;
        if folder.is_none() && sources.len() > 1 {
            return Err(wrong(iolab_logfs::Error::NotDirectory));
        }
        let mut sum = Copied::default();
        let mut onlooker = Onlooker::new(Some(sources.iter().map(|source| bytes_of(Path::new(source))).sum()));
        for source in sources {
            onlooker.before = sum.bytes;
            let from = Path::new(source);
            let (parent, name) = match folder {
                // A path without a last name (`.`, `/`) is what is in it.
                Some(folder) => match from.file_name() {
                    Some(name) => (folder, name.as_bytes().to_vec()),
                    None => {
                        add(&mut sum, copy_contents(fs, from, folder, (arguments, destination), &mut onlooker).await?);
                        continue;
                    }
                },
                None => {
                    let (parent, name) = fs.resolve_parent(destination).await.map_err(&wrong)?;
                    (parent, name.to_vec())
                }
            };
            let path = if folder.is_some() { [destination, b"/", &name].concat() } else { destination.to_vec() };
            let source = Source { path: from, recursive: arguments.recursive };
            add(&mut sum, from_host_told(fs, source, (parent, &name), &path, &mut |done| onlooker.go_on(done)).await?);
        }
        Ok(sum)
    })
}

/// What is in a folder, without the folder.
async fn copy_contents(
    fs: &Volume,
    from: &Path,
    folder: InodeId,
    (arguments, destination): (&Arguments, &[u8]),
    onlooker: &mut Onlooker,
) -> Result<Copied, Failure> {
    if !arguments.recursive {
        return Err(CopyError::Directory(from.display().to_string()).into());
    }
    let wrong = |error| Failure::failed(format!("iolab: {}: {error}", from.display()));
    let mut sum = Copied::default();
    let before = onlooker.before;
    for entry in std::fs::read_dir(from).map_err(wrong)? {
        let name = entry.map_err(wrong)?.file_name();
        let path = [destination, b"/", name.as_bytes()].concat();
        let source = from.join(&name);
        let source = Source { path: &source, recursive: true };
        onlooker.before = before + sum.bytes;
        let told = &mut |done: &Copied| onlooker.go_on(done);
        add(&mut sum, from_host_told(fs, source, (folder, name.as_bytes()), &path, told).await?);
    }
    Ok(sum)
}

fn out_of_image(arguments: &Arguments, sources: &[Vec<u8>], destination: &Path) -> Result<Copied, Failure> {
    if sources.len() > 1 && !destination.is_dir() {
        let text = format!("iolab: {}: not a folder, and there are several sources", destination.display());
        return Err(Failure::mistake(text));
    }
    super::look(&arguments.image, async |fs: &Volume| {
        let mut sum = Copied::default();
        let mut onlooker = Onlooker::new(None);
        for source in sources {
            onlooker.before = sum.bytes;
            let name = source.rsplit(|byte| *byte == b'/').find(|name| !name.is_empty() && *name != b".");
            let target = if destination.is_dir() {
                // The root has no name: what is in it goes into the folder.
                Target { folder: destination, name: name.map(OsStr::from_bytes) }
            } else {
                Target::at(destination)
            };
            let told = &mut |done: &Copied| onlooker.go_on(done);
            add(&mut sum, to_host_told(fs, source, target, arguments.recursive, told).await?);
        }
        Ok(sum)
    })
}
