# SPDX-License-Identifier: BSD-2-Clause
"""What is measured: one table of conditions per experiment, and the historic numbers beside it.

A table is a list of rows; each row is a dictionary of conditions. `rounds` and `quick_rounds` say how
often (0: not in QUICK), `seconds` how long one measurement takes, for the time left. Rows of a
table are measured in this order, and the whole order again for every round: A B A B."""
import os

from machine import caches

HISTORIC_FILE = 102_400_000
TEN_MB = 10_485_760
L = caches()
L1, L2, L3 = L.get(1, 32 << 10), L.get(2, 1 << 20), L.get(3, L.get(2, 8 << 20))
BIG = max(170_000_000, 4 * L3)  # exceeds every cache


def row(rounds, quick_rounds, seconds, load=0, **conditions):
    """load: the part of seconds that QUICK halves."""
    return {"rounds": rounds, "quick_rounds": quick_rounds, "seconds": seconds, "load": load,
            "conditions": conditions}


# ---- E1: a real Linux client, cp to /dev/null ----

E1_SERVERS = ("copy", "zero-copy", "auto", "floor", "ganesha")
E1_MODES = {"copy": "never", "zero-copy": "always", "auto": "auto"}  # -z of spliced


def e1():
    rows = []
    for rate in ("unlimited", "100 Mbit/s"):
        slow = rate != "unlimited"
        for link in ("SG+checksum+TSO", "no SG, no checksum"):
            for rsize in (8192, 32768, 65536, 1048576):
                for server in E1_SERVERS:
                    peer = server in ("floor", "ganesha")
                    if peer and slow:
                        continue  # a saturated link says nothing about them
                    full_link = link == "SG+checksum+TSO"
                    quick = 0
                    if not slow and rsize in (8192, 1048576) and server != "auto":
                        quick = 3 if full_link else 2 if not peer else 0
                    if slow and full_link and rsize == 8192 and server in ("copy", "zero-copy"):
                        quick = 1
                    # at 100 Mbit/s a copy takes nine seconds: in full only as of old
                    rounds = 2 if slow and rsize != 8192 else 10
                    rows.append(row(rounds, quick, 9.2 if slow else .9, rate=rate, link=link,
                                    rsize=rsize, server=server))
    return rows


E1_OLD = {
    "title": "A. Morton, 2001-01-30: 100 Mbit/s, rsize 8192, 8.654 s, 11.8 MB/s (link-limited)",
    "head": ["client", "CPU of the client"],
    "rows": [["2.4.1 vanilla", "29.8 %"], ["2.4.1 zero-copy", "28.2 %"],
             ["2.4.1 zero-copy, card without scatter-gather and checksum", "27.7 %"]],
    "more": {
        "title": "The same week, sender side, same link (PIII-650)",
        "head": ["CPU of the sender", "read/write", "sendfile"],
        "rows": [["vanilla", "34.5 %", "29.6 %"], ["zero-copy", "38.1 %", "18.2 %"],
                 ["zero-copy, hardware checksums off", "39.2 %", "22.9 %"]]},
}

# ---- E2: a TCP relay between client and server ----


WRITE_SPLICED, WRITE_COPIED = "WRITE, server splices", "WRITE, server copies"


def e2():
    rows = []
    for op in ("READ", WRITE_SPLICED, WRITE_COPIED):
        for mtu in (1500, 9000):
            for gro in ("off", "on"):
                for relay in ("splice", "copy", "forward"):
                    if op != "READ" and relay == "forward":
                        continue
                    quick = 2 if gro == "on" or (op == "READ" and mtu == 1500) else 0
                    rows.append(row(7, quick, 1.6, 0, op=op, mtu=mtu, gro=gro, relay=relay))
    return rows


E2_OLD = {
    "title": "W. Tarreau, 2009-01-19: haproxy, Core 2 Duo 2.66 GHz, Myri10GE",
    "head": ["MTU", "LRO", "with splice", "without"],
    "rows": [["1500", "no", "4.8 Gb/s at 100 % CPU", "3.2 Gb/s at 100 %"],
             ["1500", "yes", "9.2 Gb/s at 50 %", ""],
             ["9000", "no", "10 Gb/s at 20 %", "7 Gb/s at 100 %"],
             ["9000", "yes", "10 Gb/s at 15 %", ""]],
}

