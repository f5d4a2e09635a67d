"""What each rank of four does, by a table: table.py IOLAB REMOTE_SHELL.

Ranks 0 to 3 are on n1, n2, n2 and n3, in one folder that all see. Every rank writes bytes of its own (0x10 and its number), so the files themselves say
who wrote where; what was read and how often is in the lists of operations (write_iolog). The reports of iolab are not asked.
"""
import collections
import itertools
import os
import re
import subprocess
import sys

iolab, shell = sys.argv[1:3]
HOSTS = ["n1", "n2", "n2", "n3"]
RANKS = range(4)
KIB = 1024
# Of blocks of zeros.
NOBODY = -0x10


def whole(name, rank, kib):
    """A file that one rank has written from one end to the other."""
    return {name: [(rank, kib)]}


def each(name, kib, ranks=RANKS):
    """A file of each of these ranks; `name` is a function of the rank."""
    files = {}
    for rank in ranks:
        files.update(whole(name(rank), rank, kib))
    return files


# Name, job, files as stretches (rank that wrote it, KiB), reads as {rank: {file: offsets in KiB}}.
CASES = [
    ("rank in a name", "filename=own$rank", each(lambda rank: f"own{rank}", 16), {}),
    ("ranks and host in a name", "filename=of-$ranks-$host-$rank", each(lambda rank: f"of-4-{HOSTS[rank]}-{rank}", 16), {}),
    ("a folder for each", "directory=folder$rank\nfilename=it", each(lambda rank: f"folder{rank}/it", 16), {}),
    ("arithmetic", "filename=sum$rank\nsize=(($rank+$ranks)*4)k",
     {f"sum{rank}": [(rank, (rank + 4) * 4)] for rank in RANKS}, {}),
    ("names that nobody gave", "", each(lambda rank: f"job.0.0.rank{rank}", 16), {}),
    ("a format of names", "filename_format=f.$jobname.$jobnum.$rank\nnumjobs=2\nthread",
     {f"f.job.{clone}.{rank}": [(rank, 16)] for rank in RANKS for clone in range(2)}, {}),
    ("clones on all ranks share a file", "filename=shared\noffset_increment=8k\nsize=8k\nnumjobs=2",
     {"shared": [(rank, 16) for rank in RANKS]}, {}),
    ("the same in percent", "filename=parts\nfilesize=64k\nsize=25%\noffset_increment=25%", {"parts": [(rank, 16) for rank in RANKS]}, {}),
    ("an offset of each", "filename=by-offset\noffset=((3-$rank)*16)k", {"by-offset": [(rank, 16) for rank in reversed(RANKS)]}, {}),
    ("segments of IOR", "filename=segments\noffset_increment=4k\nzonemode=strided\nzonesize=4k\nzoneskip=(($ranks-1)*4)k\nsize=($ranks*3*4)k\nio_size=12k",
     # Laid out to where `size` ends, which is behind the last segment.
     {"segments": [(rank, 4) for _ in range(3) for rank in RANKS] + [(NOBODY, 12)]}, {}),
    ("hosts: numbers", "filename=n$rank\nhosts=0,2-3", each(lambda rank: f"n{rank}", 16, [0, 2, 3]), {}),
    ("hosts: a name", "filename=h$rank\nhosts=n2", each(lambda rank: f"h{rank}", 16, [1, 2]), {}),
    ("hosts: both", "filename=b$rank\nhosts=n3,0", each(lambda rank: f"b{rank}", 16, [0, 3]), {}),
    ("what it wrote: its own file", "\n[back]\nwrite_iolog=ops\nrw=read\nstonewall\nfilename_format=job.0.0.rank$rank\n",
     each(lambda rank: f"job.0.0.rank{rank}", 16), {rank: {f"job.0.0.rank{rank}": [0, 4, 8, 12]} for rank in RANKS}),
    ("what another wrote: a shared file", "filename=shift\noffset_increment=16k\n[back]\nwrite_iolog=ops\nrw=read\nstonewall\nfilename=shift\noffset_increment=16k\nrank_shift=1",
     {"shift": [(rank, 16) for rank in RANKS]}, {rank: {"shift": [(rank + 1) % 4 * 16 + at for at in (0, 4, 8, 12)]} for rank in RANKS}),
]


def fail(name, text):
    sys.exit(f"{name}: {text}")


