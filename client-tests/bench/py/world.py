# SPDX-License-Identifier: BSD-2-Clause
"""The private world in which everything is measured: processes, network namespaces, links.

run makes the world (network, mount and process namespaces) before this program starts in it, and
its end is the end of all that was made here. Nothing needs to be undone for the machine's sake."""
import json
import os
import signal
import socket
import subprocess
import time


LIMIT = 600  # seconds after which a tool that should be done in one is given up


class Unestablished(Exception):
    """A condition could not be established: the row says why and is not drawn."""


def in_network(words, ns):
    """The words of a command that runs in that network, None being ours."""
    words = list(map(str, words))
    return ["nsenter", f"--net=/run/netns/{ns}"] + words if ns else words


def sh(*words, ns=None, check=True):
    """Runs a command to its end; its output. Unestablished with its words when it fails."""
    words = in_network(words, ns)
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          start_new_session=True, timeout=LIMIT)
    if check and done.returncode:
        raise Unestablished(f"{' '.join(words)}: {done.stdout.strip()[-300:]}")
    return done.stdout


def cpu_ns(pid):
    """Processor time of a process, all threads, to the nanosecond: clock_getcpuclockid(3)."""
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:
        return None


def session_cpu_ns(sid):
    """Of all processes of a session, and of their children that have ended."""
    total, tick = 0, 10**9 // os.sysconf("SC_CLK_TCK")
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as f:
                field = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(field[3]) == sid:  # state is field 0
            total += (cpu_ns(int(name)) or 0) + tick * (int(field[13]) + int(field[14]))
    return total


