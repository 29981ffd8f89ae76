# SPDX-License-Identifier: BSD-2-Clause
"""A short answer to each experiment's question, put together from its numbers: every statement is
computed, and what was not measured is not spoken of."""
import tables
from rows import Rows, compare, median, num, percent, size_name, words
from stats import crossover

E1_FULL = {"rate": "unlimited", "link": "SG+checksum+TSO"}


def e1_split(rows):
    """Client seconds per GB at two sizes of READ, split into a part per byte and a part per call."""
    sizes = rows.values("rsize", server="zero-copy", **E1_FULL)
    if len(sizes) < 2:
        return ""
    small, large = min(sizes), max(sizes)
    a, b = (median(rows.find(server="zero-copy", rsize=s, **E1_FULL), "client_kernel_s_gb")
            for s in (small, large))
    per_call = (a - b) / (1e9 / small - 1e9 / large)
    per_byte = b - per_call * 1e9 / large
    if per_call <= 0 or per_byte <= 0:
        return ""
    share = per_call * 1e9 / small / a
    return (f"The client needs {num(a)} s/GB at rsize {small} and {num(b)} s/GB at "
            f"{size_name(large)}: about {num(per_call * 1e6)} µs for each READ and {num(per_byte)} s/GB for the "
            f"bytes themselves. So at rsize {small} {percent(share)} of its time goes into calls, not into "
            "moving data; the copy that the server saves is not among either, because the client still copies "
            "every byte to its reader.")


def e1_link(rows):
    out = []
    for rsize in rows.values("rsize", link="no SG, no checksum", rate="unlimited"):
        for side in ("client", "server"):
            r = compare(rows.find(server="zero-copy", rsize=rsize, rate="unlimited",
                                  link="no SG, no checksum"),
                        rows.find(server="zero-copy", rsize=rsize, **E1_FULL), f"{side}_soaker_s_gb")
            if r:
                out.append(f"{side} at {size_name(rsize)} {words(r)}")
    return "A link without scatter-gather, checksum and segmentation offload, against one with them, " \
        "zero-copy server, by the soaker: " + "; ".join(out) + "." if out else ""


def e1(entry):
    rows, out = Rows(entry), []
    for rsize in rows.values("rsize", **E1_FULL):
        pair = [rows.find(server=s, rsize=rsize, **E1_FULL) for s in ("zero-copy", "copy")]
        c, s = (compare(*pair, f"{side}_kernel_s_gb") for side in ("client", "server"))
        if c and s:
            out.append(f"• rsize {size_name(rsize)}: server {words(s)}; client {words(c)}.")
    lead = "Processor time with a zero-copy server, against one that copies, link unlimited:" if out else ""
    slow = [rows.find(server=s, rsize=8192, rate="100 Mbit/s", link="SG+checksum+TSO")
            for s in ("copy", "zero-copy")]
    last = ""
    if all(slow):
        c, s = ([median(r, f"{side}_soaker_percent") for r in slow] for side in ("client", "server"))
        last = (f"On the historic link (100 Mbit/s, rsize 8192) the client is busy {num(c[0])} % with a copying "
                f"server and {num(c[1])} % with a zero-copy one (2001: 29.8 and 28.2 %); the server itself "
                f"{num(s[0])} and {num(s[1])} %.")
    return [lead] + out + [last, e1_split(rows), e1_link(rows)]


def spread(values, text):
    """The lead of an answer: between what and what."""
    return text.format(f"{percent(min(values))}" if len(values) == 1 else
                       f"{percent(min(values))} to {percent(max(values))}") if values else ""


def e2(entry):
    rows, said = Rows(entry), []
    for op in rows.values("op"):
        out, saved = [], []
        for mtu in rows.values("mtu", op=op):
            for gro in rows.values("gro", op=op, mtu=mtu):
                line, ratio = e2_line(rows, {"op": op, "mtu": mtu, "gro": gro})
                if ratio:
                    out.append(line)
                    saved.append(1 - ratio["median"])
        said += [spread(saved, "Splicing takes {} off the relay’s processor time for each byte of "
                        + op.split(",")[0] + " data" + op[5:] + ":")] + out
    return said + e2_receive(rows)


