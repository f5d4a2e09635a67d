"""The remote shell of the suite: sends a line to a host, and carries bytes both ways, each as late as the network is long.

shell.py NETWORK DELAYED:MS HOST LINE: n3 is NETWORK.13; the delay is each way, for one host.
"""
import collections
import os
import select
import socket
import sys
import time

network, delayed, host, line = sys.argv[1:5]
far, milliseconds = delayed.split(":")
delay = float(milliseconds) / 1000 if host == far else 0.0
there = socket.create_connection((f"{network}.1{host[1:]}", 2222))
there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
there.sendall(line.encode() + b"\n")
# From where, to where, and what is on its way.
ways = {0: (there.fileno(), collections.deque()), there.fileno(): (1, collections.deque())}
open_ends = set(ways)
while open_ends:
    now = time.monotonic()
    dues = [queue[0][0] for _, queue in ways.values() if queue]
    wait = max(0.0, min(dues) - now) if dues else None
    ready, _, _ = select.select([end for end in open_ends], [], [], wait)
    for end in ready:
        piece = os.read(end, 65536)
        if not piece:
            open_ends.discard(end)
            # The end of one direction is the end of both: nobody is left to talk to.
            if end != 0:
                open_ends.clear()
        ways[end][1].append((time.monotonic() + delay, piece))
    for to, queue in ways.values():
        while queue and queue[0][0] <= time.monotonic():
            _, piece = queue.popleft()
            if not piece:
                if to != 1:
                    there.shutdown(socket.SHUT_WR)
                continue
            view = memoryview(piece)
            while view:
                view = view[os.write(to, view):]
# What is still on its way arrives.
for to, queue in ways.values():
    for due, piece in queue:
        time.sleep(max(0.0, due - time.monotonic()))
        try:
            os.write(to, piece)
        except OSError:
            break