def run(name, job, *words):
    text = f"[global]\nioengine=psync\nrw=write\nbs=4k\nsize=16k\nbuffer_pattern=0x1$rank\n[job]\nwrite_iolog=ops\n{job}\n"
    with open("job.fio", "w") as file:
        file.write(text)
    # A job that is not for a rank leaves it without work, which is refused: another job is for all.
    if "hosts=" in job:
        with open("job.fio", "a") as file:
            file.write("[idle]\nioengine=null\nsize=4k\n")
    command = [iolab, "hosts", "run", "--hosts=n1,n2:2,n3", "--rsh", shell, "--program", iolab, "--no-db", "--eta=never", "--record=it.recording", *words, "job.fio"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        fail(name, f"exit code {done.returncode}\n{text}\n{done.stderr[-1500:]}")


def stretches(path):
    """Who wrote it, as (rank, KiB), from its bytes."""
    with open(path, "rb") as file:
        content = file.read()
    blocks = []
    for at in range(0, len(content), 4 * KIB):
        block = content[at:at + 4 * KIB]
        if len(set(block)) != 1:
            return f"block {at // (4 * KIB)} of {path} has more than one writer"
        blocks.append(block[0] - 0x10)
    return [(rank, 4 * len(list(same))) for rank, same in itertools.groupby(blocks)]


def joined(parts):
    """Neighbours of one rank are one stretch."""
    return [(rank, sum(kib for _, kib in same)) for rank, same in itertools.groupby(parts, key=lambda part: part[0])]


def operations(rank, what):
    """The operations of a rank, as {file: offsets in KiB}, from its list."""
    found = collections.defaultdict(list)
    with open(f"ops.rank{rank}") as file:
        for line in file:
            words = line.split()
            if len(words) == 5 and words[2] == what:
                found[os.path.normpath(words[1])].append(int(words[3]) // KIB)
    return dict(found)


def check(name, job, files, reads):
    for rank in RANKS:
        os.makedirs(f"folder{rank}", exist_ok=True)
    run(name, job)
    own = re.compile(r"^(job\.fio|it\.recording|ops\.|job\.1\.|idle\.)")
    there = {os.path.normpath(os.path.join(folder, file)) for folder, _, names in os.walk(".") for file in names if not own.match(file)}
    if there != set(files):
        fail(name, f"files {sorted(there)}, expected {sorted(files)}")
    for path, expected in files.items():
        if stretches(path) != joined(expected):
            fail(name, f"{path}: written by {stretches(path)}, expected {joined(expected)} (rank, KiB)")
    for rank, expected in reads.items():
        if operations(rank, "read") != expected:
            fail(name, f"rank {rank} has read {operations(rank, 'read')}, expected {expected} (KiB)")
    # Each block is written by one operation of the rank whose byte is in it.
    written = collections.Counter()
    for parts in files.values():
        for rank, kib in parts:
            written[rank] += kib // 4
    for rank in RANKS:
        listed = sum(map(len, operations(rank, "write").values())) if os.path.exists(f"ops.rank{rank}") else 0
        if listed != written[rank]:
            fail(name, f"rank {rank} lists {listed} writes, and wrote {written[rank]} blocks")


def check_rates():
    """A rate of all together is divided to the last operation; what is due is never exceeded."""
    for scope, of_rank in [("rate_scope=job", [101, 100, 100, 100]), ("", [401] * 4)]:
        run(f"rate {scope}", f"filename=rate\nrate_iops=401\n{scope}\nsize=64k\ntime_based\nruntime=1s\nrate_process=linear")
        counts = [sum(map(len, operations(rank, "write").values())) for rank in RANKS]
        # The first is due at 0, and the last before the second is over.
        if any(count > most + 1 or count < most // 2 for count, most in zip(counts, of_rank)):
            fail(f"rate {scope}", f"{counts} operations in a second, expected at most {of_rank}")


top = os.getcwd()
for number, case in enumerate(CASES):
    os.mkdir(f"case-{number}")
    os.chdir(f"case-{number}")
    check(*case)
    os.chdir(top)
os.mkdir("rates")
os.chdir("rates")
check_rates()
print(f"figures: {len(CASES)} cases of names, offsets and hosts, and 2 of rates, by the bytes of the files and the lists of operations")
