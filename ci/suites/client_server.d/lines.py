"""Compares two normal reports of clients: the same blocks, in any order of hosts."""

import re
import sys

BLOCK = re.compile(r"^(?:<[^>]*> )?(\S.*?): \(groupid=(\d+), jobs=(\d+)\): err= ?(\d+)", re.M)


def blocks(path):
    # Debian's fio does not always print the sum.
    return sorted(block for block in BLOCK.findall(open(path).read()) if block[0] != "All clients")


theirs, ours = (blocks(path) for path in sys.argv[1:3])
if theirs != ours or not ours:
    print(f"not ok: blocks of fio {theirs}, of iolab {ours}")
    sys.exit(1)
print(f"ok: the blocks of the normal report: {[name for name, *_ in ours]}")
