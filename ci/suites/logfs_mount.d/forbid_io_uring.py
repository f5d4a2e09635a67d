"""Runs a program that may not use io_uring: its system calls answer EPERM, as under the seccomp profiles of containers."""

import ctypes
import os
import platform
import struct
import sys

LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
EPERM = 1
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2

# io_uring_setup, io_uring_enter and io_uring_register have these numbers on every architecture.
forbidden = [425, 426, 427]
assert platform.machine() in ("x86_64", "aarch64")


def instruction(code, true, false, value):
    return struct.pack("HBBI", code, true, false, value)


program = instruction(LOAD, 0, 0, 0)
for position, number in enumerate(forbidden):
    program += instruction(JUMP_IF_EQUAL, len(forbidden) - position, 0, number)
program += instruction(RETURN, 0, 0, ALLOW) + instruction(RETURN, 0, 0, ERRNO | EPERM)
code = ctypes.create_string_buffer(program)
header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
if os.geteuid() != 0 and libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
    sys.exit("no new privileges")
if libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.create_string_buffer(header), 0, 0) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