# ---- E3: sendfile, bare and through READ ----


def e3():
    rows = []
    for mtu in (1500, 9000):
        for file, size in (("10 MB", TEN_MB), ("larger than L3", BIG)):
            for piece in (393216, 5 << 20):
                quick = 2 if mtu == 1500 or piece == 393216 else 0
                rows.append(row(5, quick, 1.1, 1, mtu=mtu, file=file, bytes=size, piece=piece,
                                way="sendfile"))
            for piece in (393216, 1 << 20):
                for way in ("READ zero-copy", "READ copy", "READ ganesha"):
                    quick = 2 if mtu == 1500 and way != "READ ganesha" else 0
                    rows.append(row(5, quick, 1.3, 1, mtu=mtu, file=file, bytes=size, piece=piece,
                                    way=way))
            rows.append(row(5, 2 if mtu == 1500 else 0, .6, 0, mtu=mtu, file=file, bytes=size,
                            piece=393216, way="iperf3 -Z -F"))
    return rows


E3_OLD = {
    "title": "A. Gallatin, 2006: Linux 2.6.9, netperf TCP_SENDFILE -m 393216 of a 10 MB file, "
             "10 GbE, MTU 1500, LRO receiver, median of 5",
    "head": ["Mbit/s", "CPU of the sender", "CPU of the receiver", "sender µs/KB",
             "receiver µs/KB"],
    "rows": [["9333", "28.98 %", "75.23 %", "0.254", "1.321"]],
}

# ---- E4: write() against sendfile, and where not copying starts to pay ----

CURVE = [1 << i for i in range(10, 21)]  # 1 KiB to 1 MiB


