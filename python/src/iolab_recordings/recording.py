"""A recording, and the tables that come from it."""

import json
import os

from .histogram import Histogram

_FORMATS = (1, 2)
DIRECTIONS = ("read", "write", "trim")
_KINDS = ("slat", "clat", "lat", "response")
_PERCENTS = (50, 90, 95, 99, 99.9, 99.99)
_MOST_BYTES = 1 << 30


class NotARecording(ValueError):
    """What was read is no recording, or one of a newer format."""


def load(path):
    """Reads a recording: ``iolab run --record=FILE``, or a file of the folder where iolab keeps them."""
    path = os.fspath(path)
    if os.path.getsize(path) > _MOST_BYTES:
        raise NotARecording(f"{path}: larger than 1 GiB, which no recording is")
    with open(path, "rb") as file:
        return loads(file.read(), path)


def loads(text, name="the recording"):
    """Reads a recording from text or bytes. ``name`` is for messages."""
    try:
        fields = json.loads(text)
    except ValueError as error:
        hint = "; `iolab report` reads what is left of a run that was killed" if name.endswith(".partial") else ""
        raise NotARecording(f"{name}: not the JSON of a recording: {error}{hint}") from None
    if isinstance(fields, dict) and "fio version" in fields:
        raise NotARecording(f"{name}: a JSON report of {fields['fio version']}, not a recording of iolab")
    version = fields.get("iolab_recording") if isinstance(fields, dict) else None
    if version is None:
        raise NotARecording(f"{name}: JSON, but not a recording of iolab: it has no `iolab_recording`")
    if version not in _FORMATS:
        raise NotARecording(f"{name}: recording format {version}; this package reads formats 1 and 2")
    return Recording(fields)


class Job:
    """One reported job: a worker, or the workers of a group with ``group_reporting``."""

    def __init__(self, members, hosts):
        self._members = members
        plan = members[0][0]
        self.name = plan["job"]
        self.group = plan["group"]
        self.workers = [worker["number"] for _, worker in members]
        self.host = next((hosts[plan.get("host", 0)]["name"] for plan, _ in members if hosts), None)

    def __repr__(self):
        return f"<Job {self.name}, workers {self.workers}>"

    @property
    def outcome(self):
        """``finished``, ``interrupted``, ``failed``, ``crashed`` or ``not_run``: of the worker that ended worst."""
        order = ["finished", "not_run", "interrupted", "failed", "crashed"]
        names = [o if isinstance(o, str) else next(iter(o)) for o in (w["outcome"] for _, w in self._members)]
        return max(names, key=order.index)

    def throughput(self, direction):
        """Operations, bytes and the ns they took, as ``(ios, bytes, runtime_ns)``.

        The longest run time counts of workers that ran at the same time; times of stages that ran in turn add up.
        """
        stages, ios, moved = {}, 0, 0
        for plan, worker in self._members:
            own = worker["directions"][DIRECTIONS.index(direction)]
            ios, moved = ios + own["ios"], moved + own["bytes"]
            used = own["ios"] or own["short_ios"] or own["dropped_ios"]
            runtime = own["runtime_ns"] if used else 0
            if own["ios"] and not runtime:
                runtime = worker["runtime_ns"]
            stage = plan["stage"]
            stages[stage] = max(stages.get(stage, 0), runtime)
        return ios, moved, sum(stages.values())

    def histogram(self, direction, kind="lat"):
        """Latencies of a direction: ``slat``, ``clat``, ``lat``, or ``response`` of a paced load."""
        if kind not in _KINDS:
            raise ValueError(f"there are no latencies `{kind}`; there are {', '.join(_KINDS)}")
        place = DIRECTIONS.index(direction)
        return Histogram.merged(Histogram.of_totals(worker["directions"][place][kind]) for _, worker in self._members)