class World:
    def __init__(self, build, work, out, quick):
        self.build, self.work, self.out, self.quick = build, work, out, quick
        self.cpus = sorted(os.sched_getaffinity(0))
        self.server_cpu, self.client_cpu = self.cpus[0], self.cpus[-1]
        self.full_files = False  # the directory of 100,000 names too
        self.children = []
        self.raw = None  # file that gets every raw measurement of the experiment

    def length(self, seconds):
        """Of one load, as a table has it; half of it in QUICK."""
        return seconds / 2 if self.quick else seconds

    def tool(self, name):
        return os.path.join(self.work, "bin", name)

    def placed(self, words, ns, cpu):
        """The words of a command that runs in that network and on that processor."""
        pinned = ["taskset", "-c", cpu] if cpu is not None and len(self.cpus) > 1 else []
        return in_network([*pinned, *words], ns)

    def start(self, words, ns=None, cpu=None, log=None, **more):
        """A process that stays; it does not hear of Ctrl-C, stop_all ends it."""
        words = self.placed(words, ns, cpu)
        out = open(os.path.join(self.work, log), "ab") if log else subprocess.DEVNULL
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("stdout", out)
        child = subprocess.Popen(words, stderr=out, start_new_session=True, **more)
        self.children.append(child)
        return child

    def stop(self, child):
        if child in self.children:
            self.children.remove(child)
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def stop_all(self, keep=()):
        for child in [c for c in self.children if c not in keep][::-1]:
            self.stop(child)

    def last_words(self, log):
        try:
            with open(os.path.join(self.work, log), errors="replace") as f:
                return f.read()[-300:].strip()
        except OSError:
            return ""

    def run_nfsload(self, args, ns, cpu, limit):
        words = self.placed([self.tool("nfsload"), "--json", *args], ns, cpu)
        return subprocess.run(words, capture_output=True, text=True, start_new_session=True, timeout=limit)

    def nfsload(self, args, ns=None, cpu=None):
        """One measurement of one server; what nfsload says of it."""
        done = self.run_nfsload(["--rounds", 1, *args], ns, cpu, LIMIT)
        return self.parse_load(done.stdout, done.stderr, done.returncode)

    def nfsload_many(self, args, cpu):
        """Several servers in one run, round by round: all that nfsload says. Failed calls fail the row."""
        done = self.run_nfsload(args, None, cpu, 3 * LIMIT)
        if done.returncode == 1 or not done.stdout:
            raise Unestablished(done.stderr.strip()[-300:] or "nfsload said nothing")
        said = json.loads(done.stdout)
        self.keep_raw(said)
        for s in said["servers"]:
            if s["failed"]:
                raise Unestablished(f"{s['name']}: calls failed, by NFS status: {s['failed']}")
        if done.returncode:
            raise Unestablished(f"nfsload ended with status {done.returncode}: {done.stderr.strip()[-300:]}")
        return said

    def parse_load(self, out, err, status):
        if status == 1 or not out:
            if "PROC_UNAVAIL" in err:
                raise Unestablished("not served: it does not know this procedure")
            raise Unestablished(err.strip()[-300:] or "nfsload said nothing")
        said = json.loads(out)
        self.keep_raw(said)
        server = said["servers"][0]
        bad = server["failed"]
        if server["wrong_data"] or server["wrong_eof"]:
            raise Unestablished("wrong data: " + server["first_wrong_data"])
        if bad.get("30"):
            raise Unestablished("not yet served: the server says read-only (ROFS)")
        if bad.get("10004"):
            raise Unestablished("not served: NOTSUPP")
        if bad:
            raise Unestablished(f"calls failed, by NFS status: {bad}")
        return server

    def keep_raw(self, record):
        if self.raw:
            self.raw.write(json.dumps(record) + "\n")
            self.raw.flush()

    # ---- network ----

    def netns(self, name):
        sh("ip", "netns", "add", name)
        sh("ip", "-n", name, "link", "set", "lo", "up")

    def veth(self, a, dev_a, addr_a, b, dev_b, addr_b):
        sh("ip", "link", "add", dev_a, "netns", a, "type", "veth", "peer", "name", dev_b,
           "netns", b)
        for ns, dev, addr in ((a, dev_a, addr_a), (b, dev_b, addr_b)):
            sh("ip", "-n", ns, "addr", "add", addr, "dev", dev)
            sh("ip", "-n", ns, "link", "set", dev, "up")

    def remove_netns(self, *names):
        for name in names:
            sh("ip", "netns", "del", name, check=False)

    def mtu(self, ns, dev, value):
        sh("ip", "-n", ns, "link", "set", dev, "mtu", value)
        if f" mtu {value} " not in sh("ip", "-n", ns, "link", "show", dev):
            raise Unestablished(f"{dev} did not take mtu {value}")

    def offload(self, dev, ns=None, **want):
        """tso=False and so on, set and then looked at: the kernel may refuse without a word."""
        long = {"sg": "scatter-gather", "tx": "tx-checksumming", "tso": "tcp-segmentation-offload",
                "gso": "generic-segmentation-offload", "gro": "generic-receive-offload"}
        words = [w for k, v in want.items() for w in (k, "on" if v else "off")]
        sh("ethtool", "-K", dev, *words, ns=ns, check=False)
        now = dict(line.strip().split(": ")[:2] for line in
                   sh("ethtool", "-k", dev, ns=ns).splitlines() if ": " in line)
        for key, value in want.items():
            if now.get(long[key], "").split()[0] != ("on" if value else "off"):
                raise Unestablished(f"{dev}: {long[key]} stays {now.get(long[key], 'unknown')}")

    def wait_port(self, address, port, child, ns=None, seconds=20):
        """Until something listens there; Unestablished when the process has ended or time is over."""
        end = time.monotonic() + seconds
        probe = f"exec 3<>/dev/tcp/{address}/{port}"
        while time.monotonic() < end:
            if child.poll() is not None:
                return False
            if ns:
                try:
                    sh("bash", "-c", probe, ns=ns)
                    return True
                except Unestablished:
                    pass
            else:
                try:
                    socket.create_connection((address, port), 1).close()
                    return True
                except OSError:
                    pass
            time.sleep(.03)
        return False
