# SPDX-License-Identifier: BSD-2-Clause
"""E1: does zero-copy help an NFS client? A real Linux client copies the historic file to /dev/null.

The client is the machine's own or a user-mode kernel (client-tests/live/guest.sh); it is pinned to one
processor, the server to another, a soaker to both. The file system is mounted anew for every run, so the
client caches nothing; time and processors are read around the cp alone."""
import os
import socket
import subprocess

import servers
import tables
from experiment import Experiment, bytes_moved
from soaker import Soaker
from world import Unestablished, session_cpu_ns, sh

HERE = os.path.dirname(os.path.abspath(__file__))
OFFLOADS = {"SG+checksum+TSO": True, "no SG, no checksum": False}


class Guest:
    """The client: a bridge boots it, a script in it does one cp for each line that we send."""

    def __init__(self, world):
        self.world = world
        env = dict(os.environ, BUILD=world.build, GUEST_TMP=world.work)
        self.bridge = world.start(["bash", os.path.join(HERE, "..", "guest-bridge")],
                                  cpu=world.client_cpu, log="guest.log", env=env,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        said = self.bridge.stdout.readline().decode().split()
        if len(said) != 6 or said[0] != "ready":
            raise Unestablished("no client: " + world.last_words("guest.log"))
        self.link, self.host, self.guest, self.kind, self.pid = said[1:]
        self.listener = socket.create_server((self.host, 0))
        self.listener.settimeout(30)
        self.tell_bridge(f"run {self.host} {self.listener.getsockname()[1]}")
        try:
            connection = self.listener.accept()[0]
            connection.settimeout(120)
            self.stream = connection.makefile("rw", buffering=1)
        except OSError:
            raise Unestablished("the client does not call back") from None

    def tell_bridge(self, line):
        self.bridge.stdin.write((line + "\n").encode())
        self.bridge.stdin.flush()

    def ask(self, line, expect):
        try:
            self.stream.write(line + "\n")
            said = self.stream.readline().strip()
        except OSError as e:
            said = f"no answer ({e})"
        if not said.startswith(expect):
            raise Unestablished("client: " + (said or "it is gone"))
        return said[len(expect):].split()

    def cpu_ns(self):
        """By the kernel's books; None for the machine's own client, which is no process."""
        return session_cpu_ns(int(self.pid)) if self.kind == "uml" else None

    def close(self):
        try:
            self.bridge.stdin.close()
            self.bridge.wait(15)
        except (OSError, subprocess.TimeoutExpired):
            pass
        self.world.stop(self.bridge)
        self.listener.close()


class E1(Experiment):
    name, title = "E1", "Does zero-copy help an NFS client?"
    question = ("Copying once less at 130 MB/s of memory bandwidth should have saved about 10 % of the "
                "client's processor; 2 % was found. Where does the client's time go?")

    def open(self):
        w = self.world
        self.rows = tables.e1()
        self.soaker = Soaker(w, [w.server_cpu, w.client_cpu])
        self.guest = Guest(w)
        self.link_now = self.rate_now = None
        at = self.guest.host
        self.servers = {}
        for i, name in enumerate(tables.E1_SERVERS):
            port = 2100 + 10 * i
            self.servers[name] = self.attempt(name, lambda n=name, p=port: self.serve(n, p, at))

    def serve(self, name, port, at):
        if name == "floor":
            return servers.floor(self.world, name, port, "pipe", at)
        if name == "ganesha":
            return servers.ganesha(self.world, port, at)
        return servers.spliced(self.world, name, port, at, mode=tables.E1_MODES[name])

    def begin_round(self, n):
        self.soaker.calibrate(1 if n else 2)

    def condition(self, c):
        self.need(c["server"], self.servers[c["server"]])
        if c["link"] != self.link_now:
            self.link_now = None
            on = OFFLOADS[c["link"]]
            self.world.offload(self.guest.link, sg=on, tx=on, tso=on, gso=on)
            self.link_now = c["link"]
        if c["rate"] != self.rate_now:
            self.rate_now = None
            self.set_rate(c["rate"])
            self.rate_now = c["rate"]

    def set_rate(self, rate):
        sh("tc", "qdisc", "del", "dev", self.guest.link, "root", check=False)
        if rate == "unlimited":
            return
        sh("tc", "qdisc", "add", "dev", self.guest.link, "root", "tbf", "rate", "100mbit", "burst",
           "64kb", "latency", "50ms")
        if "tbf" not in sh("tc", "qdisc", "show", "dev", self.guest.link):
            raise Unestablished("tc did not set the rate")

    def measure(self, c):
        w, s = self.world, self.servers[c["server"]]
        moved = s.counters()
        self.guest.ask(f"mount {s.port} {s.mountport} {c['rsize']} {w.export}", "mounted")
        mark, server, client = self.soaker.mark(), s.cpu_ns(), self.guest.cpu_ns()
        took = float(self.guest.ask("go", "done")[0])
        after = self.soaker.mark()
        if s.cpu_ns() is None:
            raise Unestablished(f"{s.name} died: {w.last_words(s.name + '.log')}")
        cpu = {"server": s.cpu_ns() - server}
        if client is not None:
            cpu["client"] = self.guest.cpu_ns() - client
        figures = self.figures(mark, after, cpu)
        self.guest.ask("umount", "umounted")
        figures.update(bytes_moved(s, moved), seconds=took,
                       mb_s=tables.HISTORIC_FILE / 1e6 / took)
        w.keep_raw({"conditions": c, "figures": figures})
        return figures

    def figures(self, mark, after, cpu):
        """Per cent of a processor and seconds per GB, each counted by both methods."""
        w, out, gb = self.world, {}, tables.HISTORIC_FILE / 1e9
        wall = after[0] - mark[0]
        if w.server_cpu == w.client_cpu:
            raise Unestablished("one processor only: client and server cannot be told apart")
        for side, number in (("server", w.server_cpu), ("client", w.client_cpu)):
            lost, books = self.soaker.loads(mark, after, number)
            for how, ns in (("soaker", lost), ("kernel", cpu.get(side, books))):
                out[f"{side}_{how}_percent"] = 100 * ns / wall
                out[f"{side}_{how}_s_gb"] = ns / 1e9 / gb
        return out

    def close(self):
        if hasattr(self, "guest"):
            self.guest.close()
        super().close()
