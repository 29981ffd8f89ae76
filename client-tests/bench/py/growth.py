# SPDX-License-Identifier: BSD-2-Clause
"""G: what a READ costs as files and connections become many. Ours and the floor, which knows neither files nor much of
connections, are measured in one run of nfsload, round by round; the growth that counts is that of their ratio."""
import os

import servers
import tables
from experiment import Experiment
from world import sh


class Growth(Experiment):
    name, title = "G", "Many files, many connections"
    question = "Does a READ stay as cheap when a million files are read and when thousands of connections ask?"

    def open(self):
        w = self.world
        self.rows = tables.growth()
        os.makedirs(w.many)
        # a tmpfs: a million files in seconds. They are holes of 4 KiB: what is measured is finding them
        sh("mount", "-t", "tmpfs", "-o", "size=100%,nr_inodes=0,mode=755", "tmpfs", w.many)
        self.made = 0
        self.make_files(1)
        self.server = [self.attempt("floor", lambda: servers.floor(w, "floor", 3060, "hot", root=w.many, file="f0")),
                       self.attempt("spliced", lambda: servers.spliced(w, "spliced", 4060, root=w.many))]

    def make_files(self, n):
        directory = os.open(self.world.many, os.O_RDONLY)
        for i in range(self.made, n):
            fd = os.open(f"f{i}", os.O_CREAT | os.O_RDWR, 0o644, dir_fd=directory)
            os.ftruncate(fd, 4096)
            os.close(fd)
        os.close(directory)
        self.made = max(n, self.made)

    def condition(self, c):
        for name, s in zip(("floor", "spliced"), self.server):
            self.need(name, s)
        if c["grows"] == "files":
            self.make_files(c["n"])

    def measure(self, c):
        """All rounds of the row: finding a million files anew for each would take longer than measuring."""
        w = self.world
        args = ["-o", "read", "-s", "4K", "--rounds", 3 if w.quick else 11, "-t", w.length(.5), "--warmup", ".2",
                "--base", "floor"]
        args += ["-d", 16, "--names", c["n"], "--spread", "--random"] if c["grows"] == "files" else \
            ["-d", 4, "-c", c["n"]]
        said = w.nfsload_many(args + [x for s in self.server for x in ("--server", s.spec("f0"))], cpu=w.client_cpu)
        floor, ours = (s["rounds"] for s in said["servers"])
        return [{"floor_us_call": f["server_cpu_ns"] / 1e3 / f["calls"],
                 "server_us_call": o["server_cpu_ns"] / 1e3 / o["calls"],
                 "to_floor": o["server_cpu_ns"] / o["calls"] / (f["server_cpu_ns"] / f["calls"])}
                for f, o in zip(floor, ours) if f["calls"] and o["calls"]]

    def close(self):
        super().close()
        sh("umount", "-l", self.world.many, check=False)
