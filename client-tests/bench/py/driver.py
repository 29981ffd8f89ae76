# SPDX-License-Identifier: BSD-2-Clause
"""Runs the tables: rows in order, the order again for every round, progress and time left on the terminal.
Whatever stops it, what has been measured is kept."""
import json
import os
import sys
import time
import traceback

from stats import summary
from world import Unestablished


class Progress:
    """One line that renews itself on a terminal; elsewhere a line every ten seconds."""

    def __init__(self, todo):
        self.todo = todo  # seconds by the tables
        self.done = 0
        self.spent = 0  # seconds that these took
        self.said = time.monotonic()
        self.tty = sys.stderr.isatty()

    def left(self):
        pace = self.spent / self.done if self.done > 5 else 1.2
        return max(0, self.todo - self.done) * pace

    def show(self, text):
        left = self.left()
        line = f"[{int(left // 60):2d}:{int(left % 60):02d} left] {text}"
        now = time.monotonic()
        if self.tty:
            sys.stderr.write("\r\x1b[K" + line[:os.get_terminal_size(2).columns - 1])
            sys.stderr.flush()
        elif now - self.said >= 10:
            self.said = now
            print(line, file=sys.stderr, flush=True)

    def end_line(self):
        if self.tty:
            sys.stderr.write("\r\x1b[K")


def rounds_of(row, quick):
    return row["quick_rounds"] if quick else row["rounds"]


def seconds_of(row, quick):
    """How long one measurement takes, by the table; World.length shortens it in QUICK."""
    return row["seconds"] - (row["load"] / 2 if quick else 0)


FAILURES = 2  # so often a row may fail before it is left alone


def reason(e):
    """For the report; where it is our own mistake, with its place for the terminal."""
    if isinstance(e, Unestablished):
        return str(e)
    traceback.print_exc()
    return f"{type(e).__name__}: {e}"[:300]


def label(conditions):
    return ", ".join(str(v) for v in conditions.values())


class Driver:
    def __init__(self, world, experiments, results):
        self.world, self.experiments, self.results = world, experiments, results

    def plan(self, tables):
        """Seconds that all will take, by the tables."""
        quick = self.world.quick
        return sum(seconds_of(r, quick) * rounds_of(r, quick) for rows in tables for r in rows)

    def run(self, tables):
        self.progress = Progress(self.plan(tables))
        for experiment in self.experiments:
            entry = {"title": experiment.title, "question": experiment.question, "rows": [],
                     "measured": time.strftime("%Y-%m-%d %H:%M"),
                     "revision": self.results["versions"].get("revision", "")}
            self.results["experiments"][experiment.name] = entry
            try:
                self.one(experiment, entry)
            finally:
                try:
                    experiment.close()
                except Exception as e:
                    reason(e)
                self.progress.end_line()
                self.save()

    def one(self, experiment, entry):
        raw = os.path.join(self.world.out, "raw", experiment.name + ".jsonl")
        with open(raw, "w") as self.world.raw:
            self.progress.show(f"{experiment.name}: starting")
            try:
                experiment.open()
            except Exception as e:  # whatever it is: the other experiments can still be measured
                entry["reason"] = reason(e)
                print(f"\n{experiment.name}: cannot be measured: {entry['reason']}", file=sys.stderr)
                return
            quick = self.world.quick
            entry["rows"] = [{"conditions": r["conditions"], "samples": [], "summary": {}, "reason": None, "failures": 0,
                              "planned": rounds_of(r, quick)} for r in experiment.rows]
            most = max(rounds_of(r, quick) for r in experiment.rows)
            for n in range(most):
                try:
                    experiment.begin_round(n)
                except Exception as e:
                    entry["reason"] = f"round {n + 1} could not begin: {reason(e)}"
                    print(f"\n{experiment.name}: {entry['reason']}", file=sys.stderr)
                    return
                for r, out in zip(experiment.rows, entry["rows"]):
                    if n < rounds_of(r, quick):
                        self.sample(experiment, r, out, n, most)
        self.world.raw = None

    def sample(self, experiment, row, out, n, most):
        c, began = row["conditions"], time.monotonic()
        self.progress.show(f"{experiment.name} round {n + 1} of {most}: {label(c)}")
        if out["failures"] < FAILURES:
            try:
                experiment.condition(c)
                got = experiment.measure(c)
                out["samples"] += got if isinstance(got, list) else [got]
            except Exception as e:  # one row is not worth the others
                out["failures"] += 1
                out["reason"] = reason(e)
        self.progress.spent += time.monotonic() - began
        summarize(out)
        self.progress.done += seconds_of(row, self.world.quick)

    def save(self):
        path = os.path.join(self.world.out, "results.json")
        with open(path + ".new", "w") as f:
            json.dump(self.results, f, indent=1)
        os.replace(path + ".new", path)


def summarize(row):
    keys = {k for s in row["samples"] for k in s}
    row["summary"] = {k: summary([s.get(k) for s in row["samples"]]) for k in sorted(keys)}
