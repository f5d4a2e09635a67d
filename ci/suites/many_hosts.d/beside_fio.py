"""The same job on three hosts by fio's client and by iolab: beside_fio.py IOLAB REMOTE_SHELL NETWORK NAMESPACES ROUNDS.

When the first read of each host begins is what strace saw, by the one clock that the namespaces really have. The programs take turns.
"""
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

iolab, shell, network, tag, rounds = sys.argv[1:5] + [int(sys.argv[5])]
HOSTS = [1, 2, 3]
READ = re.compile(r"^\d+ +(\d+\.\d+) (?:pread64|preadv2?)\(.*(?:, 4096, |iov_len=4096)")
STRACE = "env -u LD_PRELOAD strace -f --seccomp-bpf -ttt -s 0 -e trace=pread64,preadv,preadv2 -E LD_PRELOAD=$LD_PRELOAD"

with open("data", "wb") as file:
    file.write(os.urandom(1 << 20))
with open("tracing", "w") as file:
    file.write(f'#!/bin/sh\nexec {STRACE} -o "{os.getcwd()}/trace.$(hostname).$$" "{iolab}" "$@"\n')
os.chmod("tracing", 0o755)


def job(seconds):
    with open("job.fio", "w") as file:
        file.write(f"[a]\nioengine=psync\nfilename={os.getcwd()}/data\nsize=1m\nrw=randread\nbs=4k\nrate_iops=2000\ntime_based\nruntime={seconds}\n")


def forget_traces():
    for path in glob.glob("trace.*"):
        os.remove(path)


def first_reads():
    """When the first read of each host began, s."""
    firsts = {}
    for path in glob.glob("trace.*"):
        host = path.split(".")[1]
        with open(path, errors="replace") as file:
            found = next((float(match.group(1)) for match in map(READ.match, file) if match), None)
        if found is not None:
            firsts[host] = min(found, firsts.get(host, found))
    if len(firsts) != len(HOSTS):
        sys.exit(f"the first reads of three hosts are expected, there are {firsts}")
    return firsts.values()


def serve():
    """fio's servers, and what is below each."""
    servers = []
    for host in HOSTS:
        line = f"exec {STRACE.replace('-E LD_PRELOAD=$LD_PRELOAD', '')} -o trace.n{host}.fio fio --server={network}.1{host}"
        servers.append(subprocess.Popen(["ip", "netns", "exec", f"{tag}-{host}", "sh", "-c", line], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    time.sleep(1.5)
    return servers


def end(servers):
    for host in HOSTS:
        pids = subprocess.run(["ip", "netns", "pids", f"{tag}-{host}"], capture_output=True, text=True).stdout.split()
        for pid in pids:
            with open(f"/proc/{pid}/cmdline") as file:
                if file.read().startswith("fio\0"):
                    os.kill(int(pid), signal.SIGKILL)
    for server in servers:
        server.wait()


def client(program):
    if program == "fio":
        clients = [word for host in HOSTS for word in (f"--client={network}.1{host}", "job.fio")]
        return ["fio", "--output-format=json", "--output=report.json", *clients]
    return [iolab, "hosts", "run", "--hosts=n1,n2,n3", "--rsh", shell, "--program", f"{os.getcwd()}/tracing", "--no-db", "--eta=never",
            "--output-format=json", "--output=report.json", "--force", "job.fio"]


def run(program, during=lambda: None):
    """How long it took, s, and its exit code."""
    began = time.monotonic()
    running = subprocess.Popen(client(program), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    during()
    return time.monotonic() - began, running.wait(), time.monotonic() - began


def kill_job():
    """The processes of the job on n1 that read."""
    time.sleep(4)
    victims = []
    for pid in subprocess.run(["ip", "netns", "pids", f"{tag}-1"], capture_output=True, text=True).stdout.split():
        with open(f"/proc/{pid}/cmdline") as file:
            words = file.read()
        if words.startswith("fio\0") or "internal-host-job" in words:
            victims.append(int(pid))
    for pid in victims:
        os.kill(pid, signal.SIGKILL)


apart = {"fio": [], "iolab": []}
percentiles = {}
job(1)
for _ in range(rounds):
    for program in apart:
        forget_traces()
        servers = serve() if program == "fio" else []
        _, code, _ = run(program)
        end(servers)
        if code != 0:
            sys.exit(f"{program}: exit code {code}")
        moments = first_reads()
        apart[program].append((max(moments) - min(moments)) * 1000)
        with open("report.json") as file:
            text = file.read()
        report = json.loads(text[text.index("{"):])
        together = report["all_ranks"] if program == "iolab" else next(one for one in report["client_stats"] if one["jobname"] == "All clients")
        percentiles[program] = "percentile" in together["read"].get("clat_ns", {})
for program, values in apart.items():
    values.sort()
    print(f"figures: {program}: first reads apart, ms: median {values[len(values) // 2]:.3f}, most {values[-1]:.3f}; percentiles of all together: {percentiles[program]}")

job(12)
ended = {}
for program in apart:
    forget_traces()
    servers = serve() if program == "fio" else []
    killed, code, took = run(program, kill_job)
    end(servers)
    ended[program] = took - killed
    print(f"figures: {program}: a host's job killed after {killed:.0f} s of 12 s: all ended {took - killed:.1f} s later, exit code {code}")
    if code == 0:
        sys.exit(f"{program}: a killed host is no success")
if not percentiles["iolab"]:
    sys.exit("iolab has no percentiles of all together")
if ended["iolab"] > 5:
    sys.exit("the others did not end when one died")
