"""The same jobs under fio and under iolab called as fio: exit codes, silence, JSON keys, operations, bytes, files.

usage: compare.py IOLAB_FIO DIFFERENCES FIO...

Each combination of options runs once under every program, in a folder of its own. What differs must be explained by a
line of DIFFERENCES (tab-separated: what, a regular expression that the options must match, why), or the comparison
fails. A line that explains nothing fails it, too.
"""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile


def combinations():
    """Lists of options; each is one job, after `--name=j`."""
    seen = set()

    def add(*options):
        key = tuple(options)
        if key not in seen:
            seen.add(key)
            yield list(options)

    size = "--size=256k"
    patterns = ["read", "write", "randread", "randwrite", "rw", "randrw"]
    # Engines and depths.
    for engine, rw, depth in itertools.product(
        ["psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio", "mmap"], patterns, [1, 8]
    ):
        yield from add(f"--ioengine={engine}", f"--rw={rw}", f"--iodepth={depth}", "--bs=4k", size)
    # What each pattern does with sizes, maps and amounts.
    shapes = [
        "--bs=4k", "--bs=8k,4k", "--bs=4k,8k,16k", "--bsrange=4k-16k", "--bssplit=4k/50:8k/50", "--bs=64k",
        "--norandommap", "--random_generator=lfsr", "--random_generator=tausworthe64", "--random_distribution=zipf:1.2",
        "--random_distribution=pareto:0.2", "--random_distribution=normal:20", "--random_distribution=zoned:60/10:40/90",
        "--io_size=512k", "--io_size=64k", "--number_ios=10", "--loops=2", "--offset=64k", "--offset=25%", "--size=50%",
        "--nrfiles=4", "--nrfiles=4 --file_service_type=random", "--nrfiles=4 --file_service_type=sequential",
        "--nrfiles=4 --openfiles=2", "--filesize=16k-64k --nrfiles=4", "--fsync=4", "--fdatasync=4", "--end_fsync=1",
        "--fsync_on_close=1", "--sync=1", "--sync=dsync", "--direct=1", "--invalidate=0", "--overwrite=1",
        "--create_on_open=1", "--fallocate=none", "--fallocate=keep", "--fallocate=posix", "--unlink=1",
        "--zero_buffers", "--refill_buffers", "--scramble_buffers=0", "--buffer_compress_percentage=50",
        "--dedupe_percentage=30", "--buffer_pattern=0xdeadbeef", "--randseed=7", "--randrepeat=0", "--numjobs=2",
        "--numjobs=2 --group_reporting", "--numjobs=2 --thread", "--numjobs=2 --offset_increment=32k --size=32k",
        "--stonewall", "--startdelay=0.1", "--thinktime=100", "--thinktime=100 --thinktime_blocks=8", "--rate_iops=2000",
        "--rate=8m", "--percentage_random=50", "--rw_sequencer=identical", "--blockalign=8k", "--percentile_list=50:99:99.9",
        "--lat_percentiles=1", "--slat_percentiles=1", "--clat_percentiles=0", "--disable_lat=1", "--disable_clat=1",
        "--disable_slat=1", "--gtod_reduce=1", "--unified_rw_reporting=mixed", "--unified_rw_reporting=both",
        "--write_bw_log=l", "--write_lat_log=l", "--write_iops_log=l", "--write_lat_log=l --log_avg_msec=100",
        "--write_lat_log=l --per_job_logs=0", "--write_lat_log=l --log_offset=1", "--cpus_allowed=0", "--nice=1",
        "--description=words", "--kb_base=1000", "--unit_base=8", "--continue_on_error=all", "--exitall", "--comm=x",
        "--mem=mmap", "--mem=shm", "--iomem_align=4k", "--lockmem=4k", "--write_iolog=iolog", "--disk_util=0", "--stats=0",
        "--experimental_verify=0", "--clocksource=clock_gettime", "--clocksource=cpu", "--file_append=1", "--pre_read=1",
        "--allow_file_create=1", "--latency_target=10s --latency_window=1s --iodepth=4", "--max_latency=10s",
        "--ramp_time=0", "--time_based --runtime=1 --rate_iops=50", "--steadystate=iops:50% --ss_dur=2 --runtime=1",
        "--flow=1", "--io_submit_mode=offload --iodepth=4", "--log_compression=64k --write_lat_log=l",
        "--new_group", "--rwmixread=30", "--rwmixwrite=10", "--serialize_overlap=1 --iodepth=4 --ioengine=libaio",
        "--iodepth_batch=4 --iodepth=8 --ioengine=libaio", "--iodepth_batch_complete_min=2 --iodepth=8 --ioengine=libaio",
        "--iodepth_low=2 --iodepth=8 --ioengine=libaio", "--verify=0", "--bs_unaligned --bsrange=1k-8k", "--ba=4k",
        "--file_service_type=zipf:1.2 --nrfiles=4", "--unlink_each_loop=1 --loops=2", "--sync_file_range=write:4",
    ]
    for shape, rw in itertools.product(shapes, ["randwrite", "randread"]):
        yield from add(f"--rw={rw}", size, *shape.split())
    for shape in shapes[:14]:
        for rw in ["read", "write", "randrw"]:
            yield from add(f"--rw={rw}", size, *shape.split())
    # Verification.
    kinds = ["md5", "crc64", "crc32c", "crc32", "crc16", "crc7", "xxhash", "sha1", "sha256", "sha512", "sha3-256", "meta"]
    for kind, rw in itertools.product(kinds, ["write", "randwrite"]):
        yield from add(f"--verify={kind}", f"--rw={rw}", "--bs=4k", size, "--verify_state_save=0")
    for more in [
        "--do_verify=0", "--verify_backlog=8", "--verify_interval=1k", "--verify_offset=128 --verify_interval=1k",
        "--verify_fatal=1", "--verify=pattern --verify_pattern=0xab", "--verify=pattern --verify_pattern=%o",
        "--verify=null", "--norandommap", "--loops=2", "--bssplit=4k/50:8k/50", "--iodepth=8 --ioengine=libaio",
        "--verify_async=2", "--trim_percentage=0", "--nrfiles=2", "--verify_dump=1", "--time_based --runtime=1 --rate_iops=50",
    ]:
        for rw in ["write", "randwrite"]:
            yield from add("--verify=crc32c", f"--rw={rw}", "--bs=4k", size, "--verify_state_save=0", *more.split())
    # What jobs tell of their work.
    for more in [
        "--debug=io --rw=write", "--debug=io --rw=read", "--debug=io --rw=write --fsync=4", "--debug=io --rw=read:4k",
        "--debug=io,verify --rw=write --verify=crc32c --verify_state_save=0", "--debug=job:1,io --rw=write --numjobs=2",
        "--debug=random --rw=randwrite", "--debug=random --rw=randread --norandommap", "--debug=parse --rw=randwrite --iodepth=2",
        "--debug=unknown --rw=write", "--debug=unknown,io --rw=write", "--debug=time,mem --rw=write",
    ]:
        yield from add(*more.split(), "--bs=4k", size)
    # What no program can do.
    for wrong in [
        "--rw=sideways", "--bs=0", "--ioengine=nosuch", "--size=abc", "--iodepth=x", "--nosuchoption=1", "--verify=md4",
        "--rw=read --readonly", "--rw=write --readonly", "--bssplit=4k/60:8k/60", "--random_distribution=zipf",
        "--rwmixread=101", "--output-format=xml", "--percentile_list=abc", "--fallocate=maybe", "--sync=maybe",
        "--zonemode=nosuch", "--numjobs=0", "--rate_process=nosuch", "--mem=nosuch",
    ]:
        yield from add(size, *wrong.split())
    # Programs beside jobs, and the idleness of processors.
    yield from add("--ioengine=exec", "--program=/bin/sleep", "--arguments=60", "--runtime=1")
    yield from add("--ioengine=exec", "--program=/bin/sleep", "--arguments=60", "--runtime=1", "--std_redirect=0")
    for what in ["system", "percpu"]:
        yield from add("--ioengine=null", "--rw=read", "--bs=4k", "--size=64m", f"--idle-prof={what}")


