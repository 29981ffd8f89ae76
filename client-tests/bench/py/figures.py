# SPDX-License-Identifier: BSD-2-Clause
"""The figures: gnuplot draws them as SVG, which becomes part of the page."""
import re
import subprocess

import answers
from rows import Rows, compare, size_name

COLOUR = {"copy": "#c8553d", "READ copy": "#c8553d", "write": "#c8553d",
          "zero-copy": "#1b7f8c", "READ zero-copy": "#1b7f8c", "spliced": "#1b7f8c",
          "splice": "#1b7f8c", "auto": "#2f4b7c", "floor": "#9aa5b1", "forward": "#9aa5b1",
          "READ floor": "#9aa5b1", "ganesha": "#e0a030", "READ ganesha": "#e0a030",
          "Linux nfsd": "#2f4b7c", "sendfile": "#2f4b7c", "iperf3 -Z -F": "#7d5ba6"}
SPARE = ["#7d5ba6", "#5a8f3c", "#b5446e"]

HEAD = """set terminal svg size {w},{h} dynamic enhanced font 'sans-serif,13' name '{name}'
set encoding utf8
set border 3 lc rgb '#8a94a0' lw 1
set tics nomirror scale 0.5 textcolor rgb '#3c4650'
set grid ytics lc rgb '#e3e8ec' lt 1 lw 1
set key at screen 0.5, screen 0.985 center top horizontal reverse Left samplen 1 width 1 textcolor rgb '#3c4650'
set tmargin 4
set title font ',14' textcolor rgb '#1d252c' offset 0,-0.3
set ylabel textcolor rgb '#3c4650'
set xlabel textcolor rgb '#3c4650'
set pointintervalbox 0
"""


def colour(name, i=0):
    return COLOUR.get(name, SPARE[i % len(SPARE)])


def draw(name, script, w=1000, h=360):
    """Runs gnuplot; the SVG without its XML head. A figure that fails says so on the page."""
    done = subprocess.run(["gnuplot"], input=HEAD.format(w=w, h=h, name=name) + script,
                          capture_output=True, text=True)
    if done.returncode or "<svg" not in done.stdout:
        return f"<p class=missing>gnuplot: {done.stderr.strip()[:300]}</p>"
    svg = done.stdout[done.stdout.index("<svg"):]
    svg = re.sub(r"<title>.*?</title>|<desc>.*?</desc>", "", svg, flags=re.S)
    # the same markers are defined in every figure; ids must be one page's own
    svg = re.sub(r"(id=['\"]|#)(gp\w+)", rf"\g<1>{name}_\2", svg)
    return svg


def escape(text):
    return str(text).replace("'", "’").replace("_", "\\\\_")


def block(name, lines):
    return f"${name} << EOD\n" + "\n".join(lines) + "\nEOD\n"


def bars(title, unit, groups, series, value, log=False, first=True):
    """Clustered bars with the interval of the median. value(group, series) -> summary or None."""
    data, plots, top = "", [], 0
    stem = re.sub(r"\W", "", title)[:12]
    for i, s in enumerate(series):
        lines = []
        for g in groups:
            v = value(g, s)
            top = max(top, v["high"] if v else 0)
            lines.append(f'"{escape(g)}" {v["median"]} {v["low"]} {v["high"]}' if v else
                         f'"{escape(g)}" NaN NaN NaN')
        if all("NaN" in line for line in lines):
            continue
        data += block(f"{stem}{i}", lines)
        plots.append(f"${stem}{i} using 2:3:4:xtic(1) title '{escape(s)}' lc rgb '{colour(s, i)}'")
    if not plots:
        return None
    return data + f"""set title '{escape(title)}'
set ylabel '{escape(unit)}'
set style data histogram
set style histogram errorbars gap 1 lw 1
set style fill solid 1 noborder
set errorbars 0.5 lw 1 lc rgb '#3c4650'
set boxwidth 0.92
set bmargin {3.6 if any(chr(92) in g for g in groups) else 2.4}
set xtics scale 0
set {'logscale y' if log else f'yrange [0:{1.1 * top or 1}]'}
{'set yrange [*:*]' if log else 'unset logscale y'}
{'set key' if first else 'unset key'}
plot {', '.join(plots)}
"""


def side_by_side(scripts, h):
    scripts = [s for s in scripts if s]
    return f"set tmargin 5.5\nset multiplot layout 1,{max(1, len(scripts))}\n" + "\n".join(scripts) + \
        "unset multiplot\n" if scripts else None


