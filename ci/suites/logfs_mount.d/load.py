"""A load whose server is killed, and the check of what it was promised.

`load.py write SEED SAID` writes, appends, renames, truncates and deletes files of a folder in the current one until the file system is gone. After
each successful fsync it appends to SAID (on another file system) which file then had which content, before the next change of that
file. `load.py check SAID` looks whether each file is at least as new as what was said last: its content is that, or one of a
later, unacknowledged step, which is said before it begins. A write that begins within a page may come to the server as two requests (fs/fuse/file.c: a
page of which the kernel knows only a part goes by itself): a server that is killed between them leaves the first.
"""

import hashlib
import os
import random
import sys


def digest(content):
    return hashlib.sha256(content).hexdigest()[:16]


def say(said, *words):
    said.write((" ".join(map(str, words)) + "\n").encode())


PAGE = 4096


def halfway(how, old, new):
    """The content between the two requests of a write, if there may be two."""
    if how == "append":
        at, end = len(old), len(new)
    elif how[0] == "write":
        at, end = how[1], how[1] + len(how[2])
    else:
        return None
    cut = at - at % PAGE + PAGE
    return new[:cut] + old[cut:] if at % PAGE and cut < end else None


def change(number, content):
    """The next content of a file, by one system call."""
    kind = number.randrange(4)
    if kind == 0 or content is None:
        return "replace", bytes(number.randbytes(number.randrange(1, 60000)))
    if kind == 1:
        return "append", content + number.randbytes(number.randrange(1, 9000))
    if kind == 2:
        at = number.randrange(len(content) + 1)
        piece = number.randbytes(number.randrange(1, 30000))
        return ("write", at, piece), content[:at] + piece + content[at + len(piece):]
    return "truncate", content[:number.randrange(len(content) + 1)]


def perform(path, how, old, new):
    if how == "replace":
        # Whole or not at all: by a rename.
        with open(path + ".new", "wb", buffering=0) as file:
            file.write(new)
        os.rename(path + ".new", path)
        return
    with open(path, "r+b", buffering=0) as file:
        if how == "append":
            file.seek(0, os.SEEK_END)
            file.write(new[len(old):])
        elif how == "truncate":
            file.truncate(len(new))
        else:
            file.seek(how[1])
            file.write(how[2])


def write(seed, said_path):
    number = random.Random(seed)
    folder = f"load{seed}"
    contents = {}
    with open(said_path, "wb", buffering=0) as said:
        try:
            os.mkdir(folder)
            sync(folder)
            say(said, "folder", folder)
            while True:
                name = f"file{number.randrange(12)}"
                path = os.path.join(folder, name)
                how, new = change(number, contents.get(name))
                between = halfway(how, contents.get(name), new)
                if between is not None:
                    say(said, "may", name, digest(between))
                say(said, "may", name, digest(new))
                perform(path, how, contents.get(name), new)
                contents[name] = new
                if number.randrange(3) == 0:
                    sync(path)
                    sync(folder)
                    say(said, "must", name, digest(new))
        except OSError:
            # The server is gone; anything before that is a fault, which its exit code tells.
            return 0


def sync(path):
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check(said_path):
    allowed, folder, promises = {}, None, 0
    for line in open(said_path):
        words = line.split()
        if words[0] == "folder":
            folder = words[1]
        elif words[0] == "may":
            allowed.setdefault(words[1], [None]).append(words[2])
        else:
            promises += 1
            known = allowed[words[1]]
            # The last one said is what was synced.
            assert known[-1] == words[2]
            allowed[words[1]] = known[-1:]
    if folder is None:
        return 0
    for name, states in allowed.items():
        path = os.path.join(folder, name)
        found = digest(open(path, "rb").read()) if os.path.exists(path) else None
        if found not in states:
            print(f"{path}: {found} is none of {states}")
            return 1
    print(f"killed after {promises} acknowledged syncs, {sum(map(len, allowed.values()))} states allowed")
    return 0


if __name__ == "__main__":
    sys.exit({"write": write, "check": check}[sys.argv[1]](*sys.argv[2:]))
