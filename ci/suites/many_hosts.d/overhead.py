"""What running together costs ranks on this machine: overhead.py ROUNDS RANKS IOLAB

Ranks on the null engine, in turn as one run of all and as runs by themselves that begin at once. Figures, none of which depends on who else wants
the processors: operations per second of the workers' processor time, and the processor time of everything else (the client, and what serves the ranks)
per second of the run. For the latter, a short run is subtracted from a long one: what beginning and end cost is in both. The difference of the two ways,
divided by the ranks, is the share of throughput that ranks lose who each fill a processor.
"""
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

rounds, ranks, program = int(sys.argv[1]), int(sys.argv[2]), os.path.realpath(sys.argv[3])
SHORT, LONG = 2, 8
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


def together(seconds):
    words = [program, "hosts", "run", f"--hosts=a:{ranks}", "--rsh=sh shell", *load, f"--runtime={seconds}", "--record=all.iolab"]
    return measured([words], ["all.iolab"])


def apart(seconds):
    names = [f"{number}.iolab" for number in range(ranks)]
    return measured([[program, "run", *load, f"--runtime={seconds}", f"--record={name}"] for name in names], names)


ratios, costs = [], {together: [], apart: []}
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    with open("shell", "w") as file:
        file.write('shift; exec sh -c "$*"\n')
    for _ in range(rounds):
        pace = {}
        for way in (together, apart):
            _, _, short_s = way(SHORT)
            ios, workers_s, long_s = way(LONG)
            pace[way] = ios / workers_s
            costs[way].append((long_s - short_s) / (LONG - SHORT))
        ratios.append(pace[together] / pace[apart])
print(f"{ranks} ranks on the null engine, {rounds} rounds")
print("operations per second of processor time, together / apart:", " ".join(f"{ratio:.4f}" for ratio in sorted(ratios)), f"median {statistics.median(ratios):.4f}")
for way in (together, apart):
    shares = sorted(100 * cost for cost in costs[way])
    print(f"processor time besides the workers, {way.__name__}, % of one processor:", " ".join(f"{share:.2f}" for share in shares), f"median {statistics.median(shares):.2f}")
lost = sorted(100 * (one - other) / ranks for one, other in zip(costs[together], costs[apart]))
print("throughput lost by running together, %:", " ".join(f"{share:.3f}" for share in lost), f"median {statistics.median(lost):.3f}")
