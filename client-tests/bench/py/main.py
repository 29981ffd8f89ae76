# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark, inside the private world that client-tests/bench/run makes. See there for its options."""
import json
import os
import resource
import signal
import subprocess
import sys
import time

import goals
import machine
import page
import tables
from beside import Beside
from driver import Driver
from e1 import E1
from e2 import E2
from files import make_files
from growth import Growth
from knfsd import Knfsd
from pair import E3, E4
from world import World, sh


def versions(world):
    out = {}
    for name, words in (("spliced", [world.tool("spliced"), "--version"]),
                        ("haproxy", ["haproxy", "-v"]), ("iperf3", ["iperf3", "-v"]),
                        ("ganesha", ["ganesha.nfsd", "-v"]), ("gnuplot", ["gnuplot", "--version"])):
        try:
            said = subprocess.run(words, capture_output=True, text=True).stdout
            out[name] = said.splitlines()[0].strip()[:80] if said else ""
        except OSError:
            out[name] = ""
    revision = subprocess.run(["git", "-C", os.path.dirname(os.path.abspath(__file__)), "rev-parse",
                               "--short", "HEAD"], capture_output=True, text=True)
    out["revision"] = revision.stdout.strip()
    return out


def offloads():
    """What the links between our networks can do before an experiment changes it."""
    sh("ip", "link", "add", "look0", "type", "veth", "peer", "name", "look1")
    said = sh("ethtool", "-k", "look0")
    sh("ip", "link", "del", "look0")
    return [line.split(":")[0] for line in said.splitlines()
            if ": on" in line and not line.startswith("\t") and "vlan" not in line]


def chosen(world):
    peers = os.environ.get("PEER", "").split()
    every = {"P": lambda: Beside(world, peers), "E1": lambda: E1(world), "E2": lambda: E2(world),
             "E3": lambda: E3(world), "E4": lambda: E4(world), "K": lambda: Knfsd(world), "G": lambda: Growth(world)}
    plan = {"P": tables.peers([p.split(":")[0] for p in peers]), "E1": tables.e1(),
            "E2": tables.e2(), "E3": tables.e3(), "E4": tables.e4(), "K": tables.knfsd(), "G": tables.growth()}
    names = os.environ.get("ONLY", "").split() or [n for n in every if n != "K"]
    unknown = set(names) - set(every)
    if unknown:
        raise SystemExit(f"ONLY: {' '.join(unknown)} is none of {' '.join(every)}")
    return [every[n]() for n in names], [plan[n] for n in names]


def kept(world, names, quick):
    """Sections of an earlier report that this run does not measure anew: the guest's always, the others where
    only some were asked for. Each says when and of which revision it is."""
    try:
        with open(os.path.join(world.out, "results.json")) as f:
            old = json.load(f)
    except (OSError, ValueError):
        return {}
    return {n: e for n, e in old.get("experiments", {}).items() if n not in names and "measured" in e and
            (n == "K" or (os.environ.get("ONLY") and old.get("quick") == quick))}


def interrupted(*_):
    raise KeyboardInterrupt


def main():
    world = World(os.environ["BUILD"], os.environ["WORK"], os.environ["OUT"],
                  bool(os.environ.get("QUICK")))
    world.export = os.path.join(world.work, "export")
    world.many = os.path.join(world.work, "many")
    # thousands of connections; children inherit it
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    os.makedirs(os.path.join(world.out, "raw"), exist_ok=True)
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGINT, interrupted)
    sh("ip", "link", "set", "lo", "up")
    experiments, plan = chosen(world)
    world.full_files = any(e.name == "P" for e in experiments)
    results = {"machine": machine.describe(), "versions": versions(world), "quick": world.quick,
               "started": time.strftime("%Y-%m-%d %H:%M:%S %z"), "interrupted": False,
               "experiments": kept(world, [e.name for e in experiments], world.quick)}
    results["machine"]["offloads"] = offloads()
    status = 0
    try:
        make_files(world)
        Driver(world, experiments, results).run(plan)
    except KeyboardInterrupt:
        print("\ninterrupted: the report shows what was measured until now", file=sys.stderr)
        results["interrupted"] = True
        status = 130
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        world.stop_all()
    results["goals"] = goals.judge(results)
    results["finished"] = time.strftime("%Y-%m-%d %H:%M:%S %z")
    Driver(world, [], results).save()
    page.write(results, world.out)
    print(goals.text(results))
    print(f"{world.out}/report.html  (numbers: results.json, raw/)")
    return status


sys.exit(main())
