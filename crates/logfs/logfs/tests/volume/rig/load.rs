//! Random operations, applied to a file system and to the model, with results compared.

use iolab_disk::Buffer;
use iolab_logfs::{Error, InodeId, LogFs, Occupied, Owner, Span, Volume};

use super::model::{Model, What};
use super::{BLOCK, CLUSTER, Random};

/// One operation with all its arguments.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Create(InodeId, Vec<u8>),
    MakeDirectory(InodeId, Vec<u8>),
    Symlink(InodeId, Vec<u8>, Vec<u8>),
    Link(InodeId, InodeId, Vec<u8>),
    Unlink(InodeId, Vec<u8>),
    RemoveDirectory(InodeId, Vec<u8>),
    Rename((InodeId, Vec<u8>), (InodeId, Vec<u8>)),
    Exchange((InodeId, Vec<u8>), (InodeId, Vec<u8>)),
    /// A file without a name, with this content, which then gets one.
    Unnamed(InodeId, Vec<u8>, u8),
    Write(InodeId, u64, u8, usize),
    Append(InodeId, u8, usize),
    Truncate(InodeId, u64),
    Punch(InodeId, u64, u64),
    Allocate(InodeId, u64),
    Read(InodeId, u64, usize),
    Fsync(InodeId),
    Sync,
    Checkpoint,
}

/// Content that shows where it is from.
pub(crate) fn bytes(mark: u8, length: usize) -> Vec<u8> {
    let mut content = vec![0; length];
    for (number, piece) in content.chunks_mut(61).enumerate() {
        piece.fill(mark.wrapping_add(number as u8));
    }
    content
}

/// A length: mostly small, some medium, few that take whole clusters.
fn length(random: &mut Random, most: u64) -> usize {
    let limit = match random.below(10) {
        0..=3 => 300,
        4..=6 => 3_000,
        7..=8 => u64::from(CLUSTER),
        _ => u64::from(CLUSTER) * 4,
    };
    let length = random.below(limit.min(most)) as usize + 1;
    // Whole blocks take another path than other lengths.
    if random.below(2) == 0 { length.next_multiple_of(BLOCK as usize) } else { length }
}

/// The bytes of all buffers.
pub(crate) fn joined(buffers: &[Buffer]) -> Vec<u8> {
    buffers.iter().flat_map(|buffer| buffer.to_vec()).collect()
}

/// Length of the pieces that content is divided into: one to three blocks.
fn piece_bytes(choice: u8) -> usize {
    BLOCK as usize * (1 + choice as usize / 3 % 3)
}

/// The range in one or two spans.
fn spans(offset: u64, length: usize, choice: u8) -> Vec<Span> {
    let length = length as u64;
    let first = u64::from(BLOCK) * (1 + u64::from(choice) / 16);
    if choice.is_multiple_of(2) || first >= length {
        return vec![Span { offset, length }];
    }
    vec![Span { offset, length: first }, Span { offset: offset + first, length: length - first }]
}

