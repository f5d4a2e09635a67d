"""A host of the suite: runs the lines that the remote shell sends, with the connection as their standard input and output."""
import os
import socket
import subprocess
import sys

listener = socket.create_server((sys.argv[1], 2222))
environment = dict(os.environ)
if len(sys.argv) > 2:
    environment.update(LD_PRELOAD=sys.argv[2], CLOCK_AHEAD_MS=sys.argv[3])
print("listening", flush=True)
children = []
while True:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line = b""
    while not line.endswith(b"\n"):
        line += connection.recv(1)
    children = [child for child in children if child.poll() is None]
    children.append(subprocess.Popen(["sh", "-c", line.decode()], stdin=connection, stdout=connection, env=environment))
    connection.close()
