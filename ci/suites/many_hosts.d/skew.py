"""How far apart ranks on this machine begin: skew.py STARTS RANKS IOLAB… [-- OPTION…]

With several programs, their starts take turns, so that what else the machine does is the same for all. Under `chrt -f 1`, nothing else takes the
processors of the ranks: that is a quiet machine. Options of the job follow `--`: `--cpus_allowed=$rank` gives each rank a processor.
"""
import json
import os
import subprocess
import sys
import tempfile

words = [*sys.argv[1:], "--"]
given, options = words[: words.index("--")], [word for word in words[words.index("--") :] if word != "--"]
starts, ranks, programs = int(given[0]), given[1], [os.path.realpath(program) for program in given[2:]]
load = "--name=a --ioengine=null --rw=randread --bs=4k --size=4m --rate_iops=1000 --time_based --runtime=50ms".split()
apart, late = ([[] for _ in programs] for _ in range(2))
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    with open("shell", "w") as file:
        file.write('shift; exec sh -c "$*"\n')
    for _ in range(starts):
        for number, program in enumerate(programs):
            command = [program, "hosts", "run", f"--hosts=a:{ranks}", "--rsh=sh shell", *load, *options, "--no-db", "--eta=never", "--record=it.iolab"]
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            with open("it.iolab") as file:
                skews = [host["start_skew_ns"] / 1000 for host in json.load(file)["hosts"]]
            apart[number].append(max(skews) - min(skews))
            late[number].append(max(skews))


def spread(values):
    ordered = sorted(values)
    at = {name: ordered[min(len(ordered) - 1, int(len(ordered) * share))] for name, share in [("median", 0.5), ("p90", 0.9), ("p98", 0.98), ("p99", 0.99)]}
    return " ".join(f"{name} {value:9.1f}" for name, value in at.items()) + f" max {ordered[-1]:9.1f}"


for number, program in enumerate(programs):
    print(f"{program}: {starts} starts of {ranks} ranks, us\n  apart                  {spread(apart[number])}\n  last after the moment  {spread(late[number])}")
