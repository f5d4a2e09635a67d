"""What one run loses while a reader looks at its page: windows.py IOLAB ORIGIN SERVER FOLDER NAME PAIRS JOB_OPTIONS...

One run, recorded as FOLDER/NAME.iolab, is divided into windows of WINDOW_S seconds (3; the intervals of the run are a third of it), with and without a
reader of its live events. Each pair of neighbours is compared by the operations of the intervals wholly inside of its windows; which of the two comes
first changes from pair to pair, so that drift cancels. The last reader stays until the run has ended, and must be told so. Prints the median of the ratios with a distribution-free 95 % interval (order statistics; Conover, Practical Nonparametric Statistics, 3.2),
and fails when the whole interval shows a loss of more than LIMIT.

The rate of a RAM disk varies too much to exclude a loss. So the processor time of the server, whose process is SERVER, and of the reader is measured, too (the
clock of their processes): what they run is all that they can take from the run in time, though not what they cost it in caches.
"""
import atexit
import http.client
import math
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../python/src"))
import iolab_recordings  # noqa: E402

program, origin, server, folder, name, pairs, *options = sys.argv[1:]
pairs = int(pairs)
# Two intervals at least are wholly inside of a window.
WINDOW_S = float(os.environ.get("WINDOW_S", 3))
INTERVAL_S = WINDOW_S / 3
LIMIT = 0.005


def order_interval(values, level=0.95):
    """The median and the narrowest pair of order statistics around it that hold it with at least this probability."""
    values, count = sorted(values), len(values)
    below, outside = 0, 0.0
    while (step := math.comb(count, below) / 2**count) + outside <= (1 - level) / 2:
        outside += step
        below += 1
    return statistics.median(values), values[max(below - 1, 0)], values[min(count - below, count - 1)]


def server_ns():
    """The processor time of the server so far, with that of threads which have ended (the clock of a process, clock_getcpuclockid(3))."""
    return time.clock_gettime_ns((~int(server) << 3) | 2)


class Reader(threading.Thread):
    """Reads live events until it is stopped or the run has ended."""

    def __init__(self):
        super().__init__()
        self.parts, self.was_told_of_the_end = 0, False
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(origin).netloc)
        self.connection.request("GET", f"{urllib.parse.urlsplit(url).path}/events")
        self.events = self.connection.getresponse()
        self.socket = self.connection.sock
        self.start()

    def run(self):
        try:
            for line in self.events:
                self.parts += line.startswith(b"event: part")
                self.was_told_of_the_end |= line.startswith(b"event: ended")
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass

    def stop(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.join()
        self.connection.close()


def page_is_there(url):
    try:
        with urllib.request.urlopen(url) as page:
            return b"data-events" in page.read()
    except OSError:
        return False


file = os.path.join(folder, f"{name}.iolab")
# The page is looked for at the beginning.
seconds = (2 * pairs + 1) * WINDOW_S
command = [program, "run", "--name=load", *options, "--rw=randread", "--time_based", f"--runtime={round(1000 * seconds)}ms"]
command += [f"--interval={round(1000 * INTERVAL_S)}ms", f"--record={file}", "--no-db", "--eta=never"]
with open(os.path.join(folder, "log"), "w") as log:
    run = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
atexit.register(run.kill)
url = f"{origin}/live/{name}.iolab"
while run.poll() is None and not page_is_there(url):
    time.sleep(0.1)
if run.poll() is not None:
    sys.exit(f"the run ended before it was looked at:\n{open(os.path.join(folder, 'log')).read()}")
# The recording says when it began by the same clock.
begun, windows, events = time.time(), [], 0
spent_ns = {True: [0, 0], False: [0, 0]}
for pair in range(pairs):
    for watched in (pair % 2 == 0, pair % 2 == 1):
        before_ns = server_ns(), time.process_time_ns()
        reader = Reader() if watched else None
        begin, end = time.time_ns(), int((begun + (len(windows) + 1) * WINDOW_S) * 1e9)
        time.sleep(max(0.0, (end - time.time_ns()) / 1e9))
        if reader:
            reader.stop()
            events += reader.parts
        after_ns = server_ns(), time.process_time_ns()
        spent_ns[watched] = [sum + after - before for sum, after, before in zip(spent_ns[watched], after_ns, before_ns)]
        windows.append((watched, begin, end))
last = Reader()
last.join()
assert last.was_told_of_the_end, "the page was not told of the end"
if run.wait():
    print(open(os.path.join(folder, "log")).read())
    sys.exit(1)
assert events > pairs, f"only {events} events: nobody looked"
recording = iolab_recordings.load(file)
started = recording.fields["started_unix_ns"]
intervals = [(started + one["start_ns"], one["length_ns"], one["ios"]) for one in recording.intervals()]


def rate(begin, end):
    inside = [(length, ios) for start, length, ios in intervals if start >= begin and start + length <= end]
    assert inside, "a window without an interval"
    return sum(ios for _, ios in inside) * 1e9 / sum(length for length, _ in inside)


ratios, plain = [], []
for pair in range(pairs):
    rates = {watched: rate(begin, end) for watched, begin, end in windows[2 * pair : 2 * pair + 2]}
    ratios.append(rates[True] / rates[False])
    plain.append(rates[False])
median, low, high = order_interval(ratios)
print(f"{' '.join(options)}: {pairs} pairs of windows, {events} parts were sent")
print(f"operations a second without a reader: {statistics.median(plain):.4g}; change with one: {100 * (median - 1):+.2f} % [{100 * (low - 1):+.2f} %, {100 * (high - 1):+.2f} %]")
for who, place in (("the server", 0), ("the reader, this script", 1)):
    with_one, without = (spent_ns[watched][place] / 1e6 / (pairs * WINDOW_S) for watched in (True, False))
    print(f"processor time of {who}: {with_one:.2f} ms a second with a reader, {without:.2f} without")
if high < 1 - LIMIT:
    sys.exit(f"a reader costs more than {100 * LIMIT} %")
print(f"a loss of {100 * LIMIT} % is " + ("excluded" if low > 1 - LIMIT else "not excluded: more pairs would say"))
