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
                       ("big", tables.BIG)):
        path = os.path.join(world.export, name)
        subprocess.run(["sh", "-c", f"head -c {size} /dev/urandom >{path} && cat {path} >/dev/null"],
                       check=True)
        os.chmod(path, 0o666)
    for i in range(tables.NAMES):
        with open(os.path.join(world.export, f"f{i}"), "w") as f:
            f.write(f"{i}\n")
    os.sync()
