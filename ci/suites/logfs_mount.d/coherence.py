#!/usr/bin/env python3
"""Buffered, direct, asynchronous and mapped access to one file agree.

usage: coherence.py FILE ROUNDS SEED

A round overwrites a range by one of the four ways while two threads read it, by read(2) and through a mapping. When the write is
acknowledged, every way of reading must show what was written: nobody may be left with the old bytes. Then as many rounds in which
only direct access has the file open all the time, and a thread that reads through the page cache opens and closes it for each read.
"""
import ctypes
import mmap
import os
import random
import struct
import sys
import threading

PAGE = 4096
SYS = {"x86_64": (206, 207, 208, 209), "aarch64": (0, 1, 4, 2)}[os.uname().machine]
SETUP, DESTROY, GETEVENTS, SUBMIT = SYS
PWRITE = 1
libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class Aio:
    """One context of the kernel's asynchronous I/O."""

    def __init__(self):
        self.context = ctypes.c_ulong(0)
        call(SETUP, ctypes.c_int(8), ctypes.byref(self.context))

    def write(self, fd, buffer, offset):
        """Submits one write and waits for its completion."""
        address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        iocb = ctypes.create_string_buffer(
            struct.pack("<QIIHhIQQqQII", 1, 0, 0, PWRITE, 0, fd, address, len(buffer), offset, 0, 0, 0), 64)
        pointers = (ctypes.c_void_p * 1)(ctypes.addressof(iocb))
        call(SUBMIT, self.context, ctypes.c_long(1), pointers)
        event = ctypes.create_string_buffer(32)
        call(GETEVENTS, self.context, ctypes.c_long(1), ctypes.c_long(1), event, None)
        done = struct.unpack("<QQqq", event.raw)[2]
        if done != len(buffer):
            raise OSError(-done, f"an asynchronous write of {len(buffer)} bytes gave {done}")


class File:
    """The file through every way there is."""

    def __init__(self, path, size):
        self.size = size
        self.buffered = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.pwrite(self.buffered, bytes(size), 0)
        os.fsync(self.buffered)
        self.direct = os.open(path, os.O_RDWR | os.O_DIRECT)
        self.mapping = mmap.mmap(self.buffered, size, mmap.MAP_SHARED)
        self.aio = Aio()
        self.path = path

    def write(self, way, offset, content):
        buffer = mmap.mmap(-1, len(content))
        buffer[:] = content
        if way == "buffered":
            os.pwrite(self.buffered, content, offset)
        elif way == "direct":
            os.pwritev(self.direct, [buffer], offset)
        elif way == "asynchronous":
            self.aio.write(self.direct, buffer, offset)
        else:
            self.mapping[offset:offset + len(content)] = content
            # Direct reads see a mapping once it has been written back.
            self.mapping.flush(offset, len(content))

    def read(self, way, offset, length):
        if way == "buffered":
            return os.pread(self.buffered, length, offset)
        if way == "direct":
            buffer = mmap.mmap(-1, length)
            done = os.preadv(self.direct, [buffer], offset)
            return buffer[:done]
        if way == "mapped":
            return self.mapping[offset:offset + length]
        fd = os.open(self.path, os.O_RDONLY)
        try:
            # One page takes less time than most writes: the file is often closed again before they end.
            return os.pread(fd, PAGE if way == "reopened for a page" else length, offset)
        finally:
            os.close(fd)

    def close_all_but_direct(self):
        self.mapping.close()
        os.close(self.buffered)


class Rounds:
    """Overwrites a file again and again, and counts who sees old bytes."""

    def __init__(self, file, chance):
        self.file = file
        self.chance = chance
        self.number = 0
        self.wrong = {}

    def run(self, rounds, ways, lookers, seeing):
        current = [(0, self.file.size)]
        ending = threading.Event()

        def look(way):
            while not ending.is_set():
                self.file.read(way, *current[0])

        threads = [threading.Thread(target=look, args=(way,)) for way in lookers]
        for thread in threads:
            thread.start()
        try:
            for _ in range(rounds):
                self.round(self.chance.choice(ways), seeing, current)
        finally:
            ending.set()
            for thread in threads:
                thread.join()

    def round(self, way, seeing, current):
        self.number += 1
        length = self.chance.choice([1, 1, 2, 4, 16, 64, 160]) * PAGE
        offset = self.chance.randrange(0, self.file.size - length + 1, PAGE)
        content = struct.pack("<Q", self.number) * (length // 8)
        current[0] = (offset, length)
        self.file.write(way, offset, content)
        for seen in seeing:
            if self.file.read(seen, offset, length) != content:
                self.wrong[way, seen] = self.wrong.get((way, seen), 0) + 1


def main():
    path, rounds, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    file = File(path, 640 << 10)
    test = Rounds(file, random.Random(seed))
    test.run(rounds, ["asynchronous", "asynchronous", "direct", "buffered", "mapped"], ["buffered", "mapped"],
             ["buffered", "mapped", "direct", "reopened"])
    file.close_all_but_direct()
    test.run(rounds, ["asynchronous", "asynchronous", "direct"], ["reopened for a page"], ["reopened", "direct"])
    for (way, seen), count in sorted(test.wrong.items()):
        print(f"not ok: {count} of {2 * rounds} rounds: written {way}, old bytes seen {seen}")
    sys.exit(bool(test.wrong))


main()