def paths_of(value, prefix=""):
    """The keys of a JSON document; numbers as keys (percentiles, bins) are alike."""
    if isinstance(value, dict):
        for key, inner in value.items():
            name = re.sub(r"^\d+(\.\d+)?$|^>=\d+$", "#", key)
            yield f"{prefix}/{name}"
            yield from paths_of(inner, f"{prefix}/{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from paths_of(inner, f"{prefix}[]")


def told(text):
    """What --debug tells: of operations all but the slot and the file, of random offsets how many, of options all."""
    parsed = []
    for line in text.splitlines():
        parts = re.match(r"(io|random|parse)\s+\d+\s+(.*)", line)
        if not parts:
            continue
        kind, words = parts.groups()
        operation = re.match(r"(fill|prep|queue|complete): io_u \S+: (off=\S+,len=\S+,ddir=\d)", words)
        if kind == "io" and operation:
            # A flush has no place; fio says that of the operation before it.
            yield re.sub(r"off=\S+,(len=0x0,ddir=[345])", r"\1", " ".join(operation.groups()))
        elif (kind, words[:8]) == ("random", "off rand"):
            yield "off rand"
        elif kind == "parse" and words.startswith("handle_option=") and words not in parsed:
            # What fio has not yet printed when it forks, both processes print.
            parsed.append(words)
    # fio tells only of what follows --debug on the command line.
    yield from (words for words in parsed if not words.startswith("handle_option=name,"))


def run(program, options):
    """What a program did: facts by name."""
    folder = tempfile.mkdtemp(prefix="differential-")
    try:
        words = [*program, "--name=j", "--output-format=json", *options]
        try:
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=30, check=False)
        except subprocess.TimeoutExpired:
            return {"does not end": True}
        facts = {"exit code is 0": done.returncode == 0, "standard error is empty": not done.stderr.strip()}
        report = {}
        text = done.stdout
        if done.returncode == 0:
            start = text.find("{")
            # fio tells more behind its report.
            report = json.JSONDecoder().raw_decode(text[start:])[0] if start >= 0 else {}
            facts["begins with JSON"] = text.startswith("{\n") or any("--debug" in option for option in options)
        facts["told"] = list(told(text))
        jobs = report.get("jobs", [])
        facts["jobs"] = len(jobs)
        facts["keys"] = sorted({path for job in jobs for path in paths_of(job)})
        of = [job[name] for job in jobs for name in ("mixed", "read", "write", "trim") if name in job]
        facts["operations"] = sum(one["total_ios"] for one in of)
        facts["bytes"] = sum(one["io_bytes"] for one in of)
        names = ("read", "write", "trim", "mixed")
        facts["directions"] = [name for name in names if any(job.get(name, {}).get("total_ios") for job in jobs)]
        facts["error"] = [job["error"] for job in jobs]
        files = {}
        for root, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(root, name)
                size = os.path.getsize(path)
                is_log = name.endswith(".log") or name == "iolog"
                files[os.path.relpath(path, folder)] = "log" if is_log else size
        facts["files"] = files
        facts["stderr"] = done.stderr.strip()[:300]
        return facts
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# Compared for equality. Keys: what fio has and iolab lacks; iolab's own are documented.
# How many operations of a mix are reads is a matter of each program's random numbers.
EQUAL = ["exit code is 0", "standard error is empty", "jobs", "operations", "bytes", "directions", "error", "files", "told"]