class Recording:
    """What one run measured. ``fields`` is the whole document, as it stands in the file."""

    def __init__(self, fields):
        self.fields = fields
        self.hosts = fields.get("hosts") or []
        self.jobs = [Job(members, self.hosts) for members in self._reported()]

    def __repr__(self):
        return f"<Recording of {len(self.jobs)} jobs by iolab {self.fields['iolab_version']}>"

    @property
    def interrupted(self):
        """Whether the run was ended early."""
        return bool(self.fields["interrupted"])

    @property
    def findings(self):
        """What is to be known before the figures are believed: dictionaries with ``rule``, ``severity`` and texts."""
        return self.fields.get("findings") or []

    def summary(self):
        """A row for each job and direction in which something was done."""
        rows = []
        for job in self.jobs:
            for direction in DIRECTIONS:
                ios, moved, runtime_ns = job.throughput(direction)
                if not ios:
                    continue
                per_s = 1e9 / runtime_ns if runtime_ns else 0.0
                row = {"job": job.name, "group": job.group, "host": job.host, "direction": direction, "ios": ios}
                row |= {"bytes": moved, "runtime_ns": runtime_ns, "iops": ios * per_s, "bytes_per_s": moved * per_s}
                for kind in _KINDS:
                    row |= _figures(kind, job.histogram(direction, kind))
                rows.append(row)
        return rows

    def intervals(self):
        """A row for each interval, worker and direction in which something was done (`interval` of the job)."""
        rows = []
        for plan, worker in self._members():
            for interval in worker.get("interval_latencies") or []:
                for part in interval["directions"]:
                    row = {"job": plan["job"], "worker": worker["number"], "direction": part["direction"]}
                    row |= {"start_ns": interval["start_ns"], "length_ns": interval["length_ns"]}
                    row |= {"ios": part["ios"], "bytes": part["bytes"]}
                    for kind in ("lat", "clat", "response"):
                        row |= _figures(kind, _of_interval(part, kind))
                    rows.append(row)
        return sorted(rows, key=lambda row: (row["start_ns"], row["worker"]))

    def latencies(self, kind="lat"):
        """A row for each bucket of each job and direction."""
        rows = []
        for job in self.jobs:
            for direction in DIRECTIONS:
                for row in job.histogram(direction, kind).rows():
                    rows.append({"job": job.name, "direction": direction} | row)
        return rows

    def devices(self):
        """A row for each block device: what its counters rose by during the run, and the time between looks at them."""
        rows = []
        for device in self.fields["devices"]:
            before, after = device["before"], device["after"]
            row = {"device": device["name"], "host": self._host_of(device), "elapsed_ns": device["elapsed_ns"]}
            # What is going on at this moment is no counter.
            row |= {name: after[name] - before[name] for name in after if name != "in_flight"}
            rows.append(row)
        return rows

    def frame(self, table="summary", library="pandas"):
        """A table as a frame: ``summary``, ``intervals``, ``latencies`` or ``devices``; of ``pandas`` or ``polars``."""
        tables = {"summary": self.summary, "intervals": self.intervals, "latencies": self.latencies}
        tables["devices"] = self.devices
        if table not in tables:
            raise ValueError(f"there is no table `{table}`; there are {', '.join(tables)}")
        if library == "pandas":
            import pandas

            return pandas.DataFrame(tables[table]())
        if library == "polars":
            import polars

            return polars.DataFrame(tables[table](), infer_schema_length=None)
        raise ValueError(f"there are no frames of `{library}`; there are those of pandas and polars")

    def _members(self):
        """Plan and results of the workers that count: those that ``stats=0`` does not hide."""
        plans = {plan["number"]: plan for plan in self.fields["plan"]["workers"]}
        members = [(plans.get(worker["number"]), worker) for worker in self.fields["workers"]]
        return [(plan, worker) for plan, worker in members if plan and plan["measurement"]["stats"]]

    def _reported(self):
        """Workers as reports show them: those of a group that asked for ``group_reporting`` together."""
        jobs = {}
        for plan, worker in self._members():
            together = plan["group_reporting"]
            key = ("group", plan["group"]) if together else ("worker", worker["number"])
            jobs.setdefault(key, []).append((plan, worker))
        return list(jobs.values())

    def _host_of(self, device):
        return self.hosts[device.get("host", 0)]["name"] if self.hosts else None


def _of_interval(part, kind):
    if kind == "clat" and part.get("clat_equals_lat"):
        kind = "lat"
    fields = part.get(kind)
    return Histogram.of_interval(fields) if fields else Histogram()


def _figures(kind, histogram):
    """Columns of one kind of latency: nothing where it was not measured."""
    names = [f"{kind}_mean_ns", *(f"{kind}_p{percent:g}_ns".replace(".", "_") for percent in _PERCENTS), f"{kind}_max_ns"]
    if not histogram:
        return dict.fromkeys(names)
    return dict(zip(names, [histogram.mean, *histogram.percentiles(_PERCENTS), histogram.max]))
