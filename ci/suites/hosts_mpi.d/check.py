"""What a recording of four ranks must have: check.py FILE OUTCOME…, one for each rank; `any` is any."""
import json
import sys

recording = json.load(open(sys.argv[1]))
wanted = sys.argv[2:]
outcomes = [worker["outcome"] if isinstance(worker["outcome"], str) else next(iter(worker["outcome"])) for worker in recording["workers"]]
ios = [sum(direction["ios"] for direction in worker["directions"]) for worker in recording["workers"]]
ranks = [host["rank"] for host in recording["hosts"]]
is_right = (
    ranks == [0, 1, 2, 3]
    # What mpirun prints of a run that it ends may be cut short, so the recording has to say it.
    and recording["interrupted"] == ("interrupted" in wanted or "any" in wanted and recording["interrupted"])
    and all(want in ("any", outcome) for want, outcome in zip(wanted, outcomes, strict=True))
    # A rank that was killed may have nothing here: its recording is on its host.
    and all(count > 0 for want, count in zip(wanted, ios) if want != "any")
)
if not is_right:
    sys.exit(f"ranks {ranks}, outcomes {outcomes}, operations {ios}, {recording['warnings']}")