def differences(theirs, ours):
    for name in EQUAL:
        if theirs.get(name) != ours.get(name):
            yield name, f"{theirs.get(name)} / {ours.get(name)}"[:600]
    if not ours.get("begins with JSON", True):
        # fio prints notes in front of it.
        yield "begins with JSON", "iolab prints something else first"
    missing = [key for key in theirs["keys"] if key not in ours["keys"]]
    if missing:
        yield "keys", ", ".join(missing[:8])


def main():
    iolab, table, *programs = sys.argv[1:]
    explained = []
    with open(table, encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                what, options, why = line.rstrip("\n").split("\t")
                explained.append([what, re.compile(options), why, 0])
    every = list(combinations())
    failed = 0
    limit = int(os.environ.get("DIFFERENTIAL_FROM", "0"))
    for number, options in enumerate(every[limit:]):
        ours = run([iolab], options)
        if "does not end" in ours:
            failed += 1
            print(f"not ok: {' '.join(options)}: iolab does not end", flush=True)
            continue
        for program in programs:
            theirs = run(program.split(), options)
            if "does not end" in theirs:
                print(f"{' '.join(options)}: {os.path.basename(program)} does not end", flush=True)
                continue
            if ours["exit code is 0"] and re.search("unrecognized option|Bad option", theirs["stderr"]):
                continue  # an option of a later version
            for what, said in differences(theirs, ours):
                words = " ".join(options)
                reasons = [row for row in explained if row[0] == what and row[1].search(words)]
                for row in reasons:
                    row[3] += 1
                if not reasons:
                    failed += 1
                    note = f" [{ours['stderr']}] [{theirs['stderr']}]" if what in EQUAL[:2] else ""
                    print(f"not ok: {words}: {what}: {os.path.basename(program)} / iolab: {said}{note}", flush=True)
    idle = [row for row in explained if row[3] == 0] if limit == 0 else []
    for what, options, _, _ in idle:
        print(f"not ok: nothing differs in {what} for {options.pattern}: take the line out")
    print(f"{len(every)} combinations, {len(programs)} programs beside iolab, {failed} differences without a reason")
    sys.exit(1 if failed or idle else 0)


if __name__ == "__main__":
    main()