def e2_receive(rows):
    """What the server saves when it splices WRITE data into the file."""
    out = []
    for mtu in rows.values("mtu", op=tables.WRITE_SPLICED):
        at = {"mtu": mtu, "gro": "on", "relay": "copy"}  # a splicing relay passes crumbs on
        r = compare(rows.find(op=tables.WRITE_SPLICED, **at), rows.find(op=tables.WRITE_COPIED, **at), "server_s_gb")
        if r:
            out.append(f"• MTU {mtu}, GRO on, through the copying relay: {words(r)}.")
    return ["The server itself, receiving WRITE data by splice against copying it, processor time:"] + out if out else []


def e2_line(rows, at, metric="relay_soaker_s_gb"):
    splice, copy, forward = (rows.find(relay=x, **at) for x in ("splice", "copy", "forward"))
    ratio = compare(splice, copy, metric)
    if not ratio:
        return "", None
    line = (f"• MTU {at['mtu']}, GRO {at['gro']}: splicing {num(median(splice, metric))} s/GB, copying "
            f"{num(median(copy, metric))}: {words(ratio)}")
    if forward:
        line += f"; the kernel’s own forwarding needs {num(median(forward, metric))}"
    return line + ".", ratio


def e3(entry):
    rows, out = Rows(entry), []
    for mtu in rows.values("mtu"):
        for file in rows.values("file", mtu=mtu):
            at = {"mtu": mtu, "file": file, "piece": 393216}
            bare, zero, copy = (rows.find(way=w, **at)
                                for w in ("sendfile", "READ zero-copy", "READ copy"))
            if not bare:
                continue
            line = (f"• {file}, MTU {mtu}: sendfile {num(median(bare, 'gbit_s'))} Gb/s, "
                    f"{num(median(bare, 'server_us_kb'))} µs/KB at the sender, "
                    f"{num(median(bare, 'client_us_kb'))} at the receiver")
            r, c = compare(zero, bare, "server_s_gb"), compare(zero, copy, "server_s_gb")
            if r and c:
                line += (f". The same bytes as READs cost the sending side {words(r)}; against a server that "
                         f"copies, {words(c)}")
            out.append(line + ".")
    bare = rows.find(way="sendfile", piece=393216, mtu=1500, file="10 MB")
    lead = (f"The sender of 2006 needed 0.254 µs/KB and the receiver 1.321; that is "
            f"{num(.254 / median(bare, 'server_us_kb'))} and {num(1.321 / median(bare, 'client_us_kb'))} times what "
            "sendfile of the same file takes here." if bare else "")
    return [lead] + out


def curve(rows, way):
    """{size: row} of the curve."""
    return {r["conditions"]["piece"]: r for r in rows.all(part="curve", way=way)}


def crossing(rows, zero, copy, metric="server_s_gb"):
    """(x, exact) or None, and the sizes and ratios it was read from."""
    a, b = curve(rows, zero), curve(rows, copy)
    sizes = [s for s in a if s in b]
    if len(sizes) < 3:
        return None
    ratios = [compare(a[s], b[s], metric)["median"] for s in sizes]
    return crossover(sizes, ratios), sizes, ratios


def crossing_words(found, what):
    if not found:
        return ""
    at, sizes, ratios = found
    end = f"at {size_name(sizes[-1])} it costs {percent(ratios[-1])} of copying"
    if at is None:
        return f"{what}: not copying never pays up to {size_name(sizes[-1])} ({end})."
    x, exact = at
    where = f"from about {size_name(round(x / 1024, 1) * 1024 if x >= 1024 else round(x))} on" if exact \
        else f"at every size from {size_name(sizes[0])}"
    return f"{what}: not copying pays {where}; {end}."


