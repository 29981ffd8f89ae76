# SPDX-License-Identifier: BSD-2-Clause
"""What the numbers should show: a list of goals, each with how it is measured, and what was measured. A goal whose rows were
not measured says so; none is guessed."""
from rows import Rows, compare, num
from stats import summary

MET, MISSED, OPEN, MISSING = "met", "not met", "not decided", "not measured"


class Goal:
    """limit: with at_least the ratio must not lie below it, else not above."""

    def __init__(self, name, how, limit, measure, at_least=False):
        self.name, self.how, self.limit, self.measure, self.at_least = name, how, limit, measure, at_least

    def text(self):
        return f"{'≥' if self.at_least else '≤'} {self.limit:.2f}"

    def judge(self, results):
        """{"goal", "how", "limit", "measured", "low", "high", "n", "verdict"}"""
        try:
            r = self.measure(results["experiments"])
        except (KeyError, TypeError, ZeroDivisionError):
            r = None
        out = {"goal": self.name, "how": self.how, "limit": self.text(), "measured": r and r["median"],
               "low": r and r["low"], "high": r and r["high"], "n": r["n"] if r else 0}
        out["verdict"] = self.verdict(r)
        return out

    def verdict(self, r):
        """The median decides; an interval that holds the limit is said to leave it open."""
        if not r:
            return MISSING
        good = r["median"] >= self.limit if self.at_least else r["median"] <= self.limit
        if r["n"] >= 6 and r["low"] <= self.limit <= r["high"] and not good:
            return OPEN
        return MET if good else MISSED


def closed(work, other, metric):
    """spliced / other over a row of P."""
    def measure(ex):
        rows = Rows(ex.get("P"))
        ours, theirs = (rows.find(part="closed", work=work, server=s) for s in ("spliced", other))
        return compare(ours, theirs, metric)
    return measure


def guest(work):
    def measure(ex):
        rows = Rows(ex.get("K"))
        return compare(rows.find(work=work, server="spliced"), rows.find(work=work, server="Linux nfsd"), "server_us_call")
    return measure


def growth(kind):
    """How much more the ratio to the floor is at the end than at the beginning; the interval is the widest that those
    of both allow."""
    def measure(ex):
        rows = [r for r in Rows(ex.get("G")).all(grows=kind) if "to_floor" in r["summary"]]
        if len(rows) < 2:
            return None
        a, b = rows[0]["summary"]["to_floor"], rows[-1]["summary"]["to_floor"]
        return {"median": b["median"] / a["median"], "low": b["low"] / a["high"], "high": b["high"] / a["low"],
                "n": min(a["n"], b["n"])}
    return measure


def both_ends(ex):
    """cp on a real client at rsize 8192, client and server together, against ganesha."""
    rows = Rows(ex.get("E1"))
    at = {"rsize": 8192, "rate": "unlimited", "link": "SG+checksum+TSO"}
    ours = rows.find(server="auto", **at) or rows.find(server="zero-copy", **at)
    theirs = rows.find(server="ganesha", **at)
    if not ours or not theirs:
        return None
    both = [[s["client_kernel_s_gb"] + s["server_kernel_s_gb"] for s in r["samples"]] for r in (ours, theirs)]
    return summary([a / b for a, b in zip(*both)])


FLOOR, PEER = "P: server CPU per call / floor", "P: server CPU per call / nfs-ganesha"
RANDOM = "READ 4 KiB random, 64 × 4"
GOALS = (
    [Goal("READ 8 KiB, 16 in flight", FLOOR + ", hot buffer", 1.25, closed("READ 8 KiB", "floor", "server_us_call")),
     Goal("READ 64 KiB", FLOOR + ", file pages", 1.15, closed("READ 64 KiB", "floor", "server_us_call")),
     Goal("READ 1 MiB", FLOOR + ", file pages", 1.10, closed("READ 1 MiB", "floor", "server_us_call"))]
    + [Goal(f"READ {size}", PEER, .30, closed(f"READ {size}", "ganesha", "server_us_call"))
       for size in ("512 B", "4 KiB", "8 KiB", "64 KiB", "1 MiB")]
    + [Goal(work, "K: CPU of the guest per call / Linux nfsd", .50, guest(work))
       for work in ("READ 8 KiB", "READ 64 KiB", "READ 256 KiB", "GETATTR")]
    + [Goal("READ 4 KiB random, 64 connections × 4", FLOOR, 1.5, closed(RANDOM, "floor", "server_us_call")),
       Goal("READ 4 KiB random, 64 connections × 4", "P: calls per second / nfs-ganesha", 2.5,
            closed(RANDOM, "ganesha", "calls_s"), at_least=True),
       Goal("READ 4 KiB random, 64 connections × 4", "P: p99 / nfs-ganesha’s", .4, closed(RANDOM, "ganesha", "p99")),
       Goal("WRITE 1 MiB unstable", FLOOR + ", receive and pwrite", 1.15, closed("WRITE 1 MiB", "floor", "server_us_call"))]
    + [Goal(work, how, limit, closed(work, other, "server_us_call")) for work in ("GETATTR", "LOOKUP")
       for how, other, limit in ((FLOOR, "floor", 1.4), (PEER, "ganesha", .20))]
    + [Goal("READDIRPLUS of 100,000 entries", "P: time for an entry / nfs-ganesha", .4,
            closed("READDIRPLUS 100,000", "ganesha", "wall_us_entry")),
       Goal("READ 4 KiB, files 1 → most", "G: growth of CPU per call / the floor’s", 1.2, growth("files")),
       Goal("READ 4 KiB, connections 1 → most", "G: growth of CPU per call / the floor’s", 1.2, growth("connections")),
       Goal("Linux client, cp at rsize 8192", "E1: CPU of both ends / nfs-ganesha", .7, both_ends)])


def judge(results):
    return [g.judge(results) for g in GOALS]


def span(j):
    return f"[{num(j['low'])}..{num(j['high'])}], {j['n']} rounds" if j["n"] > 1 else ""


def text(results):
    """The list as it is printed at the end of a run."""
    lines = [f"{'goal':39} {'measured as':50} {'limit':>6} {'measured':>9}"]
    for j in judge(results):
        figure = num(j["measured"]) if j["n"] else ""
        lines.append(f"{j['goal']:39} {j['how']:50} {j['limit']:>6} {figure:>9} {j['verdict']}  {span(j)}".rstrip())
    return "\n".join(lines)
