# SPDX-License-Identifier: BSD-2-Clause
"""This tree beside another revision of it: every workload of tables.WORK, both servers interleaved round by round in one
run of nfsload. Fails when a ratio's whole interval lies more than 10 % on the wrong side."""
import json
import os
import sys

import servers
import tables
from files import make_files
from world import Unestablished, World, sh

LIMIT = .10
ROUNDS, SECONDS = 11, .35
SKIP = ("READ 512 B", "WRITE 1 MiB", "READDIRPLUS 100,000")  # two minutes are short


def measure(world, pair, options):
    args = ["--rounds", ROUNDS, "-t", SECONDS, "--warmup", .1, "--base", "base", *options]
    said = world.nfsload_many(args + [w for s in pair for w in ("--server", s.spec())], world.client_cpu)
    return next(s for s in said["servers"] if s["name"] == "tree")["ratio_to_base"], said["coverage"]


def verdict(cpu, rate):
    """CPU per call should not rise, the rate should not fall."""
    if cpu["low"] > 1 + LIMIT or rate["high"] < 1 - LIMIT:
        return "WORSE"
    if cpu["high"] < 1 - LIMIT:
        return "better"
    return "same" if cpu["low"] <= 1 <= cpu["high"] else "within 10 %"


def show(r):
    return f"{r['median']:.3f} [{r['low']:.3f}..{r['high']:.3f}]"


def main():
    world = World(os.environ["BUILD"], os.environ["WORK"], os.environ["OUT"], True)
    world.export = os.path.join(world.work, "export")
    sh("ip", "link", "set", "lo", "up")
    make_files(world)
    base = os.environ["BASE_SPLICED"]
    pair = [servers.spliced(world, "tree", 4049), servers.spliced(world, "base", 4050, program=base)]
    worse, results = 0, {}
    print(f"this tree / {os.environ.get('BASE_NAME', 'base')}; above 1 in CPU is worse\n"
          f"{'':26}{'CPU per call':>26}{'calls per second':>26}")
    for work, options in tables.WORK.items():
        if work in SKIP:
            continue
        try:
            ratio, coverage = measure(world, pair, options)
        except Unestablished as e:
            print(f"{work:26}  not compared: {e}", flush=True)
            continue
        results[work] = ratio
        said = verdict(ratio["server_cpu"], ratio["rate"])
        worse += said == "WORSE"
        print(f"{work:26}{show(ratio['server_cpu']):>26}{show(ratio['rate']):>26}  {said}", flush=True)
    world.stop_all()
    if not results:
        print("nothing could be compared", file=sys.stderr)
        return 1
    print(f"medians of {ROUNDS} interleaved rounds, {100 * coverage:.3g} % intervals")
    with open(os.path.join(world.out, "regress.json"), "w") as f:
        json.dump(results, f, indent=1)
    return 2 if worse else 0


sys.exit(main())
