# SPDX-License-Identifier: BSD-2-Clause
"""Finding numbers in results, and saying how they compare, in words that the numbers choose."""
from stats import ratio


class Rows:
    """The rows of one experiment."""

    def __init__(self, entry):
        self.rows = [r for r in (entry or {}).get("rows", []) if r["planned"] or r["samples"]]

    def find(self, **conditions):
        """The row with these conditions, if it was measured."""
        for r in self.rows:
            if r["samples"] and all(r["conditions"].get(k) == v for k, v in conditions.items()):
                return r
        return None

    def all(self, **conditions):
        return [r for r in self.rows if r["samples"] and
                all(r["conditions"].get(k) == v for k, v in conditions.items())]

    def values(self, key, **conditions):
        """The different values of a condition, in the order of the table."""
        return list(dict.fromkeys(r["conditions"][key] for r in self.all(**conditions)
                                  if key in r["conditions"]))

    def missing(self):
        return [r for r in self.rows if not r["samples"]]


def median(row, metric):
    s = row and row["summary"].get(metric)
    return s["median"] if s else None


def compare(a, b, metric):
    """Ratio of row a to row b over the rounds that both have, with its interval; None if either
    lacks it."""
    if not a or not b:
        return None
    return ratio([s.get(metric) for s in a["samples"]], [s.get(metric) for s in b["samples"]])


def percent(x):
    return f"{100 * x:.0f} %"


def words(r, less="less", more="more"):
    """A ratio in words: which way, how much, how sure."""
    if r is None:
        return "not measured"
    rounds = f"{r['n']} rounds" if r["n"] > 1 else "one round"
    if r["high"] < 1:
        return f"{percent(1 - r['median'])} {less} ({between(1 - r['high'], 1 - r['low'])}, {rounds})"
    if r["low"] > 1 and r["median"] >= 2:
        return f"{num(r['median'])} times as much ({num(r['low'])} to {num(r['high'])}, {rounds})"
    if r["low"] > 1:
        return f"{percent(r['median'] - 1)} {more} ({between(r['low'] - 1, r['high'] - 1)}, {rounds})"
    return f"no difference that {rounds} can show ({between(r['low'] - 1, r['high'] - 1)})"


def between(a, b):
    return f"{100 * a:.0f} to {100 * b:.0f} %".replace("-", "−")


def size_name(n):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if n >= unit:
            return f"{n / unit:g} {name}"
    return f"{n} bytes"


def num(x):
    """As many digits as one reads."""
    if x is None:
        return "–"
    if x == 0:
        return "0"
    a = abs(x)
    return f"{x:,.0f}" if a >= 100 else f"{x:.1f}" if a >= 10 else f"{x:.2f}" if a >= 1 else f"{x:.3f}"