def e1(entry):
    rows = Rows(entry)
    out = []
    at = answers.E1_FULL
    sizes, servers = rows.values("rsize", **at), rows.values("server", **at)
    name = {size_name(s): s for s in sizes}
    panel = [bars(f"{side.capitalize()} CPU, unlimited link", "seconds per GB", list(name), servers,
                  lambda g, s, k=f"{side}_kernel_s_gb": of(rows.find(rsize=name[g], server=s, **at), k),
                  first=side == "client")
             for side in ("server", "client")]
    script = side_by_side(panel, 340)
    if script:
        out.append(("Processor time of both sides, by rsize (kernel’s books)", draw("e1a", script)))
    slow = {f"{size_name(s)}\\n{'offloads' if l[:2] == 'SG' else 'no offloads'}": (s, l)
            for l in rows.values("link", rate="100 Mbit/s") for s in rows.values("rsize", rate="100 Mbit/s", link=l)}
    script = side_by_side([
        bars(f"{side.capitalize()} CPU at 100 Mbit/s", "per cent of a processor", list(slow), ["copy", "zero-copy", "auto"],
             lambda g, s, k=f"{side}_soaker_percent": of(rows.find(
                 rate="100 Mbit/s", rsize=slow[g][0], link=slow[g][1], server=s), k), first=side == "client")
        for side in ("server", "client")], 340)
    if script:
        script = f"set xtics font ',{9 if len(slow) > 5 else 11}'\n" + script
        out.append(("The historic link, by the soaker", draw("e1b", script)))
    return out


def of(row, metric):
    return row["summary"].get(metric) if row else None


def e2(entry):
    rows, out = Rows(entry), []
    for op in rows.values("op"):
        groups = {f"MTU {m}\\nGRO {g}": (m, g) for m in rows.values("mtu", op=op)
                  for g in rows.values("gro", op=op, mtu=m)}
        relays = rows.values("relay", op=op)
        find = lambda g, s: rows.find(op=op, mtu=groups[g][0], gro=groups[g][1], relay=s)
        script = side_by_side([
            bars("CPU of the relay", "seconds per GB", list(groups), relays,
                 lambda g, s: of(find(g, s), "relay_soaker_s_gb")),
            bars("Throughput", "Gb/s", list(groups), relays, lambda g, s: of(find(g, s), "gbit_s"),
                 first=False)], 340)
        if script:
            out.append((f"{op} through a relay", draw("e2" + re.sub(r"\W", "", op.lower()),
                                                     "set xtics font ',11'\n" + script)))
    return out


def e3(entry):
    rows, out = Rows(entry), []
    ways = rows.values("way")
    groups = {f"{f}\\nMTU {m}": (f, m) for m in rows.values("mtu") for f in rows.values("file", mtu=m)}
    find = lambda g, s: rows.find(way=s, piece=393216, file=groups[g][0], mtu=groups[g][1])
    script = side_by_side([
        bars(f"{who}, pieces of 393,216 bytes", "µs of CPU per KB", list(groups), ways,
             lambda g, s, k=side: of(find(g, s), f"{k}_us_kb"), first=side == "client")
        for side, who in (("server", "Sender"), ("client", "Receiver"))], 340)
    if script:
        out.append(("Service demand of both ends", draw("e3", "set xtics font ',11'\n" + script, h=380)))
    return out


def lines(rows, ways, pick, metric):
    """Curves over a size, with error bars."""
    data, plots = "", []
    for i, way in enumerate(ways):
        points = [f"{x} {v['median']} {v['low']} {v['high']}" for x, v in
                  ((x, of(r, metric)) for x, r in sorted(pick(way).items())) if v]
        if not points:
            continue
        data += block(f"c{i}", points)
        dash = "" if way.startswith("READ") or way in ("spliced", "ganesha", "floor") else " dt 2"
        plots += [f"$c{i} using 1:2 with linespoints lw 2.2 pt 7 ps 0.5 lc rgb '{colour(way, i)}'{dash} "
                  f"title '{escape(way)}'",
                  f"$c{i} using 1:3:(0):($4-$3) with vectors nohead lw 1.4 lc rgb '{colour(way, i)}' notitle"]
    return data, plots


def e4(entry):
    rows, out = Rows(entry), []
    ways = rows.values("way", part="curve")
    data, plots = lines(rows, ways, lambda w: answers.curve(rows, w), "server_s_gb")
    if not plots:
        return out
    script = data + f"""set title 'Sender CPU by size of a piece'
set ylabel 'seconds per GB'
{SIZES}
set logscale y
set tmargin 3
set key inside top right vertical
set ytics (0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
plot {', '.join(plots)}
""" + e4_ratios(rows)
    out.append(("Where not copying starts to pay", draw(
        "e4", "set multiplot layout 1,2\n" + script + "unset multiplot\n", h=400)))
    return out


SIZES = """set xlabel 'bytes per call'
set logscale x 2
set xtics ('1 KiB' 1024, '4' 4096, '16' 16384, '64' 65536, '256' 262144, '1 MiB' 1048576)"""


