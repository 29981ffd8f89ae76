# SPDX-License-Identifier: BSD-2-Clause
"""E2: splicing TCP in a relay. Client, relay and server each have a network of their own:

    client (10.77.1.2) --- rc [relay] rs --- (10.77.2.2) server

The side that sends the data (READ: the server) has its packets cut to MTU on the way to the relay (its segmentation
offload is off), so that GRO on the relay's side has something to do; the relay's own sending keeps its offload, as its
card would. The relay has a processor to
itself, and receives there (RPS). Client and server share the others: Gb/s is what they leave, the relay's seconds
per GB are the result. "forward" is the kernel's own IP forwarding in the relay's place: the floor of a relay."""
import os
import socket

import servers
import tables
from experiment import Experiment, bytes_moved, load_figures
from soaker import Soaker, Window
from world import Unestablished, sh

HAPROXY = """global
    maxconn 200
    nbthread 1
    tune.pipesize 1048576
    stats socket {sock}
defaults
    mode tcp
    timeout connect 5s
    timeout client 60s
    timeout server 60s
"""
# one for each of our servers
LISTEN = """listen nfs{to}
    bind 10.77.1.1:{port}
    server s 10.77.2.2:{to} source 10.77.2.1
    {option}
"""
SPLICE = "option splice-response\n    option splice-request"


class E2(Experiment):
    name, title = "E2", "Splicing TCP in a relay"
    question = "What does a relay save when it splices from socket to socket instead of copying?"

    def open(self):
        w = self.world
        self.rows = tables.e2()
        for ns in ("client", "relay", "server"):
            w.netns(ns)
        w.veth("client", "cr", "10.77.1.2/24", "relay", "rc", "10.77.1.1/24")
        w.veth("relay", "rs", "10.77.2.1/24", "server", "sr", "10.77.2.2/24")
        sh("sysctl", "-q", "net.ipv4.ip_forward=1", ns="relay")
        sh("ip", "route", "add", "default", "via", "10.77.1.1", ns="client")
        sh("ip", "route", "add", "default", "via", "10.77.2.1", ns="server")
        for dev in ("rs", "rc"):
            self.receive_here(dev)
        self.splices = "--splice-receive" in sh(w.tool("spliced"), "--help", check=False)
        self.server = {op: servers.spliced(w, f"e2-{port}", port, "10.77.2.2", "server", more=self.receive(mode))
                       for op, port, mode in (("READ", 2049, None), (tables.WRITE_SPLICED, 2045, "always"),
                                              (tables.WRITE_COPIED, 2046, "never"))}
        self.relay = {}
        for name, port, option in (("splice", 2060, SPLICE), ("copy", 2070, "")):
            self.relay[name] = self.attempt(name,
                                            lambda n=name, p=port, o=option: self.start(n, p, o))
        self.soaker = Soaker(w, [w.client_cpu])
        self.soaker.calibrate(1)
        self.now = None

    def begin_round(self, n):
        self.soaker.calibrate(1 if n else .5)

    def receive(self, mode):
        """How WRITE data comes in: the server's switch, where it has one."""
        return ["-Z", mode] if mode and self.splices else []

    def receive_here(self, dev):
        """/sys shows the network of whoever mounted it."""
        mask = f"{1 << self.world.client_cpu:x}"
        sh("unshare", "--mount", "sh", "-c", "mount -t sysfs sysfs /sys && "
           f"echo {mask} >/sys/class/net/{dev}/queues/rx-0/rps_cpus", ns="relay")

    def start(self, name, port, option):
        w, conf = self.world, os.path.join(self.world.work, f"haproxy-{name}.cfg")
        with open(conf, "w") as f:
            f.write(HAPROXY.format(sock=os.path.join(w.work, name + ".sock")))
            for i, server in enumerate(self.server.values()):
                f.write(LISTEN.format(port=port + i, to=server.port, option=option))
        child = w.start(["haproxy", "-db", "-f", conf], ns="relay", cpu=w.client_cpu,
                        log="haproxy.log")
        if not w.wait_port("10.77.1.1", port, child, "relay"):
            raise Unestablished("haproxy did not start: " + w.last_words("haproxy.log"))
        child.port = port
        return child

    def spliced_by(self, name):
        """Bytes that haproxy says it has spliced."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(os.path.join(self.world.work, name + ".sock"))
            s.sendall(b"show info\n")
            said = b"".join(iter(lambda: s.recv(65536), b"")).decode()
        for line in said.splitlines():
            if line.startswith("TotalSpli"):
                return int(line.split(": ")[1])
        return None

    def condition(self, c):
        w = self.world
        if c["relay"] != "forward":
            self.need(c["relay"], self.relay[c["relay"]])
        if c["op"] == tables.WRITE_SPLICED and not self.splices:
            raise Unestablished("this server has no --splice-receive")
        want = c["op"], c["mtu"], c["gro"]
        if self.now == want:
            return
        self.now = None
        for ns, dev in (("client", "cr"), ("relay", "rc"), ("relay", "rs"), ("server", "sr")):
            w.mtu(ns, dev, c["mtu"])
        # data comes to the relay cut to packets from one side, and leaves it whole on the other
        read = c["op"] == "READ"
        w.offload("sr", "server", tso=not read)
        w.offload("cr", "client", tso=read)
        w.offload("rs", "relay", gro=read and c["gro"] == "on")
        w.offload("rc", "relay", gro=not read and c["gro"] == "on")
        self.now = want

    def measure(self, c):
        w = self.world
        relay = self.relay.get(c["relay"])
        server, op = self.server[c["op"]], c["op"][:5].rstrip(",").lower()
        through = ("10.77.1.1", relay.port + list(self.server).index(c["op"])) if relay else None
        args = ["-o", op, "-s", "1M", "-d", "8", "--warmup", ".3", "-t", "1",
                "--server", server.spec("file" if op == "read" else "wfile", through)]
        args += ["--overwrite"] if op == "write" else []
        moved = server.counters(op)
        relayed = self.spliced_by(c["relay"]) if relay else None
        with Window(self.soaker, .5, .7) as window:
            out = load_figures(w.nfsload(args, ns="client", cpu=w.server_cpu))
        out.update(bytes_moved(server, moved, op))
        if c["op"] == tables.WRITE_SPLICED and not out.get("spliced"):
            raise Unestablished("the server spliced nothing though it was told to: data in too many small pieces is copied")
        seconds, lost, books = window.loads(w.client_cpu)
        for how, ns in (("soaker", lost), ("kernel", books)):
            out[f"relay_{how}_percent"] = ns / 1e7 / seconds
            out[f"relay_{how}_s_gb"] = ns / 1e9 / seconds / (out["mb_s"] / 1e3)
        if relayed is not None:
            out["relay_spliced"] = self.spliced_by(c["relay"]) - relayed
        if c["relay"] == "splice" and not out.get("relay_spliced"):
            raise Unestablished("haproxy spliced nothing though it was told to")
        return out

    def close(self):
        super().close()
        self.world.remove_netns("client", "relay", "server")
