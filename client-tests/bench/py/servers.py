# SPDX-License-Identifier: BSD-2-Clause
"""The servers that are measured: ours, its floor, its peers."""
import json
import os
import shutil
import subprocess

from world import Unestablished, cpu_ns

GANESHA = """NFS_CORE_PARAM {{ NFS_Protocols = 3; NFS_Port = {port}; MNT_Port = {mountport};
Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; mount_path_pseudo = false; }}
EXPORT {{ Export_Id = 1; Path = {export}; Pseudo = /export; Protocols = 3; Transports = TCP;
Access_Type = RW; Squash = No_Root_Squash; SecType = sys; MaxRead = 1048576; PrefRead = 1048576;
FSAL {{ Name = VFS; }} }}
LOG {{ Default_Log_Level = EVENT; }}
"""


def bytes_by_way(stat, op):
    """(spliced, copied) of what `splicectl stat --json` said; None: it does not count them."""
    c = json.loads(stat)["counters"]
    return (c[f"{op}_bytes_spliced"], c[f"{op}_bytes_copied"]) if f"{op}_bytes_spliced" in c else None


class Server:
    """A running server. address and path say where nfsload or a client finds its file."""
    local = True

    def __init__(self, world, name, address, port, mountport, child, state=None, root=None):
        self.world, self.name, self.child, self.state = world, name, child, state
        self.root = root or world.export
        self.address, self.port, self.mountport = address, port, mountport
        self.pid = child.pid

    def spec(self, file="file", through=None):
        """through: (address, port) of a relay, whose CPU is not the server's."""
        address, port = through or (self.address, self.port)
        mountport = port if through else self.mountport
        return f"{self.name}={address}:{port}:{mountport}{self.root}//{file}@{self.pid}"

    def cpu_ns(self):
        return cpu_ns(self.pid)

    def counters(self, op="read"):
        """Bytes of READ data that went out (of WRITE data that came in) by splicing and by copying so far; None:
        it says not."""
        if not self.state:
            return None
        done = subprocess.run([self.world.tool("splicectl"), "-s", self.state, "stat", "--json"],
                              capture_output=True, text=True, start_new_session=True)
        if done.returncode:
            return None
        return bytes_by_way(done.stdout, op)

    def stop(self):
        self.world.stop(self.child)


def started(world, name, child, address, port, mountport, ns, log, state=None, root=None):
    for p in {port, mountport}:
        if not world.wait_port(address, p, child, ns):
            world.stop(child)
            raise Unestablished(f"{name} did not start: {world.last_words(log)}")
    return Server(world, name, address, port, mountport, child, state, root)


def spliced(world, name, port, address="127.0.0.1", ns=None, program="spliced", mode=None,
            more=(), root=None):
    """mode: -z. program: below the build directory, or a path."""
    state, log = os.path.join(world.work, "state-" + name), name + ".log"
    os.makedirs(state, exist_ok=True)
    words = [world.tool(program), "-p", port, "-a", address, "-s", state, "-R", "-q",
             "-o", "rw,insecure,no_root_squash", "-c", "*"]
    words += (["-z", mode] if mode else []) + list(more) + [root or world.export]
    child = world.start(words, ns=ns, cpu=world.server_cpu, log=log)
    return started(world, name, child, address, port, port, ns, log, state, root)


def floor(world, name, port, mode, address="127.0.0.1", ns=None, file="file", root=None):
    """mode: --hot and so on; "pipe write" serves WRITEs, which end in the file, too."""
    log = name + ".log"
    child = world.start([world.tool("floor"), *("--" + m for m in mode.split()), "-p", port, "-a", address,
                         os.path.join(root or world.export, file)], ns=ns, cpu=world.server_cpu, log=log)
    return started(world, name, child, address, port, port, ns, log, root=root)


def ganesha(world, port, address="127.0.0.1", ns=None):
    """Ganesha insists on an rpcbind to register with; both keep their state in this world's /run."""
    program = shutil.which("ganesha.nfsd")
    if not program or not shutil.which("rpcbind"):
        raise Unestablished("nfs-ganesha, nfs-ganesha-vfs and rpcbind are not installed: make deps")
    conf, log = os.path.join(world.work, f"ganesha{port}.conf"), f"ganesha{port}.log"
    with open(conf, "w") as f:
        f.write(GANESHA.format(port=port, mountport=port + 1, export=world.export))
    for path in ("/run/ganesha", "/run/rpcbind", "/var/lib/nfs/ganesha"):
        os.makedirs(path, exist_ok=True)
    rpcbind = world.start(["rpcbind", "-f", "-w"], ns=ns, log="rpcbind.log")
    world.wait_port(address, 111, rpcbind, ns, 5)  # it ends where another of ours runs already in this network
    child = world.start([program, "-F", "-L", "STDOUT", "-f", conf, "-p", f"/run/ganesha{port}.pid",
                         "-N", "NIV_EVENT"], ns=ns, cpu=world.server_cpu, log=log)
    return started(world, "ganesha", child, address, port, port + 1, ns, log)


class Peer:
    """PEER=name:host:port:mountport:path:pid, a server of the user's outside this world. run keeps a
    process outside that runs nfsload for us; requests and answers go through two pipes."""
    local, state = False, None

    def __init__(self, text):
        part = text.split(":")
        if len(part) < 5:
            raise SystemExit(f"PEER={text}: the form is name:host:port:mountport:path[:pid]")
        self.name, self.host, self.port, self.mountport, self.path = part[:5]
        self.pid = part[5] if len(part) > 5 else ""

    def spec(self, file="file", through=None):
        where = f"{self.name}={self.host}:{self.port}:{self.mountport}{self.path}"
        return where + (f"@{self.pid}" if self.pid else "")

    def counters(self, op="read"):
        return None

    def load(self, world, args):
        with open(os.environ["BENCH_ASK"], "w") as f:
            f.write(f"{world.client_cpu} " + " ".join(map(str, args)) + "\n")
        with open(os.environ["BENCH_ANSWER"]) as f:
            said = f.read()
        out, _, status = said.rpartition("\n#status ")
        return world.parse_load(out, out, int(status))
