"""Makes vectors.json, the answers that tests/oracles.rs holds this crate against.

Run with scipy 1.17.1, statsmodels 0.15.0 and ruptures 1.1.10 (pip install scipy statsmodels ruptures):
    python3 make_vectors.py > vectors.json
Inputs are random with a fixed seed. Intervals that scipy has not are made from its distributions by the definition, with every
arrangement listed one by one, so that they share no shortcut with the crate.
"""
import itertools
import json

import numpy as np
import pandas as pd
import ruptures
import scipy.stats as st
import statsmodels.formula.api as smf
from statsmodels.stats.multitest import multipletests

rng = np.random.default_rng(20251)
out = {}


def walsh(x):
    return sorted((x[i] + x[j]) / 2 for i in range(len(x)) for j in range(i, len(x)))


def signed_rank_interval(x, confidence):
    n = len(x)
    sums = sorted(sum(r for r, s in zip(range(1, n + 1), signs) if s) for signs in itertools.product([0, 1], repeat=n))
    tail = (1 - confidence) / 2
    cut = max(1, next(w for w in range(n * (n + 1) // 2 + 1) if sum(s <= w for s in sums) / len(sums) > tail))
    w = walsh(x)
    return [float(np.median(w)), w[cut - 1], w[len(w) - cut], 1 - 2 * sum(s < cut for s in sums) / len(sums)]


def rank_sum_interval(a, b, confidence):
    n = len(a) + len(b)
    least = len(a) * (len(a) + 1) // 2
    us = [sum(c) - least for c in itertools.combinations(range(1, n + 1), len(a))]
    tail = (1 - confidence) / 2
    cut = max(1, next(u for u in range(len(a) * len(b) + 1) if sum(s <= u for s in us) / len(us) > tail))
    d = sorted(x - y for x in a for y in b)
    return [float(np.median(d)), d[cut - 1], d[len(d) - cut], 1 - 2 * sum(s < cut for s in us) / len(us)]


def exhaustive_signed_rank(x):
    x = [v for v in x if v != 0]
    r = st.rankdata(np.abs(x))
    seen = sum(rank for rank, v in zip(r, x) if v > 0)
    sums = [sum(rank for rank, s in zip(r, signs) if s) for signs in itertools.product([0, 1], repeat=len(x))]
    low = sum(s <= seen + 1e-9 for s in sums) / len(sums)
    high = sum(s >= seen - 1e-9 for s in sums) / len(sums)
    return float(seen), min(1.0, 2 * min(low, high))


signed = []
for n in [1, 5, 6, 7, 12, 25]:
    x = rng.normal(0.4, 1, n).tolist()
    signed.append({"x": x, "statistic": float(exhaustive_signed_rank(x)[0]) if n < 16 else float(sum(r for r, v in zip(st.rankdata(np.abs(x)), x) if v > 0)),
                   "p": float(st.wilcoxon(x, method="exact").pvalue)})
for n in [6, 9, 13]:
    x = np.round(rng.normal(0.5, 1.5, n)).tolist()
    s, p = exhaustive_signed_rank(x)
    signed.append({"x": x, "statistic": s, "p": p})
x = rng.normal(0.15, 1, 140)
x[:20] = np.round(x[:20])
x = x[x != 0].tolist()
signed.append({"x": x, "statistic": float(sum(r for r, v in zip(st.rankdata(np.abs(x)), x) if v > 0)), "p": float(st.wilcoxon(x, method="asymptotic", correction=False).pvalue)})
out["signed_rank"] = signed

out["signed_rank_interval"] = [
    {"x": x, "confidence": c, "interval": signed_rank_interval(x, c)}
    for n, c in [(5, 0.95), (6, 0.95), (7, 0.95), (10, 0.95), (12, 0.99), (9, 0.8)]
    for x in [rng.normal(3, 2, n).tolist()]
]

sums = []
for m, n in [(4, 4), (5, 9), (15, 15), (1, 8)]:
    a, b = rng.normal(0, 1, m).tolist(), rng.normal(0.8, 1, n).tolist()
    r = st.mannwhitneyu(a, b, method="exact")
    sums.append({"a": a, "b": b, "u": float(r.statistic), "p": float(r.pvalue)})
for m, n in [(5, 6), (7, 4)]:
    a, b = np.round(rng.normal(0, 2, m)).tolist(), np.round(rng.normal(1, 2, n)).tolist()
    ranks = st.rankdata(a + b)
    seen = sum(ranks[:m])
    every = [sum(c) for c in itertools.combinations(ranks, m)]
    p = 2 * min(sum(s <= seen + 1e-9 for s in every), sum(s >= seen - 1e-9 for s in every)) / len(every)
    sums.append({"a": a, "b": b, "u": float(seen - m * (m + 1) / 2), "p": min(1.0, p)})
a, b = np.round(rng.normal(0, 3, 50), 1).tolist(), np.round(rng.normal(1, 3, 45), 1).tolist()
r = st.mannwhitneyu(a, b, method="asymptotic")
sums.append({"a": a, "b": b, "u": float(r.statistic), "p": float(r.pvalue)})
out["rank_sum"] = sums
out["rank_sum_interval"] = [
    {"a": a, "b": b, "confidence": 0.95, "interval": rank_sum_interval(a, b, 0.95)}
    for m, n in [(4, 4), (5, 7), (7, 7)]
    for a, b in [(rng.normal(5, 1, m).tolist(), rng.normal(4, 2, n).tolist())]
]

out["quantile"] = [{"x": x, "share": q, "value": float(np.quantile(x, q))}
                   for n in [1, 2, 7, 30] for x in [rng.normal(0, 1, n).tolist()] for q in [0, 0.25, 0.5, 0.9, 1]]

boots = []
for n, name, statistic in [(12, "mean", np.mean), (15, "median", np.median)]:
    x = rng.lognormal(0, 0.8, n)
    r = st.bootstrap((x,), statistic, n_resamples=999, confidence_level=0.95, method="BCa", rng=rng)
    left = [float(statistic(np.delete(x, i))) for i in range(n)]
    boots.append({"estimate": float(statistic(x)), "resampled": r.bootstrap_distribution.tolist(), "left_out": left,
                  "bca": [float(r.confidence_interval.low), float(r.confidence_interval.high)],
                  "percentile": [float(np.quantile(r.bootstrap_distribution, 0.025)), float(np.quantile(r.bootstrap_distribution, 0.975))]})
out["bootstrap"] = boots

out["holm"] = [{"p": p, "adjusted": multipletests(p, method="holm")[1].tolist()}
               for p in [[0.01, 0.04, 0.03, 0.005], [0.5], rng.uniform(0, 0.2, 9).tolist(), [0.02, 0.02, 0.02]]]

out["line"] = [{"x": x, "slope": float(r.slope), "start": float(r.intercept)}
               for n in [2, 5, 40] for x in [rng.normal(100, 9, n).tolist()] for r in [st.linregress(range(n), x)]]

points = []
for levels, length, penalty in [([10, 14, 9], 30, 8.0), ([5, 5, 5], 25, 6.0), ([100, 60, 40, 39], 12, 40.0)]:
    x = np.concatenate([rng.normal(level, 1, length) for level in levels])
    for least in [1, 4]:
        ends = ruptures.Pelt(model="l2", min_size=least, jump=1).fit(x).predict(pen=penalty)
        points.append({"x": x.tolist(), "least": least, "penalty": penalty, "ends": [int(e) for e in ends]})
out["change_points"] = points


def block_design(configurations, blocks, missing):
    """A two-way layout by ordinary least squares, and variances of differences when each configuration has a spread of its own."""
    cells = [(c, b) for c in range(configurations) for b in range(blocks) if (c, b) not in missing]
    values = {cell: rng.normal(0.3 * cell[0], 1) + rng.normal(0, 2) for cell in cells}
    frame = pd.DataFrame({"c": [c for c, _ in cells], "b": [b for _, b in cells], "y": [values[cell] for cell in cells]})
    fit = smf.ols("y ~ C(b) + C(c)", frame).fit()
    spreads = rng.uniform(0.5, 2, configurations).tolist()
    design = fit.model.exog
    bread = np.linalg.inv(design.T @ design)
    meat = design.T @ np.diag([spreads[c] ** 2 for c, _ in cells]) @ design
    sandwich = bread @ meat @ bread
    names = fit.model.exog_names
    column = lambda c: np.array([1.0 if name == f"C(c)[T.{c}]" else 0.0 for name in names])
    differences = []
    for one, other in itertools.combinations(range(configurations), 2):
        weights = column(other) - column(one)
        test = fit.t_test(weights)
        differences.append([one, other, float(test.effect[0]), float(test.sd[0, 0]), float(weights @ sandwich @ weights)])
    hat = np.diag(design @ bread @ design.T)
    own = [float(sum(1 - hat[k] for k, cell in enumerate(cells) if cell[0] == c)) for c in range(configurations)]
    grid = [[values.get((c, b)) for b in range(blocks)] for c in range(configurations)]
    return {"values": grid, "freedom": int(fit.df_resid), "spread": float(np.sqrt(fit.mse_resid)), "spreads": spreads,
            "own_freedom": own, "differences": differences}


out["block_design"] = [block_design(3, 5, set()), block_design(9, 5, set()), block_design(4, 6, {(0, 1), (2, 3), (2, 4)}),
                       block_design(5, 3, {(4, 0), (1, 2)})]

# Joint distributions under normal errors: Tukey's all pairs, Dunnett's all against the first, for blocks in complete designs.
joint = []
for configurations, blocks in [(2, 7), (3, 5), (9, 5), (4, 10)]:
    freedom = (configurations - 1) * (blocks - 1)
    tukey = float(st.studentized_range.ppf(0.95, configurations, freedom) / np.sqrt(2))
    others = configurations - 1
    if others == 1:
        dunnett = float(st.t.ppf(0.975, freedom))
    else:
        shape = np.full((others, others), 0.5) + 0.5 * np.eye(others)
        draws = st.multivariate_t(shape=shape, df=freedom, seed=7).rvs(4_000_000)
        dunnett = float(np.quantile(np.abs(draws).max(axis=1), 0.95))
    joint.append({"configurations": configurations, "blocks": blocks, "tukey": tukey, "dunnett": dunnett})
out["joint"] = joint

# Student's and Welch's intervals of differences of means, and Sidak's correction. The crate makes 95 % intervals with a reserve: it uses three quarters of the 5 %.
students = []
for m, n in [(3, 3), (5, 5), (7, 4), (12, 9)]:
    a, b = np.exp(rng.normal(3, 0.2, m)), np.exp(rng.normal(3.1, 0.4, n))
    paired = None
    if m == n:
        test = st.ttest_rel(np.log(b), np.log(a))
        limits = test.confidence_interval(0.9625)
        paired = [float(np.mean(np.log(b) - np.log(a))), float(limits.low), float(limits.high), float(test.pvalue)]
    test = st.ttest_ind(np.log(b), np.log(a), equal_var=False)
    limits = test.confidence_interval(0.9625)
    apart = [float(np.mean(np.log(b)) - np.mean(np.log(a))), float(limits.low), float(limits.high), float(test.pvalue)]
    students.append({"a": a.tolist(), "b": b.tolist(), "paired": paired, "apart": apart, "freedom": float(test.df)})
out["students"] = students
out["sidak"] = [{"p": p, "adjusted": multipletests(p, method="sidak")[1].tolist()}
                for p in [[s["apart"][3] for s in students]]]
out["critical_bound"] = [{"statements": m, "freedom": f, "critical": float(st.t.isf((1 - 0.95 ** (1 / m)) / 2, f))}
                         for m, f in [(1, 4), (1, 32), (8, 32), (36, 4), (36, 32), (400, 7.5)]]
print(json.dumps(out, indent=None, separators=(",", ":")))
