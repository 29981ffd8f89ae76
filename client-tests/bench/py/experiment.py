# SPDX-License-Identifier: BSD-2-Clause
"""What the driver asks of an experiment, and helpers that all of them use."""
from world import Unestablished


class Experiment:
    name = title = question = ""

    def __init__(self, world):
        self.world = world
        self.rows = []
        self.failed = {}  # what could not be started, by name: reason

    def open(self):
        """Starts what all rows need. Unestablished: no row can be measured."""

    def condition(self, c):
        """Establishes the conditions of a row, and checks that they hold. Unestablished if not."""

    def measure(self, c):
        """One measurement: a dictionary of numbers."""
        raise NotImplementedError

    def begin_round(self, n):
        """Before all rows are measured once more."""

    def close(self):
        self.world.stop_all()

    def attempt(self, name, make):
        """A server that may fail without taking the experiment with it."""
        try:
            return make()
        except Unestablished as e:
            self.failed[name] = str(e)
            return None

    def need(self, name, server):
        if server is None:
            raise Unestablished(self.failed.get(name, f"{name} does not run"))
        return server


def bytes_moved(server, before, op="read"):
    """{"spliced": bytes, "copied": bytes} since the counters `before`."""
    after = server.counters(op)
    if before is None or after is None:
        return {}
    return {"spliced": after[0] - before[0], "copied": after[1] - before[1]}


def load_figures(said):
    """The one round of one server that nfsload measured."""
    r = said["rounds"][0]
    gb, out = r["bytes"] / 1e9, {"seconds": r["seconds"], "calls": r["calls"],
                                 "bytes": r["bytes"], "calls_s": r["calls"] / r["seconds"]}
    if gb:
        out["mb_s"] = r["bytes"] / 1e6 / r["seconds"]
        out["gbit_s"] = r["bytes"] * 8e-9 / r["seconds"]
        out["client_s_gb"] = r["client_cpu_ns"] / 1e9 / gb
    if r["server_cpu_ns"] is not None:
        out["server_us_call"] = r["server_cpu_ns"] / 1e3 / r["calls"]
        out["server_percent"] = r["server_cpu_ns"] / 1e7 / r["seconds"]
        if gb:
            out["server_s_gb"] = r["server_cpu_ns"] / 1e9 / gb
    out["client_us_call"] = r["client_cpu_ns"] / 1e3 / r["calls"]
    out["client_percent"] = r["client_cpu_ns"] / 1e7 / r["seconds"]
    if r["entries"]:
        out["wall_us_entry"] = 1e6 * r["seconds"] / r["entries"]
        out["entries_s"] = r["entries"] / r["seconds"]
        if r["server_cpu_ns"] is not None:
            out["server_us_entry"] = r["server_cpu_ns"] / 1e3 / r["entries"]
    for q in ("p50", "p99", "p99.9"):
        out[q] = said["latency_us"][q]
    return out


def stream_figures(sent, received):
    """Both ends of a bare connection."""
    gb = sent["bytes"] / 1e9
    return {
        "seconds": sent["seconds"], "bytes": sent["bytes"],
        "mb_s": sent["bytes"] / 1e6 / sent["seconds"],
        "gbit_s": sent["bytes"] * 8e-9 / sent["seconds"],
        "server_s_gb": sent["cpu_ns"] / 1e9 / gb, "client_s_gb": received["cpu_ns"] / 1e9 / gb,
        "server_percent": sent["cpu_ns"] / 1e7 / sent["seconds"],
        "client_percent": received["cpu_ns"] / 1e7 / received["seconds"],
    }