def e4():
    rows = []
    for name, size in (("that fits L1", max(8192, L1 // 2)), ("that fits L2", L2 // 2),
                       ("that exceeds L2", 2 * L2), ("that exceeds L3", 2 * L3)):
        rows.append(row(7, 2, 1.1, 1, part="old", way="write", piece=8192, source=f"buffer {name}",
                        bytes=size))
    for piece in (8192, 65536):
        rows.append(row(7, 2, 1.1, 1, part="old", way="sendfile", piece=piece, source="170 MB file",
                        bytes=BIG))
    for way in ("READ copy", "READ zero-copy", "READ floor"):
        rows.append(row(7, 2, 1.3, 1, part="old", way=way, piece=8192, source="170 MB file",
                        bytes=BIG))
    for piece in CURVE:
        odd = piece in (2048, 131072, 524288)
        for way in ("copy", "sendfile", "splice", "READ copy", "READ zero-copy", "READ floor"):
            rows.append(row(5, 0 if odd or way == "splice" or piece == 1024 else 2, .5, .3, part="curve", way=way,
                            piece=piece, source="170 MB file", bytes=BIG))
    return rows


E4_OLD = {
    "title": "Jamal, 2001-01-14: gigabit, 2.4.0-pre3, 15 s, file of 170 MB",
    "head": ["", "no patch: MB/s, sender, receiver", "zero-copy patch: MB/s, sender, receiver"],
    "rows": [["write 8192", "99, 87 %, 22 %", "66.2, 60 %, 11 %"],
             ["sendfile", "86, 100 %, 17 %", "68, 8 %, 8 %"]],
}

# ---- beside other servers ----

NAMES = 1000  # files in the directory that is listed and looked up in
WORK = {  # name -> options of nfsload
    "READ 512 B": ["-o", "read", "-s", "512", "-d", "16"],
    "READ 4 KiB": ["-o", "read", "-s", "4K", "-d", "16"],
    "READ 8 KiB": ["-o", "read", "-s", "8K", "-d", "16"],
    "READ 64 KiB": ["-o", "read", "-s", "64K", "-d", "16"],
    "READ 1 MiB": ["-o", "read", "-s", "1M", "-d", "16"],
    "GETATTR": ["-o", "getattr", "-d", "32", "--names", "1000"],
    "LOOKUP": ["-o", "lookup", "-d", "32", "--names", "1000"],
    "READDIRPLUS": ["-o", "readdirplus", "-d", "4"],
    "70/20/10 mix": ["--mix", "read=70,getattr=20,lookup=10", "-s", "32K", "-d", "16",
                     "--names", "1000"],
    "READ 4 KiB random, 64 × 4": ["-o", "read", "-s", "4K", "-d", "4", "-c", "64", "--random"],
    "WRITE 64 KiB": ["-o", "write", "--overwrite", "-s", "64K", "-d", "16"],
    "WRITE 1 MiB": ["-o", "write", "--overwrite", "-s", "1M", "-d", "16", "--commit", "0"],
    "CREATE, REMOVE": ["-o", "create", "-d", "8"],
    "READDIRPLUS 100,000": ["-o", "readdirplus", "-d", "1"],
}
MANY_NAMES = 100_000  # entries of the directory of the last
# the floor of large READs is a pipe of file pages, of everything else a hot buffer
LARGE = ("READ 64 KiB", "READ 256 KiB", "READ 1 MiB", "70/20/10 mix")
RATES = [1000, 2000, 5000, 10000, 20000, 40000, 80000]  # open loop, calls per second


def peers(names):
    rows = []
    for work in WORK:
        for server in ["floor", "spliced", "ganesha"] + names:
            rows.append(row(10, 2 if work != "READ 1 MiB" else 3, 1.25, 1, part="closed", work=work,
                            server=server))
    for rate in RATES:
        for server in ["floor", "spliced", "ganesha"] + names:
            quick = 1 if rate in (1000, 10000, 80000) else 0
            rows.append(row(5, quick, 1.25, 1, part="open", rate=rate, server=server))
    return rows

# ---- many files, many connections ----


def growth():
    """Each row has its rounds in it."""
    rows = []
    for grows, full, quick in (("files", (1, 1000, 1_000_000), (1, 1000)),
                               ("connections", (1, 64, 1000, 5000), (1, 64))):
        for n in full:
            seconds = 18 + n / 8_000 if grows == "files" else 18 + n / 500
            rows.append(row(1, 0, seconds, grows=grows, n=n) if n not in quick else
                        row(1, 1, seconds, seconds * 1.6, grows=grows, n=n))
    return rows


# ---- beside the kernel's own server, in a guest ----

GUEST_WORK = {
    "READ 8 KiB": ["-o", "read", "-s", "8K", "-d", "16"],
    "READ 64 KiB": ["-o", "read", "-s", "64K", "-d", "16"],
    "READ 256 KiB": ["-o", "read", "-s", "256K", "-d", "16"],
    "GETATTR": ["-o", "getattr", "-d", "16", "--names", "1000"],
    "LOOKUP": ["-o", "lookup", "-d", "16", "--names", "1000"],
}
GUEST_WIDE = {
    "READ 512 B": ["-o", "read", "-s", "512", "-d", "16"],
    "READ 4 KiB": ["-o", "read", "-s", "4K", "-d", "16"],
    "READ 1 MiB": ["-o", "read", "-s", "1M", "-d", "16"],
    "READ 8 KiB, 8 connections": ["-o", "read", "-s", "8K", "-d", "2", "-c", "8"],
    "READ 8 KiB, 64 connections": ["-o", "read", "-s", "8K", "-d", "2", "-c", "64"],
    "WRITE 64 KiB": ["-o", "write", "--overwrite", "-s", "64K", "-d", "16"],
    "READDIRPLUS": ["-o", "readdirplus", "-d", "4"],
    "CREATE, REMOVE": ["-o", "create", "-d", "8"],
}


def knfsd():
    if os.environ.get("WIDE"):
        GUEST_WORK.update(GUEST_WIDE)
    rounds = int(os.environ.get("ROUNDS") or 2)
    return [row(rounds, rounds, 3.6, 2.6, work=work, server=server)
            for work in GUEST_WORK for server in ("floor", "spliced", "Linux nfsd")]
