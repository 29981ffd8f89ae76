# SPDX-License-Identifier: BSD-2-Clause
"""Processor load by subtraction (client-tests/bench/soak.c) and by the kernel's own books."""
import json
import subprocess
import threading
import time

from world import Unestablished


class Soaker:
    def __init__(self, world, cpus, touch=0):
        words = [world.tool("soak")] + [w for c in sorted(set(cpus)) for w in ("-c", c)]
        if touch:
            words += ["-t", touch]
        self.world = world
        self.child = world.start(words, log="soak.log", stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        self.full = {}  # cpu -> work per ns of an idle machine

    def mark(self):
        self.child.stdin.write(b"\n")
        self.child.stdin.flush()
        said = json.loads(self.child.stdout.readline())
        return said["ns"], {c["cpu"]: (c["work"], c["cpu_ns"]) for c in said["cpus"]}

    def calibrate(self, seconds):
        """Work per nanosecond that a processor is ours alone. Counted by the time that we were given,
        so that it is right on a machine that is not quite idle too; the best of all calibrations
        counts, because what disturbs can only slow the soaker down."""
        for _ in range(max(1, round(seconds / .25))):
            before = self.mark()
            time.sleep(.25)
            after = self.mark()
            for cpu, (work, had) in after[1].items():
                work, had = work - before[1][cpu][0], had - before[1][cpu][1]
                if had > 10_000_000:
                    self.full[cpu] = max(work / had, self.full.get(cpu, 0))

    def loads(self, before, after, cpu):
        """Busy nanoseconds of that processor between two marks: (by lost work, by the kernel's
        books: time that the soaker was not given)."""
        if cpu not in self.full:
            raise Unestablished(f"the soaker got no time on processor {cpu}: the machine is busy")
        ns = after[0] - before[0]
        work = after[1][cpu][0] - before[1][cpu][0]
        had = after[1][cpu][1] - before[1][cpu][1]
        return max(0, ns - work / self.full[cpu]), max(0, ns - had)

    def close(self):
        self.world.stop(self.child)


class Window:
    """Two marks in the middle of something that runs meanwhile: after `start` seconds, and `length`
    later, when the beginning is over and the end has not come."""

    def __init__(self, soaker, start, length):
        self.soaker, self.start, self.length = soaker, start, length
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        time.sleep(self.start)
        self.before = self.soaker.mark()
        time.sleep(self.length)
        self.after = self.soaker.mark()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.thread.join()

    def loads(self, cpu):
        """Seconds of the window, busy ns of the processor in it by lost work and by the kernel."""
        return ((self.after[0] - self.before[0]) / 1e9,
                *self.soaker.loads(self.before, self.after, cpu))
