"""What a recording of the suite must have: check.py FILE CASE [CLOCK_AHEAD_MS]."""
import json
import sys

recording = json.load(open(sys.argv[1]))
case = sys.argv[2]
hosts = {host["name"]: host for host in recording["hosts"]}
ios = {name: 0 for name in hosts}
outcomes = {name: [] for name in hosts}
names = [host["name"] for host in recording["hosts"]]
for plan, worker in zip(recording["plan"]["workers"], recording["workers"]):
    name = names[plan.get("host", 0)]
    ios[name] += sum(direction["ios"] for direction in worker["directions"])
    outcomes[name].append(worker["outcome"] if isinstance(worker["outcome"], str) else next(iter(worker["outcome"])))


def need(what, text):
    if not what:
        sys.exit(f"{case}: {text}: {json.dumps(recording['hosts'])[:1500]} {ios} {outcomes} {recording['warnings']}")


need(names == ["n1", "n2#1", "n2#2", "n3"], "names")
need([host["rank"] for host in recording["hosts"]] == [0, 1, 2, 3], "ranks")
need(all(count > 0 for count in ios.values()), "each rank has measured something")
if case == "whole":
    ahead_ns = int(sys.argv[3]) * 1_000_000
    n1, n3 = hosts["n1"], hosts["n3"]
    # Added to the times of n3, it gives those of n1.
    wrong_ns = n3["clock_offset_ns"] + ahead_ns
    need(abs(wrong_ns) <= n3["clock_error_ns"], f"the clock of n3 is {wrong_ns} ns wrong")
    need(n3["clock_error_ns"] >= 50_000_000, "the error covers the delay")
    need(all(host.get("clock_drift_ns") is not None for host in recording["hosts"]), "drift of each")
    need(all(outcome == ["finished"] for outcome in outcomes.values()), "all finished")
    late = [host.get("began_late_ns", 0) for host in recording["hosts"]]
    # By the clock that all of these hosts really have.
    true_late_ns = late[3] + wrong_ns
    skews = [host["start_skew_ns"] for host in recording["hosts"]]
    need(all(skew >= 0 for skew in skews), "nobody begins before the agreed moment")
    print(f"figures: n3's clock known to {abs(wrong_ns) / 1e6:.3f} ms (bound {n3['clock_error_ns'] / 1e6:.1f} ms); begun within {max(late) / 1e6:.3f} ms,"
          f" n3 in truth {true_late_ns / 1e6:.3f} ms after the first; from the agreed start at most {max(skews) / 1e6:.3f} ms")
else:
    lost = sys.argv[3]
    need(outcomes[lost] == ["crashed"], f"{lost} is lost")
    need(all(outcome == ["finished"] for name, outcome in outcomes.items() if name != lost), "the others have finished")
    need(not recording["interrupted"], "nobody interrupted it")
    need(any("the others were ended" in warning for warning in recording["warnings"]), "the cause is told")
