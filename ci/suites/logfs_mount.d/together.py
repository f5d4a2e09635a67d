"""Processes beside each other on one mount: `together.py FOLDER PROCESSES`.

Each moves files of its own between the top level and directories of several domains, writes, reads, links and removes them, and holds
all that it finds against what it did. All of them fight for a few names at top level, where only the errors that a race allows may
come. In the end the names that are there are those that can be.
"""

import errno
import os
import random
import sys

ALLOWED = {errno.ENOENT, errno.EEXIST}


def race(root, number):
    one, other = (os.path.join(root, f"raced{number.randrange(3)}") for _ in range(2))
    try:
        match number.randrange(4):
            case 0:
                os.close(os.open(one, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            case 1:
                os.rename(one, other)
            case 2:
                os.unlink(one)
            case _:
                os.link(one, other)
    except OSError as error:
        # EXDEV: a link to a file of another domain.
        if error.errno not in ALLOWED | {errno.EXDEV}:
            raise


def step(root, mine, files, number):
    name = f"f{number.randrange(5)}"
    at = files.get(name)
    kind = number.randrange(6)
    if at is None:
        folder = number.choice(mine)
        content = number.randbytes(number.randrange(200_000))
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
        files[name] = (folder, content)
        return
    folder, content = at
    path = os.path.join(folder, name)
    if kind == 0:
        os.unlink(path)
        del files[name]
    elif kind == 1:
        place = number.randrange(len(content) + 1)
        piece = number.randbytes(number.randrange(1, 20_000))
        descriptor = os.open(path, os.O_RDWR)
        os.pwrite(descriptor, piece, place)
        if number.randrange(8) == 0:
            os.fsync(descriptor)
        os.close(descriptor)
        files[name] = (folder, content[:place] + piece + content[place + len(piece):])
    elif kind == 2:
        to = number.choice(mine)
        try:
            os.rename(path, os.path.join(to, name))
            files[name] = (to, content)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
    else:
        with open(path, "rb") as file:
            if file.read() != content:
                raise SystemExit(f"{path} holds something else")
        if os.stat(path).st_size != len(content):
            raise SystemExit(f"{path} has another size")


def work(root, seed):
    number = random.Random(seed)
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[seed % len(os.sched_getaffinity(0))]})
    mine, files = [], {}
    for folder in range(4):
        path = os.path.join(root, f"of{seed}.{folder}")
        os.mkdir(path)
        mine.append(path)
    for count in range(400):
        step(root, mine, files, number)
        if count % 3 == 0:
            race(root, number)
    for folder in mine:
        expected = {name for name, (place, _) in files.items() if place == folder}
        if set(os.listdir(folder)) != expected:
            raise SystemExit(f"{folder} has other names")
    for name, (folder, _) in files.items():
        os.unlink(os.path.join(folder, name))
    for folder in mine:
        os.rmdir(folder)


def main():
    root, processes = sys.argv[1], int(sys.argv[2])
    children = []
    for seed in range(processes):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work(root, seed)
                code = 0
            finally:
                sys.stdout.flush()
                os._exit(code)
        children.append(child)
    failed = [child for child in children if os.waitpid(child, 0)[1] != 0]
    left = {name for name in os.listdir(root) if name.startswith(("of", "raced"))}
    for name in left:
        if not name.startswith("raced"):
            raise SystemExit(f"{name} is left")
        os.unlink(os.path.join(root, name))
    sys.exit(1 if failed else 0)


main()