def e4(entry):
    rows, out = Rows(entry), []
    buffers = rows.all(part="old", way="write")
    send = rows.find(part="old", way="sendfile", piece=8192)
    if buffers:
        parts = [f"{num(median(r, 'server_s_gb'))} s/GB from a {r['conditions']['source']}"
                 for r in buffers]
        out.append("write() of 8192 bytes costs the sender " + ", ".join(parts) + ".")
    if buffers and send:
        out.append(f"sendfile in the same pieces costs {num(median(send, 'server_s_gb'))} s/GB: "
                   f"compared with the buffer that fits the first cache {words(compare(send, buffers[0], 'server_s_gb'))}, "
                   f"with the one that fits none {words(compare(send, buffers[-1], 'server_s_gb'))}.")
    second = [crossing_words(crossing(rows, "sendfile", "copy"), "Bare (sendfile against read and write)"),
              crossing_words(crossing(rows, "READ zero-copy", "READ copy"), "Through READ")]
    return [" ".join(out), " ".join(s for s in second if s)]


def multiples(rows, other):
    """[(work, ratio of spliced to other)] of processor time, cheapest first."""
    found = []
    for work in rows.values("work", part="closed"):
        at = {"work": work, "part": "closed"}
        m = "server_us_entry" if work.startswith("READDIRPLUS") else "server_us_call"
        r = compare(rows.find(server="spliced", **at), rows.find(server=other, **at), m)
        if r:
            found.append((work.replace("READDIRPLUS 100,000", "READDIRPLUS of 100,000 entries"), r["median"]))
    return sorted(found, key=lambda f: f[1])


def beside(entry):
    rows, out = Rows(entry), []
    peer, floor = multiples(rows, "ganesha"), multiples(rows, "floor")
    for text, some in (("Cheaper than nfs-ganesha, in its processor time for a call: {}.",
                        [f"{w} {percent(x)}" for w, x in peer if x < 1]),
                       ("Dearer than nfs-ganesha: {}.", [f"{w} {num(x)} times" for w, x in peer if x >= 1]),
                       ("As a multiple of the floor, the wire alone: {}.", [f"{w} {num(x)}" for w, x in floor])):
        if some:
            out.append("• " + text.format("; ".join(some)))
    if out:
        out.insert(0, "Processor time that spliced takes for a call (READDIRPLUS: for an entry):")
    best = {}
    for r in rows.all(part="open"):
        c = r["conditions"]
        if median(r, "p99") < 1000 and not median(r, "unsent"):
            best[c["server"]] = max(c["rate"], best.get(c["server"], 0))
    second = ", ".join(f"{s} {n:,}" for s, n in best.items())
    if second:
        out.append("Highest rate tried at which 99 % of 8 KiB READs were answered within a millisecond, in calls "
                   f"per second: {second}.")
    elif rows.all(part="open"):
        out.append("At no rate tried did a server answer 99 % of 8 KiB READs within a millisecond.")
    return out


def knfsd(entry):
    rows, out = Rows(entry), []
    for work in rows.values("work"):
        ours, theirs, floor = (rows.find(work=work, server=s) for s in ("spliced", "Linux nfsd", "floor"))
        r, f = compare(ours, theirs, "server_us_call"), compare(ours, floor, "server_us_call")
        if r:
            more = f"; {num(f['median'])} times the floor" if f else ""
            out.append(f"• {work}: {num(r['median'])} of nfsd’s ({num(r['low'])} to {num(r['high'])}){more}.")
    if out:
        out.insert(0, "Processor time of the whole guest for a call, spliced as a share of Linux nfsd:")
    return out


def growth(entry):
    rows, out = Rows(entry), []
    for kind, what in (("files", "of one in"), ("connections", "with four in flight on each of")):
        found = rows.all(grows=kind)
        parts = [f"{num(median(r, 'server_us_call'))} µs {what} {r['conditions']['n']:,} ({num(median(r, 'to_floor'))} times the floor)"
                 for r in found]
        if parts:
            out.append(f"• {kind.capitalize()}: a READ costs " + ", ".join(parts) + ".")
    return out


ANSWERS = {"K": knfsd, "G": growth, "E1": e1, "E2": e2, "E3": e3, "E4": e4, "P": beside}
