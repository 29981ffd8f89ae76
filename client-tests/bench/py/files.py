# SPDX-License-Identifier: BSD-2-Clause
"""The files that are served."""
import os
import subprocess

import tables


def make_files(world):
    """Read back once: everything is measured from the page cache."""
    os.makedirs(world.export)
    for d in (world.work, world.export):
        os.chmod(d, 0o755)
    for name, size in (("file", tables.HISTORIC_FILE), ("file10", tables.TEN_MB),
                       ("big", tables.BIG), ("wfile", tables.HISTORIC_FILE)):
        path = os.path.join(world.export, name)
        subprocess.run(["sh", "-c", f"head -c {size} /dev/urandom >{path} && cat {path} >/dev/null"],
                       check=True)
        os.chmod(path, 0o666)
    for i in range(tables.NAMES):
        with open(os.path.join(world.export, f"f{i}"), "w") as f:
            f.write(f"{i}\n")
    many = os.path.join(world.export, "many")
    os.mkdir(many)
    for i in range(tables.MANY_NAMES if world.full_files else 0):
        os.close(os.open(os.path.join(many, f"f{i}"), os.O_CREAT | os.O_WRONLY, 0o644))
    os.sync()
