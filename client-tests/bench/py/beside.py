# SPDX-License-Identifier: BSD-2-Clause
"""Beside other servers: the same raw calls to each, one connection over loopback, server and client on a processor
each. Closed loop: what a call costs. Open loop: how latency grows with the rate that is asked for."""
import servers
import tables
from experiment import Experiment, bytes_moved, load_figures


class Beside(Experiment):
    name, title = "P", "Beside other servers"
    question = "What does one call cost, and how long does it take, compared with others in the same run?"

    def __init__(self, world, peers):
        super().__init__(world)
        self.peers = [servers.Peer(p) for p in peers]

    def open(self):
        w = self.world
        self.rows = tables.peers([p.name for p in self.peers])
        self.server = {p.name: p for p in self.peers}
        self.server["spliced"] = self.attempt("spliced", lambda: servers.spliced(w, "spliced", 4049))
        self.server["ganesha"] = self.attempt("ganesha", lambda: servers.ganesha(w, 5049))
        self.server["floor"] = self.attempt("floor", lambda: servers.floor(w, "floor", 3049, "hot"))
        self.server["floor 1M"] = self.attempt(
            "floor 1M", lambda: servers.floor(w, "floor1m", 3050, "pipe"))
        self.server["floor write"] = self.attempt(
            "floor write", lambda: servers.floor(w, "floorw", 3051, "write", file="wfile"))

        for name in ("spliced", "ganesha", "floor 1M"):
            self.attempt(name, lambda n=name: self.verify(n))

    def verify(self, name):
        """Who does not return the file is not measured."""
        server = self.server[name]
        if server is None:
            return
        self.server[name] = None
        self.world.nfsload(["-o", "read", "-s", "64K", "-n", 1563, "--warmup", 0, "--verify",
                            f"{self.world.export}/file", "--server", server.spec()])
        self.server[name] = server

    def find(self, c):
        work, name = c.get("work", ""), c["server"]
        if name == "floor" and work in tables.LARGE:
            name = "floor 1M"
        if name == "floor" and work.startswith("WRITE"):
            name = "floor write"
        return self.need(name, self.server[name])

    def condition(self, c):
        self.find(c)

    def measure(self, c):
        w, server = self.world, self.find(c)
        work = c.get("work", "")
        file = "wfile" if work.startswith("WRITE") else "many/f0" if work == "READDIRPLUS 100,000" else "file"
        args = ["--warmup", ".1", "-t", w.length(1), "--server", server.spec(file)]
        if c["part"] == "closed":
            args += tables.WORK[c["work"]]
        else:
            args += ["-o", "read", "-s", "8K", "--rate", c["rate"], "--poisson", "--names", tables.NAMES]
        moved = server.counters()
        said = w.nfsload(args, cpu=w.client_cpu) if server.local else server.load(w, args)
        out = {**load_figures(said), **bytes_moved(server, moved)}
        out["unsent"] = said["unsent"]
        return out
