#!/usr/bin/env python3
"""Privileges of a program do not outlive somebody else's change of it.

usage: privileges.py FOLDER, as root, on a file system that honours set-user-id bits

The kernel keeps modes for as long as it was told to, and starts programs by what it keeps, without asking. So nothing here
looks at the mode between the change and the start, which would refresh it.
"""
import ctypes
import mmap
import os
import shutil
import stat
import sys

STRANGER = 65534
PAGE = 4096
KEEP_SIZE, PUNCH_HOLE = 1, 2
libc = ctypes.CDLL(None, use_errno=True)


def fallocate(path, mode, offset, length):
    fd = os.open(path, os.O_WRONLY)
    if libc.fallocate64(fd, mode, ctypes.c_long(offset), ctypes.c_long(length)) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


# Each changes the file in a way that leaves the program behind its old end as it was.
def buffered(path, end):
    os.pwrite(os.open(path, os.O_WRONLY), b"more", end)


def direct(path, end):
    page = mmap.mmap(-1, PAGE)
    os.pwritev(os.open(path, os.O_WRONLY | os.O_DIRECT), [page], -(-end // PAGE) * PAGE)


def punched(path, end):
    fallocate(path, PUNCH_HOLE | KEEP_SIZE, end + PAGE, PAGE)


def truncated(path, end):
    os.truncate(path, end + 1)


def as_stranger(what):
    """Does something as somebody else in a process of its own; gives what it printed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 1)
        os.setgroups([])
        os.setgid(STRANGER)
        os.setuid(STRANGER)
        try:
            what()
        except OSError as error:
            os.write(1, str(error).encode())
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        text = said.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return text.strip() if code == 0 else f"failed: {text}"


def main():
    folder = sys.argv[1]
    os.chmod(folder, 0o755)
    failed = False
    for change in (buffered, direct, punched, truncated):
        path = os.path.join(folder, f"program-{change.__name__}")
        shutil.copy("/usr/bin/id", path)
        end = os.stat(path).st_size
        os.truncate(path, end + 4 * PAGE)
        os.chmod(path, 0o4777)
        start = lambda: os.execv(path, ["id", "-u"])
        before = as_stranger(start)
        changed = as_stranger(lambda: change(path, end))
        after = as_stranger(start)
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if (before, changed, after, mode) != ("0", "", str(STRANGER), 0o777):
            print(f"not ok: {change.__name__}: ran as {before}, changed {changed!r}, ran as {after}, mode {mode:o}")
            failed = True
        os.unlink(path)
    sys.exit(failed)


main()
