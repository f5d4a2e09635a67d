"""Asks Prometheus every query of a dashboard, and says which have no answer: `ask.py ADDRESS DASHBOARD METRICS`."""

import json
import re
import sys
import urllib.parse
import urllib.request

address, dashboard, metrics = sys.argv[1:]


def ask(query):
    """The samples of a query now."""
    text = urllib.parse.urlencode({"query": query})
    with urllib.request.urlopen(f"{address}/api/v1/query?{text}", timeout=20) as answer:
        return json.load(answer)["data"]["result"]


def as_asked(expression):
    """What Grafana makes of its variables."""
    for variable, value in {"$__rate_interval": "8s", "$run": ".*", "$job": ".*"}.items():
        expression = expression.replace(variable, value)
    assert "$" not in expression, f"an unknown variable: {expression}"
    return expression


board = json.load(open(dashboard, encoding="utf-8"))
known = {line.split()[2] for line in open(metrics, encoding="utf-8") if line.startswith("# TYPE")}
targets = [(panel["title"], target["expr"]) for panel in board["panels"] for target in panel["targets"]]
wrong = []
asked = set()
for title, expression in targets:
    names = set(re.findall(r"\biolab[a-z_]*", expression))
    families = {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in names}
    asked |= families
    wrong += [f"{title}: nobody has {family}" for family in families - known]
    # A healthy run has no findings.
    if not ask(as_asked(expression)) and "iolab_finding" not in names:
        wrong.append(f"{title}: no answer to {expression}")
for variable in board["templating"]["list"][1:]:
    name = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["definition"]).groups()
    if not any(name[1] in sample["metric"] for sample in ask(name[0])):
        wrong.append(f"the variable {variable['name']} has no values")
if not ask("iolab_runs_in_progress == 1"):
    wrong.append("the run is not counted")
assert not ask("iolab_nobody_has_this"), "the canary has an answer"
unused = sorted(known - asked - {"iolab", "iolab_interrupted", "iolab_runtime_seconds", "iolab_operations_per_second", "iolab_device_busy_ratio"})
if unused:
    wrong.append(f"the dashboard does not show {unused}")
for line in wrong:
    print("WRONG ", line)
print(f"{len(targets)} queries of {len(asked)} families")
sys.exit(bool(wrong))
