"""Compares two JSON reports of clients: fio's keys are all there, entries and counts are the same."""

import json
import sys


def read(path):
    text = open(path).read()
    # fio prints lines of its own in front of the document.
    return json.loads(text[text.index("{\n"):])


def keys(value, path=""):
    """Every path of keys; percentiles and buckets are values, not keys."""
    if not isinstance(value, dict):
        return set()
    found = set()
    for key, inner in value.items():
        place = f"{path}/{key}"
        found.add(place)
        if key not in ("percentile", "bins", "job options", "global options"):
            found |= keys(inner, place)
    return found


theirs, ours = (read(path) for path in sys.argv[1:3])
problems = []

# A list of no devices is left out.
missing = {key for key in theirs if key not in ours and theirs[key] != []}
if missing:
    problems.append(f"keys of the report: {sorted(missing)}")

entries = [report["client_stats"] for report in (theirs, ours)]
names = [[entry["jobname"] for entry in side] for side in entries]
# Debian's fio does not always print the sum.
own = [sorted(name for name in side if name != "All clients") for side in names]
if own[0] != own[1]:
    problems.append(f"entries: {names[0]} and {names[1]}")

for their in entries[0]:
    same = [our for our in entries[1] if our["jobname"] == their["jobname"]]
    for our in same:
        absent = keys(their) - keys(our)
        # Percentiles of nothing, and a name of the sum that has no place.
        absent = {key for key in absent if not key.endswith("/percentile")}
        if their["jobname"] == "All clients":
            absent -= {"/hostname", "/port"}
        if absent:
            problems.append(f"{their['jobname']}: no {sorted(absent)}")
        for direction in ("read", "write", "trim"):
            counts = [entry[direction]["total_ios"] for entry in (their, our)]
            if counts[0] != counts[1]:
                problems.append(f"{their['jobname']}: {direction}: {counts[0]} and {counts[1]} operations")

places = [sorted(entry["hostname"] for entry in side if entry["jobname"] != "All clients") for side in entries]
if places[0] != places[1]:
    problems.append(f"hosts: {places[0]} and {places[1]}")

total = [entry for entry in entries[1] if entry["jobname"] == "All clients"]
if len(total) != 1 or "percentile" not in total[0]["read"]["clat_ns"]:
    problems.append("the sum of all has no percentiles")

print("\n".join(f"not ok: {problem}" for problem in problems) or f"ok: fio's keys, entries and counts: {names[1]}")
sys.exit(bool(problems))
