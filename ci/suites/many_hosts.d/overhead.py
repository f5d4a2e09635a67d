"""What running together costs ranks on this machine: overhead.py ROUNDS RANKS IOLAB…

Ranks on the null engine, in turn as one run of all and as runs by themselves that begin at once. Figures, none of which depends on who else wants
the processors: operations per second of the workers' processor time, and the processor time of everything else (the client, and what serves the ranks)
per second of the run. For the latter, a short run is subtracted from a long one: what beginning and end cost is in both. The difference of the two ways,
divided by the ranks, is the share of throughput that ranks lose who each fill a processor. Several programs take turns.
"""
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile

rounds, ranks, programs = int(sys.argv[1]), int(sys.argv[2]), [os.path.realpath(name) for name in sys.argv[3:]]
SHORT, LONG = 2, 14
load = "--name=a --ioengine=null --rw=randread --bs=4k --size=64m --iodepth=32 --time_based --no-db --eta=never".split()


def processor_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measured(commands, recordings):
    """Operations, seconds of the workers' processor time, and seconds of all else."""
    before = processor_s()
    running = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for command in commands]
    for one in running:
        _, said = one.communicate()
        assert one.returncode == 0, said.decode()
    workers = []
    for name in recordings:
        with open(name) as file:
            workers += json.load(file)["workers"]
    assert len(workers) == ranks, workers
    ios = sum(direction["ios"] for worker in workers for direction in worker["directions"])
    of_workers = sum(worker["cpu"]["user_ns"] + worker["cpu"]["system_ns"] for worker in workers) / 1e9
    return ios, of_workers, processor_s() - before - of_workers


def together(program, seconds):
    words = [program, "hosts", "run", f"--hosts=a:{ranks}", "--rsh=sh shell", *load, f"--runtime={seconds}", "--record=all.iolab"]
    return measured([words], ["all.iolab"])


def apart(program, seconds):
    names = [f"{number}.iolab" for number in range(ranks)]
    return measured([[program, "run", *load, f"--runtime={seconds}", f"--record={name}"] for name in names], names)


def interval(values):
    """An interval of the median by order statistics: between two values, and the confidence that its coverage gives, at least 95 % if there are enough."""
    count, below, coverage = len(values), 0, 0.0
    for rank in range(count // 2 + 1):
        inside = 1 - 2 * sum(math.comb(count, fewer) for fewer in range(rank)) / 2**count
        if inside >= 0.95 or rank == 1:
            below, coverage = rank, inside
    return f"{values[below - 1]:.3f} to {values[-below]:.3f} ({100 * coverage:.0f} %)" if below else "unknown"


ratios, costs = [[] for _ in programs], [{together: [], apart: []} for _ in programs]
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    with open("shell", "w") as file:
        file.write('shift; exec sh -c "$*"\n')
    for _ in range(rounds):
        for program, ratio, cost in zip(programs, ratios, costs):
            pace = {}
            for way in (together, apart):
                _, _, short_s = way(program, SHORT)
                ios, workers_s, long_s = way(program, LONG)
                pace[way] = ios / workers_s
                cost[way].append((long_s - short_s) / (LONG - SHORT))
            ratio.append(pace[together] / pace[apart])
for program, ratio, cost in zip(programs, ratios, costs):
    print(f"{program}: {ranks} ranks on the null engine, {rounds} rounds")
    print("operations per second of processor time, together / apart:", " ".join(f"{one:.4f}" for one in sorted(ratio)), f"median {statistics.median(ratio):.4f}")
    for way in (together, apart):
        shares = sorted(100 * one for one in cost[way])
        print(f"processor time besides the workers, {way.__name__}, % of one processor:", " ".join(f"{share:.2f}" for share in shares), f"median {statistics.median(shares):.2f}")
    lost = sorted(100 * (one - other) / ranks for one, other in zip(cost[together], cost[apart]))
    print("throughput lost by running together, %:", " ".join(f"{share:.3f}" for share in lost), f"median {statistics.median(lost):.3f}, {interval(lost)}")