def e4_ratios(rows):
    """Below 1, not copying is the cheaper way."""
    data, plots = "", ["1 with lines lc rgb '#3c4650' lw 1 dt 2 notitle"]
    for i, (zero, copy) in enumerate((("READ zero-copy", "READ copy"), ("sendfile", "copy"))):
        a, b = answers.curve(rows, zero), answers.curve(rows, copy)
        ratios = {x: compare(a[x], b[x], "server_s_gb") for x in a if x in b}
        points = [f"{x} {v['median']} {v['low']} {v['high']}" for x, v in sorted(ratios.items()) if v]
        if not points:
            continue
        data += block(f"r{i}", points)
        c = colour(zero)
        plots += [f"$r{i} using 1:3:4 with filledcurves fs transparent solid 0.15 lc rgb '{c}' notitle",
                  f"$r{i} using 1:2 with linespoints lw 2.2 pt 7 ps 0.5 lc rgb '{c}' "
                  f"title '{escape(zero)} / {escape(copy)}'"]
        found = answers.crossing(rows, zero, copy)
        if found and found[0] and found[0][1]:
            x = found[0][0]
            data += (f"set arrow {i + 1} from {x}, 1 to {x}, graph 0 nohead lc rgb '{c}' lw 1.5 dt 3\n"
                     f"set label {i + 1} ' {x / 1024:.0f} KiB' at {x}, graph {.05 + .07 * i} left "
                     f"textcolor rgb '{c}' font ',11'\n")
    return data + f"""set title 'Not copying as a share of copying'
set ylabel 'ratio of CPU (below 1: cheaper)'
{SIZES}
unset logscale y
set ytics auto
set yrange [0:*]
set key inside top right vertical
plot {', '.join(plots)}
"""


def two_lines(name):
    """A long label of an axis, broken where it hurts least."""
    at = name.find(", ") + 1 or name.find(" ")
    return name if at < 0 else name[:at].rstrip() + chr(92) + "n" + name[at:].strip()


def beside(entry):
    rows, out = Rows(entry), []
    works, servers = rows.values("work", part="closed"), rows.values("server", part="closed")
    reads = [w for w in works if w.startswith("READ ")]
    for i, (group, title) in enumerate(((reads, "READ"), ([w for w in works if w not in reads], "Everything else"))):
        names = {two_lines(w): w for w in group}
        script = bars(f"{title}: server CPU per call", "µs (logarithmic)", list(names), servers,
                      lambda g, s: of(rows.find(work=names[g], server=s), "server_us_call"), log=True)
        if script:
            out.append(("What a call costs the server" if i else "", draw(f"pa{i}", "set xtics font ',11'\n" + script, h=320)))
    panels = []
    for metric, text in (("p50", "half of the calls"), ("p99", "99 %")):
        pick = lambda s: {r["conditions"]["rate"]: r for r in rows.all(part="open", server=s)}
        data, plots = lines(rows, rows.values("server", part="open"), pick, metric)
        if plots:
            panels.append(data + f"""set title 'Open loop, 8 KiB READs: {text} answered within'
set ylabel 'µs'
set xlabel 'calls per second asked for'
set logscale xy
set format y '%.0f'
set xrange [800:100000]
{'set key' if metric == 'p50' else 'unset key'}
plot """ + ", ".join(plots) + "\n")
    script = side_by_side(panels, 340)
    if script:
        out.append(("How long a call takes as the rate grows", draw("pb", script)))
    return out


def knfsd(entry):
    rows, out = Rows(entry), []
    names = {two_lines(w): w for w in rows.values("work")}
    script = bars("Processor time of the guest per call", "µs (logarithmic)", list(names), rows.values("server"),
                  lambda g, s: of(rows.find(work=names[g], server=s), "server_us_call"), log=True)
    if script:
        out.append(("What a call costs the guest", draw("ka", "set xtics font ',11'\n" + script)))
    return out


def growth(entry):
    rows, panels = Rows(entry), []
    for kind in rows.values("grows"):
        found = [r for r in rows.all(grows=kind)]
        data, plots = "", []
        for i, (metric, name) in enumerate((("server_us_call", "spliced"), ("floor_us_call", "floor"))):
            data += block(f"g{kind}{i}", [f"{r['conditions']['n']} {v['median']} {v['low']} {v['high']}"
                                          for r in found if (v := of(r, metric))])
            plots += [f"$g{kind}{i} using 1:2 with linespoints lw 2.2 pt 7 ps 0.6 lc rgb '{colour(name)}' title '{name}'",
                      f"$g{kind}{i} using 1:3:(0):($4-$3) with vectors nohead lw 1.4 lc rgb '{colour(name)}' notitle"]
        most = max((r["conditions"]["n"] for r in found), default=1)
        panels.append(data + f"""set title 'READ 4 KiB: server CPU per call'
set ylabel 'µs'
set xlabel '{kind}'
set logscale x
set format x '%.0f'
set xrange [0.7:{2 * most}]
set yrange [0:*]
{'unset key' if panels else 'set key'}
plot """ + ", ".join(plots) + "\n")
    script = side_by_side(panels, 340)
    return [("As files and connections become many", draw("ga", script))] if script else []


FIGURES = {"K": knfsd, "G": growth, "E1": e1, "E2": e2, "E3": e3, "E4": e4, "P": beside}
