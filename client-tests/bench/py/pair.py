# SPDX-License-Identifier: BSD-2-Clause
"""Two networks joined by one link: sender (10.78.1.1, one processor) and receiver (10.78.1.2, the other). E3 and
E4 live here. Super-packets cross whole, as between cards with TSO and LRO."""
import json

import servers
import tables
from experiment import Experiment, bytes_moved, load_figures, stream_figures
from world import Unestablished, cpu_ns, sh

A, B = "10.78.1.1", "10.78.1.2"


class Pair(Experiment):
    def open_pair(self):
        w = self.world
        w.netns("send")
        w.netns("recv")
        w.veth("send", "sv", A + "/24", "recv", "rv", B + "/24")
        w.offload("sv", "send", tso=True, sg=True, tx=True)
        self.mtu_now = None
        self.receiver = w.start([w.tool("stream"), "receive", B, 5001], ns="recv",
                                cpu=w.client_cpu, log="stream.log", stdout=-1)
        if self.receiver.stdout.readline() != b"ready\n":
            raise Unestablished("stream: " + w.last_words("stream.log"))
        self.server = {}
        for i, (name, mode) in enumerate((("copy", "never"), ("zero-copy", "always"))):
            self.server[name] = self.attempt(name, lambda n=name, m=mode, p=2049 + i:
                                             servers.spliced(w, n, p, A, "send", mode=m))

    def set_mtu(self, mtu):
        if self.mtu_now != mtu:
            self.mtu_now = None
            self.world.mtu("send", "sv", mtu)
            self.world.mtu("recv", "rv", mtu)
            self.mtu_now = mtu

    def stream(self, mode, piece, seconds, file=None, buffer=None):
        w = self.world
        words = ["taskset", "-c", w.server_cpu, w.tool("stream"), "send", "-m", mode, "-n", piece,
                 "-t", w.length(seconds)]
        words += ["-f", f"{w.export}/{file}"] if file else []
        words += ["-b", buffer] if buffer else []
        sent = json.loads(sh(*words, B, 5001, ns="send"))
        received = json.loads(self.receiver.stdout.readline())
        w.keep_raw({"sent": sent, "received": received})
        return stream_figures(sent, received)

    def read(self, server, size, seconds, file):
        """READs whose data the client copies out, as a real one does."""
        w, moved = self.world, server.counters()
        said = w.nfsload(["-o", "read", "-s", size, "-d", 16, "-t", w.length(seconds), "--warmup", ".1",
                          "--discard-from", "64M", "--server", server.spec(file)],
                         ns="recv", cpu=w.client_cpu)
        return {**load_figures(said), **bytes_moved(server, moved)}

    def close(self):
        super().close()
        self.world.remove_netns("send", "recv")


class E3(Pair):
    name, title = "E3", "sendfile at full speed"
    question = "How fast, and at what price on both sides, does sendfile of a cached file go, bare and through READ?"

    def open(self):
        self.rows = tables.e3()
        self.open_pair()
        w = self.world
        self.server["ganesha"] = self.attempt("ganesha",
                                              lambda: servers.ganesha(w, 2060, A, "send"))
        self.iperf = w.start(["iperf3", "-s", "-B", B], ns="recv", cpu=w.client_cpu,
                             log="iperf.log")

    def condition(self, c):
        self.set_mtu(c["mtu"])
        kind = c["way"].removeprefix("READ ")
        if kind != c["way"]:
            self.need(kind, self.server[kind])
        if c["way"].startswith("iperf3") and not self.world.wait_port(B, 5201, self.iperf, "recv"):
            raise Unestablished("iperf3 does not run: " + self.world.last_words("iperf.log"))

    def measure(self, c):
        file = "file10" if c["bytes"] == tables.TEN_MB else "big"
        if c["way"] == "sendfile":
            out = self.stream("sendfile", c["piece"], 1, file)
        elif c["way"].startswith("iperf3"):
            out = self.iperf3(c["piece"], file)
        else:
            out = self.read(self.server[c["way"].removeprefix("READ ")], c["piece"], 1, file)
        for side in ("server", "client"):  # netperf's service demand: its KB are of 1024 bytes
            out[f"{side}_us_kb"] = out[f"{side}_s_gb"] * 1.024
        return out

    def iperf3(self, piece, file):
        """It sends a file once and ends."""
        w, before = self.world, cpu_ns(self.iperf.pid)
        said = json.loads(sh("taskset", "-c", w.server_cpu, "iperf3", "-c", B, "-Z", "-F",
                             f"{w.export}/{file}", "-l", piece, "-J", ns="send"))
        w.keep_raw(said)
        if "error" in said:
            raise Unestablished("iperf3: " + said["error"])
        end = said["end"]
        sent, cpu = end["sum_sent"], end["cpu_utilization_percent"]
        seconds, gb = sent["seconds"], sent["bytes"] / 1e9
        client_ns = cpu_ns(self.iperf.pid) - before
        return {"seconds": seconds, "bytes": sent["bytes"], "mb_s": gb * 1e3 / seconds,
                "gbit_s": gb * 8 / seconds, "server_percent": cpu["host_total"],
                "client_percent": client_ns / 1e7 / seconds,
                "server_s_gb": cpu["host_total"] / 100 * seconds / gb,
                "client_s_gb": client_ns / 1e9 / gb}


class E4(Pair):
    name, title = "E4", "write() of 8192 bytes against sendfile"
    question = "From which size on does not copying pay on this machine, bare and through READ?"

    def open(self):
        self.rows = tables.e4()
        self.open_pair()
        w = self.world
        self.server["floor"] = self.attempt("floor", lambda: servers.floor(
            w, "e4floor", 2055, "hot", A, "send", "big"))
        self.set_mtu(1500)

    def condition(self, c):
        kind = c["way"].removeprefix("READ ")
        if kind != c["way"]:
            self.need(kind, self.server[kind])

    def measure(self, c):
        seconds = 1 if c["part"] == "old" else .3
        kind = c["way"].removeprefix("READ ")
        if kind != c["way"]:
            return self.read(self.server[kind], c["piece"], seconds, "big")
        if c["way"] == "write":
            return self.stream("write", c["piece"], seconds, buffer=c["bytes"])
        return self.stream(c["way"], c["piece"], seconds, "big")
