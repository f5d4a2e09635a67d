"""Runs fio and iolab in turns on one server and prints a row of the table for each depth.

Arguments: iolab's program, fio's, rounds, seconds of a run, a folder for reports, `judged` or `shown`, a name, options of the job. Judged,
it fails if an operation of iolab takes more user time than one of fio.
User time is that of all threads of a program (wait4), divided by its operations.
"""

import json
import os
import statistics
import subprocess
import sys

iolab, fio, rounds, seconds, folder, judged, name, *options = sys.argv[1:]
side = "write" if "--rw=randwrite" in options else "read"


def run(program, depth):
    path = f"{folder}/turn.json"
    job = ["--name=turn", "--rw=randread", "--bs=4k", "--size=256m", "--norandommap", f"--iodepth={depth}", "--time_based"]
    job += [f"--runtime={seconds}", "--thread", "--output-format=json", f"--output={path}", *options]
    command = [iolab, "run", f"--record={folder}/turn.iolab", "--force", *job] if program == "iolab" else [fio, *job]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} ended with {status}: {said}")
    with open(path) as report:
        text = report.read()
    found = json.loads(text[text.index("{"):])["jobs"][0]
    if found["error"] or not found[side]["total_ios"]:
        sys.exit(f"{' '.join(command)}: error {found['error']}, {found[side]['total_ios']} operations")
    return found[side]["iops"], usage.ru_utime * 1e6 / found[side]["total_ios"]


def ratio(pairs):
    ratios = [iolab / fio for fio, iolab in pairs]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return middle, f"{middle:.2f} ({low:.2f} to {high:.2f})"


dearer = False
for depth in (1, 32):
    found = {"fio": [], "iolab": []}
    for turn in range(int(rounds)):
        for program in ("fio", "iolab") if turn % 2 else ("iolab", "fio"):
            found[program].append(run(program, depth))
    rates, users = (list(zip(*([run[figure] for run in found[program]] for program in ("fio", "iolab")))) for figure in (0, 1))
    middles = [statistics.median(values) for pairs in (rates, users) for values in zip(*pairs)]
    user_ratio, user_text = ratio(users)
    dearer |= user_ratio > 1
    print(
        f"| {name}, depth {depth} | {middles[0] / 1000:.1f} k | {middles[1] / 1000:.1f} k | {ratio(rates)[1]} "
        f"| {middles[2]:.1f} | {middles[3]:.1f} | {user_text} |",
        flush=True,
    )
if dearer and judged == "judged":
    sys.exit("an operation of iolab takes more user time than one of fio")