/// The next random step.
pub(crate) fn step(random: &mut Random, model: &Model, most_bytes: u64) -> Step {
    let inodes = model.inodes();
    let any = |random: &mut Random| inodes[random.below(inodes.len() as u64) as usize];
    // Few names, so that they collide.
    let name = |random: &mut Random| format!("n{}", random.below(8)).into_bytes();
    let place = |random: &mut Random| (any(random), name(random));
    let offset = |random: &mut Random, inode| {
        let size = model.size(inode).unwrap_or(0);
        let offset = random.below(size + 2_000);
        if random.below(2) == 0 { offset - offset % u64::from(BLOCK) } else { offset }
    };
    let mark = random.next() as u8;
    match random.below(40) {
        0..=4 => {
            let (directory, name) = place(random);
            Step::Create(directory, name)
        }
        5..=6 => {
            let (directory, name) = place(random);
            Step::MakeDirectory(directory, name)
        }
        7 => {
            let (directory, name) = place(random);
            Step::Symlink(directory, name, bytes(mark | 1, 1 + mark as usize / 2).iter().map(|b| b | 1).collect())
        }
        8 => Step::Link(any(random), any(random), name(random)),
        9..=12 => {
            let (directory, name) = place(random);
            Step::Unlink(directory, name)
        }
        13 => {
            let (directory, name) = place(random);
            Step::RemoveDirectory(directory, name)
        }
        14..=15 => Step::Rename(place(random), place(random)),
        16 => Step::Exchange(place(random), place(random)),
        17 => {
            let (directory, name) = place(random);
            Step::Unnamed(directory, name, mark)
        }
        18..=25 => {
            let inode = any(random);
            Step::Write(inode, offset(random, inode), mark, length(random, most_bytes))
        }
        26..=29 => Step::Append(any(random), mark, length(random, most_bytes)),
        30..=31 => {
            let inode = any(random);
            Step::Truncate(inode, offset(random, inode))
        }
        32 => {
            let inode = any(random);
            Step::Punch(inode, offset(random, inode), random.below(9_000) + 1)
        }
        33 => {
            let inode = any(random);
            Step::Allocate(inode, offset(random, inode))
        }
        34..=35 => {
            let inode = any(random);
            Step::Read(inode, offset(random, inode), length(random, most_bytes))
        }
        36..=37 => Step::Fsync(any(random)),
        38 => Step::Sync,
        _ => Step::Checkpoint,
    }
}

type Answer = Result<(), Error>;

