# SPDX-License-Identifier: BSD-2-Clause
"""What the numbers were measured on, said first."""
import glob
import os
import platform
import re


def read(path, default=""):
    try:
        with open(path) as f:
            return f.read().strip()
    except OSError:
        return default


def caches():
    """Bytes of data per level of the first processor: {1: 32768, 2: ..., 3: ...}."""
    size = {}
    for d in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*"):
        if read(d + "/type") in ("Data", "Unified"):
            m = re.match(r"(\d+)([KM]?)", read(d + "/size"))
            if m:
                size[int(read(d + "/level", "0"))] = \
                    int(m[1]) * {"": 1, "K": 1024, "M": 1048576}[m[2]]
    return size


def describe():
    cpu = re.search(r"model name\s*: (.*)", read("/proc/cpuinfo"))
    broken = {os.path.basename(p): read(p)
              for p in sorted(glob.glob("/sys/devices/system/cpu/vulnerabilities/*"))}
    memory = re.search(r"MemTotal:\s*(\d+)", read("/proc/meminfo"))
    distribution = re.search(r'PRETTY_NAME="(.*)"', read("/etc/os-release"))
    return {
        "processor": cpu[1] if cpu else platform.machine(),
        "processors": os.cpu_count(),
        "hypervisor": " hypervisor" in read("/proc/cpuinfo"),
        "caches": caches(),
        "memory_bytes": int(memory[1]) * 1024 if memory else None,
        "kernel": platform.release(),
        "distribution": distribution[1] if distribution else "",
        "mitigations": {k: v for k, v in broken.items() if v != "Not affected"},
        "governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "not adjustable"),
        "congestion_control": read("/proc/sys/net/ipv4/tcp_congestion_control"),
        "tcp_wmem": " ".join(read("/proc/sys/net/ipv4/tcp_wmem").split()),
        "tcp_rmem": " ".join(read("/proc/sys/net/ipv4/tcp_rmem").split()),
        "pipe_max_size": read("/proc/sys/fs/pipe-max-size"),
        "load_before": read("/proc/loadavg"),
    }
