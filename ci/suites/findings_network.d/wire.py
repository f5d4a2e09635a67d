"""A wire between two network namespaces, in user space, for kernels without netem.

wire.py NAMESPACE_A ADDRESS_A NAMESPACE_B ADDRESS_B DELAY_MS LOSS_PERCENT MBIT_PER_SECOND, where 0 is no limit. What waits longer than 50 ms for a
full wire is dropped.
"""

import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
LONGEST_WAIT_S = 0.05
libc = ctypes.CDLL(None, use_errno=True)


def end(namespace, address):
    """A TUN device in a namespace; its descriptor works in all."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    if libc.setns(there, 0):
        raise OSError(ctypes.get_errno(), namespace)
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"wire0", IFF_TUN | IFF_NO_PI))
    subprocess.run(["ip", "addr", "add", f"{address}/24", "dev", "wire0"], check=True)
    subprocess.run(["ip", "link", "set", "wire0", "up", "txqueuelen", "1000"], check=True)
    if libc.setns(home, 0):
        raise OSError(ctypes.get_errno(), "the way back")
    return device


one, other = end(*sys.argv[1:3]), end(*sys.argv[3:5])
delay_s, loss, rate = float(sys.argv[5]) / 1000, float(sys.argv[6]) / 100, float(sys.argv[7]) * 125000
on_the_way, free_at, number = [], {one: 0.0, other: 0.0}, 0
while True:
    now = time.monotonic()
    while on_the_way and on_the_way[0][0] <= now:
        _, _, to, packet = heapq.heappop(on_the_way)
        try:
            os.write(to, packet)
        except BlockingIOError:
            pass
    wait_s = max(0, on_the_way[0][0] - now) if on_the_way else 1
    for came_from in select.select([one, other], [], [], wait_s)[0]:
        try:
            while True:
                packet = os.read(came_from, 65536)
                to = other if came_from == one else one
                at = time.monotonic()
                if random.random() < loss or rate and free_at[to] - at > LONGEST_WAIT_S:
                    continue
                if rate:
                    at = free_at[to] = max(free_at[to], at) + len(packet) / rate
                number += 1
                heapq.heappush(on_the_way, (at + delay_s, number, to, packet))
        except BlockingIOError:
            pass