/// `LogFs` and `Volume` have operations of the same names: this defines the same step for both.
macro_rules! performs {
    ($module:ident, $type:ty) => {
        mod $module {
            use super::*;

            type Fs = $type;

            /// Applies a step to both; panics when the results differ. `NoSpace` may come at any
            /// time, and then nothing has changed.
            pub(crate) async fn perform(fs: &Fs, model: &mut Model, step: &Step) -> Result<(), Error> {
                let (found, expected) = match step {
                    Step::Create(directory, name) => {
                        let made = fs.create(*directory, name, Owner::default()).await;
                        no_space(&made)?;
                        (made.clone().map(drop), model.make(*directory, name, &made, What::File(Vec::new())))
                    }
                    Step::MakeDirectory(directory, name) => {
                        let made = fs.make_directory(*directory, name, Owner::default()).await;
                        no_space(&made)?;
                        (made.clone().map(drop), model.make(*directory, name, &made, What::Directory))
                    }
                    Step::Symlink(directory, name, target) => {
                        let made = fs.symlink(*directory, name, target, Owner::default()).await;
                        no_space(&made)?;
                        (made.clone().map(drop), model.make(*directory, name, &made, What::Symlink(target.clone())))
                    }
                    Step::Link(inode, directory, name) => {
                        let found = fs.link(*inode, *directory, name).await;
                        no_space(&found)?;
                        (found, model.link(*inode, *directory, name))
                    }
                    Step::Unlink(directory, name) => {
                        (fs.unlink(*directory, name).await, model.unlink(*directory, name))
                    }
                    Step::RemoveDirectory(directory, name) => {
                        (fs.remove_directory(*directory, name).await, model.remove_directory(*directory, name))
                    }
                    Step::Rename(from, to) => {
                        let (from, to) = ((from.0, &from.1[..]), (to.0, &to.1[..]));
                        let found = fs.rename(from, to, Occupied::Replace).await;
                        no_space(&found)?;
                        (found, model.rename(from, to))
                    }
                    Step::Exchange(from, to) => {
                        let (from, to) = ((from.0, &from.1[..]), (to.0, &to.1[..]));
                        let found = fs.rename(from, to, Occupied::Exchange).await;
                        no_space(&found)?;
                        (found, model.exchange(from, to))
                    }
                    Step::Unnamed(directory, name, mark) => unnamed(fs, model, *directory, name, *mark).await?,
                    Step::Write(..) | Step::Append(..) => write(fs, model, step).await?,
                    Step::Truncate(inode, size) => (fs.truncate(*inode, *size).await, model.truncate(*inode, *size)),
                    Step::Punch(inode, offset, length) => {
                        (fs.punch(*inode, *offset, *length).await, model.punch(*inode, *offset, *length))
                    }
                    Step::Allocate(inode, end) => {
                        (fs.allocate(*inode, 0, end + 1).await, model.allocate(*inode, end + 1))
                    }
                    Step::Read(inode, offset, length) => (read(fs, model, (*inode, *offset, *length)).await, Ok(())),
                    Step::Fsync(inode) => {
                        let expected = if model.inodes().contains(inode) { Ok(()) } else { Err(Error::NotFound) };
                        (fs.fsync(*inode).await, expected)
                    }
                    Step::Sync => (fs.sync().await, Ok(())),
                    Step::Checkpoint => {
                        fs.want_checkpoint();
                        (Ok(()), Ok(()))
                    }
                };
                assert_eq!(found, expected, "{step:?}");
                expected
            }

            /// Makes a file without a name, and gives it one when it has its content.
            async fn unnamed(
                fs: &Fs,
                model: &mut Model,
                directory: InodeId,
                name: &[u8],
                mark: u8,
            ) -> Result<(Answer, Answer), Error> {
                let content = bytes(mark, 700);
                let made = fs.create_unnamed(directory, Owner::default()).await;
                no_space(&made)?;
                let named = match &made {
                    Ok(inode) => {
                        let written = fs.write(*inode, 0, &content).await;
                        let linked = match written {
                            Ok(()) => fs.link(*inode, directory, name).await,
                            refused => refused,
                        };
                        fs.let_go(*inode).await;
                        linked.map(|()| *inode)
                    }
                    Err(error) => Err(error.clone()),
                };
                no_space(&named)?;
                Ok((named.clone().map(drop), model.make(directory, name, &named, What::File(content))))
            }

            /// Writes and appends, from borrowed bytes, a buffer or several buffers.
            async fn write(fs: &Fs, model: &mut Model, step: &Step) -> Result<(Answer, Answer), Error> {
                let (inode, offset, mark, length) = match step {
                    Step::Write(inode, offset, mark, length) => (*inode, Some(*offset), *mark, *length),
                    Step::Append(inode, mark, length) => (*inode, None, *mark, *length),
                    _ => panic!("{step:?} is no write"),
                };
                let bytes = bytes(mark, length);
                let buffer = || Buffer::padded(&bytes, 1);
                let pieces = || bytes.chunks(piece_bytes(mark)).map(|piece| Buffer::padded(piece, 1)).collect();
                let found = match (offset, mark % 3) {
                    (Some(offset), 1) => {
                        fs.write_vectored(inode, &spans(offset, length, mark), pieces()).await.map(|()| offset)
                    }
                    (Some(offset), 0) => fs.write(inode, offset, &bytes).await.map(|()| offset),
                    (Some(offset), _) => {
                        given_back(fs.write_buffer(inode, offset, buffer()).await, &bytes).map(|()| offset)
                    }
                    (None, 0) => fs.append(inode, &bytes).await,
                    (None, _) => given_back(fs.append_buffer(inode, buffer()).await, &bytes),
                };
                no_space(&found)?;
                let place = offset.map_or_else(|| model.size(inode), Ok);
                let expected = place.clone().and_then(|place| model.write(inode, place, &bytes));
                if expected.is_ok() {
                    assert_eq!(found.as_ref().ok(), place.as_ref().ok());
                }
                Ok((found.map(drop), expected))
            }

            /// Reads into a vector, a buffer and several buffers.
            async fn read(fs: &Fs, model: &Model, (inode, offset, length): (InodeId, u64, usize)) -> Answer {
                let (found, expected) = (fs.read(inode, offset, length).await, model.read(inode, offset, length));
                assert!(found == expected, "{length} bytes at {offset} of {inode:?} read as something else");
                let mut buffer = Buffer::zeroed(length);
                buffer.fill(0xa5);
                let (count, buffer) = fs.read_into(inode, offset, buffer).await;
                let buffer = buffer.expect("the buffer comes back");
                let found = count.map(|count| buffer[..count].to_vec());
                assert!(
                    found == expected,
                    "{length} bytes at {offset} of {inode:?} read into a buffer as something else"
                );
                let pieces = vec![0xa5; length];
                let pieces = pieces.chunks(piece_bytes(offset as u8)).map(|piece| Buffer::padded(piece, 1)).collect();
                let found = fs.read_vectored(inode, offset, pieces).await;
                let found = found.map(|(count, pieces)| joined(&pieces)[..count].to_vec());
                assert!(
                    found == expected,
                    "{length} bytes at {offset} of {inode:?} read into several buffers as something else"
                );
                Ok(())
            }
        }
    };
}

