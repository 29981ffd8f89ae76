# SPDX-License-Identifier: BSD-2-Clause
"""K: the kernel's own NFS server. A QEMU guest (client-tests/bench/knfsd prepares it) runs nfsd, ours and floor on one
file; the client is outside. Counted is all processor time of the guest, interrupts and network included, over a
fixed number of calls, so that every call that costs is counted and nothing else runs there."""
import os
import socket
import subprocess

import tables
from experiment import Experiment, bytes_moved, load_figures
from servers import bytes_by_way
from world import Unestablished, sh

HERE = os.path.dirname(os.path.abspath(__file__))
HOST, GUEST = "10.79.1.1", "10.79.1.2"
PORTS = {"Linux nfsd": (2049, 20048), "spliced": (4049, 4049), "floor": (3049, 3049), "floor pipe": (3050, 3050)}
BOOT_LIMIT = 240


class Guest:
    """The virtual machine, and the connection over which it calls us back."""

    def __init__(self, world):
        self.world, env = world, os.environ
        sh("ip", "tuntap", "add", "dev", "knfsd0", "mode", "tap")
        sh("ip", "addr", "add", HOST + "/24", "dev", "knfsd0")
        sh("ip", "link", "set", "knfsd0", "up")
        self.listener = socket.create_server((HOST, 0))
        self.console = os.path.join(world.work, "console")
        with open(os.path.join(world.work, "settings"), "w") as f:
            for key, value in (("work", world.work), ("bin", os.path.join(world.work, "bin")),
                               ("kernel", env["GUEST_KERNEL"]), ("nfs", env["GUEST_NFS"]),
                               ("version", env["GUEST_VERSION"]), ("host", HOST), ("guest", GUEST),
                               ("port", self.listener.getsockname()[1]), ("block", 1 << 20)):
                f.write(f"{key}='{value}'\n")
        self.child = world.start(self.words(env), log="qemu.log")
        self.pin()
        self.stream = self.accept()
        self.expect("ready")

    def words(self, env):
        line = (f"console=ttyS0 quiet panic=-1 mitigations=auto guest={HERE}/../knfsd-guest "
                f"settings={self.world.work}/settings")
        kvm = env.get("ACCEL") == "kvm"
        # without KVM the guest's clock counts instructions (8 ns each, about what emulation reaches): what it says of
        # itself does not depend on what else this machine does
        clock = [] if kvm else ["-icount", "shift=3,sleep=on"]
        return ["qemu-system-x86_64", *clock, "-name", "knfsd,debug-threads=on", "-accel", "kvm" if kvm else "tcg",
                "-cpu", "host" if kvm else "max", "-smp", 1, "-m", "1G", "-nodefaults", "-no-user-config",
                "-no-reboot", "-display", "none", "-monitor", "none", "-serial", "file:" + self.console,
                "-kernel", f"{env['GUEST_KERNEL']}/boot/vmlinuz-{env['GUEST_VERSION']}",
                "-initrd", env["GUEST_INITRD"], "-append", line,
                "-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap",
                "-netdev", "tap,id=n,ifname=knfsd0,script=no,downscript=no",
                "-device", "virtio-net-pci,netdev=n,romfile="]

    def pin(self):
        """Its processor is ours for servers; the devices share the client's."""
        w = self.world
        if len(w.cpus) < 2:
            return
        for _ in range(100):
            for task in os.listdir(f"/proc/{self.child.pid}/task"):
                try:
                    with open(f"/proc/{self.child.pid}/task/{task}/comm") as f:
                        vcpu = f.read().startswith("CPU 0")
                except OSError:
                    continue
                if vcpu:
                    sh("taskset", "-a", "-p", "-c", w.client_cpu, self.child.pid)
                    sh("taskset", "-p", "-c", w.server_cpu, task)
                    return
            if self.child.poll() is not None:
                return
            self.wait(.05)

    def wait(self, seconds):
        try:
            self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            pass

    def why(self):
        try:
            with open(self.console, errors="replace") as f:
                said = f.read()
        except OSError:
            said = ""
        return (self.world.last_words("qemu.log") + " " + said[-400:]).strip() or "it said nothing"

    def accept(self):
        self.listener.settimeout(1)
        for _ in range(BOOT_LIMIT):
            try:
                connection = self.listener.accept()[0]
                connection.settimeout(BOOT_LIMIT)
                return connection.makefile("rw", buffering=1)
            except TimeoutError:
                if self.child.poll() is not None:
                    break
        raise Unestablished("the guest did not boot: " + self.why())

    def expect(self, word):
        said = self.stream.readline().strip()
        if said != word:
            raise Unestablished(f"the guest: {said or self.why()}")

    def ask(self, line):
        try:
            self.stream.write(line + "\n")
            said = self.stream.readline().strip()
        except OSError as e:
            said, self.error = "", e
        if not said:
            raise Unestablished("the guest is gone: " + self.why())
        return said

    def cpu_ns(self):
        ticks, per_second = map(int, self.ask("stat").split())
        return ticks * (10**9 // per_second)

    def counters(self, op="read"):
        return bytes_by_way(self.ask("counters"), op)

    def close(self):
        self.world.stop(self.child)
        self.listener.close()
        sh("ip", "link", "del", "knfsd0", check=False)


class Knfsd(Experiment):
    name, title = "K", "Beside the kernel’s own server"
    question = "What does a call cost in one and the same virtual machine: Linux nfsd, this server, and the wire alone?"

    def open(self):
        self.rows = tables.knfsd()
        if not os.environ.get("GUEST_KERNEL"):
            raise Unestablished("make bench-knfsd prepares the guest and measures this")
        self.guest = Guest(self.world)
        for name in ("Linux nfsd", "spliced", "floor pipe"):
            self.load(name, ["-o", "read", "-s", "64K", "-n", 200, "--warmup", 0, "--verify", f"{self.world.export}/file"])

    def load(self, name, args):
        port, mountport = PORTS[name]
        return self.world.nfsload([*args, "--server", f"{name.replace(' ', '-')}={GUEST}:{port}:{mountport}/mnt/export//file"],
                                  cpu=self.world.client_cpu)

    def measure(self, c):
        name = c["server"]
        if name == "floor" and c["work"] in tables.LARGE:
            name = "floor pipe"
        work = tables.GUEST_WORK[c["work"]] + ["--warmup", 0]
        # caches and windows grow first; then as many calls as fit the time: all that are served are counted
        pace = load_figures(self.load(name, work + ["-t", self.world.length(.6)]))["calls_s"]
        moved, before = self.guest.counters(), self.guest.cpu_ns()
        said = self.load(name, work + ["-n", max(64, round(pace * self.world.length(2)))])
        busy = self.guest.cpu_ns() - before
        if self.guest.ask("alive") != "yes":
            raise Unestablished("a server in the guest died: " + self.guest.why())
        out, r = load_figures(said), said["rounds"][0]
        out["server_us_call"] = busy / 1e3 / r["calls"]
        out["server_percent"] = busy / 1e7 / r["seconds"]
        if r["bytes"]:
            out["server_s_gb"] = busy / r["bytes"]
        if r["entries"]:
            out["server_us_entry"] = busy / 1e3 / r["entries"]
        if name == "spliced":
            out.update(bytes_moved(self.guest, moved))
        return out

    def close(self):
        if hasattr(self, "guest"):
            self.guest.close()
        super().close()