/// Releasing, which waits only where other cores may have to be asked.
trait LetGo {
    async fn let_go(&self, inode: InodeId);
}

impl LetGo for LogFs {
    async fn let_go(&self, inode: InodeId) {
        self.release(inode);
    }
}

impl LetGo for Volume {
    async fn let_go(&self, inode: InodeId) {
        self.release(inode).await;
    }
}

performs!(one, LogFs);
performs!(all, Volume);
pub(crate) use one::perform;

/// As `perform` on several domains: an operation that different domains cannot do together changes
/// nothing, and the model cannot know.
pub(crate) async fn perform_on_all(fs: &Volume, model: &mut Model, step: &Step) -> Result<(), Error> {
    if !crosses(model, step) {
        return all::perform(fs, model, step).await;
    }
    let answer = match step {
        Step::Rename(from, to) => fs.rename((from.0, &from.1), (to.0, &to.1), Occupied::Replace).await,
        Step::Exchange(from, to) => fs.rename((from.0, &from.1), (to.0, &to.1), Occupied::Exchange).await,
        Step::Link(inode, directory, name) => fs.link(*inode, *directory, name).await,
        other => panic!("{other:?} crosses nothing"),
    };
    assert_eq!(answer, Err(Error::CrossDomain), "{step:?}");
    answer
}

/// Whether a step is one that domains cannot do together.
fn crosses(model: &Model, step: &Step) -> bool {
    match step {
        Step::Link(inode, directory, _) if *directory != InodeId::ROOT && *inode != InodeId::ROOT => {
            inode.domain() != directory.domain()
        }
        Step::Rename(from, to) | Step::Exchange(from, to) => {
            let named = |(directory, name): &(InodeId, Vec<u8>)| {
                let found = model.lookup(*directory, name)?;
                Some((found, model.size(found) == Err(Error::IsDirectory)))
            };
            let (source, replaced) = (named(from), named(to));
            let domain = match source {
                Some((inode, _)) if from.0 == InodeId::ROOT => inode.domain(),
                None if from.0 == InodeId::ROOT => return false,
                _ => from.0.domain(),
            };
            match (to.0 == InodeId::ROOT, source, replaced) {
                (false, ..) => to.0.domain() != domain,
                (true, Some((_, true)), Some((old, true))) => old.domain() != domain,
                (true, Some(_), Some((old, _))) if matches!(step, Step::Exchange(..)) => old.domain() != domain,
                _ => false,
            }
        }
        _ => false,
    }
}

/// A buffer that was written is returned unchanged.
fn given_back<T>((answer, buffer): (Result<T, Error>, Option<Buffer>), bytes: &[u8]) -> Result<T, Error> {
    assert!(buffer.is_some_and(|buffer| buffer[..] == bytes[..]), "the buffer does not come back");
    answer
}

fn no_space<T>(answer: &Result<T, Error>) -> Result<(), Error> {
    if matches!(answer, Err(Error::NoSpace)) { Err(Error::NoSpace) } else { Ok(()) }
}
