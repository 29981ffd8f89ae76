# SPDX-License-Identifier: BSD-2-Clause
"""report.html: one page that needs nothing else."""
import html
import os
import traceback

import goals
import style
import tables
from answers import ANSWERS
from figures import FIGURES
from rows import Rows, num, size_name

ORDER = ("P", "K", "G", "E1", "E2", "E3", "E4")
OLD = {"E1": tables.E1_OLD, "E2": tables.E2_OLD, "E3": tables.E3_OLD, "E4": tables.E4_OLD}

# metric -> heading of its column; those that a table has, in this order
COLUMNS = {
    "P": [("calls_s", "calls/s"), ("mb_s", "MB/s"), ("entries_s", "entries/s"),
          ("server_us_call", "server µs/call"), ("server_us_entry", "server µs/entry"),
          ("client_us_call", "client µs/call"), ("p50", "p50 µs"), ("p99", "p99 µs"),
          ("p99.9", "p99.9 µs")],
    "K": [("server_us_call", "guest µs/call"), ("server_s_gb", "guest s/GB"), ("server_us_entry", "guest µs/entry"),
          ("server_percent", "guest %"), ("calls_s", "calls/s"), ("p50", "p50 µs"), ("p99", "p99 µs")],
    "G": [("server_us_call", "spliced µs/call"), ("floor_us_call", "floor µs/call"), ("to_floor", "spliced / floor")],
    "E1": [("seconds", "seconds"), ("mb_s", "MB/s"),
           ("client_soaker_percent", "client % (soaker)"), ("client_kernel_percent", "client % (kernel)"),
           ("client_soaker_s_gb", "client s/GB (soaker)"), ("client_kernel_s_gb", "client s/GB (kernel)"),
           ("server_soaker_percent", "server % (soaker)"), ("server_kernel_percent", "server % (kernel)"),
           ("server_soaker_s_gb", "server s/GB (soaker)"), ("server_kernel_s_gb", "server s/GB (kernel)")],
    "E2": [("gbit_s", "Gb/s"), ("server_s_gb", "server s/GB"), ("relay_soaker_percent", "relay %"),
           ("relay_soaker_s_gb", "relay s/GB (soaker)"), ("relay_kernel_s_gb", "relay s/GB (kernel)")],
    "E3": [("gbit_s", "Gb/s"), ("server_percent", "sender %"), ("client_percent", "receiver %"),
           ("server_us_kb", "sender µs/KB"), ("client_us_kb", "receiver µs/KB")],
    "E4": [("mb_s", "MB/s"), ("server_percent", "sender %"), ("client_percent", "receiver %"),
           ("server_s_gb", "sender s/GB"), ("client_s_gb", "receiver s/GB")],
}


def esc(x):
    return html.escape(str(x))


def cell(s):
    if not s:
        return "<td class=n>–</td>"
    interval = f"<small>{num(s['low'])}–{num(s['high'])}</small>" if s["n"] > 1 else ""
    return f"<td class=n>{num(s['median'])} {interval}</td>"


def moved(row):
    """How the bytes went, by the server's own counters."""
    s, c = (row["summary"].get(k) for k in ("spliced", "copied"))
    if not s or not c:
        return "<td class=n>–</td>"
    text = " + ".join(f"{num(v['median'] / 1e6)} MB {w}" for v, w in ((s, "spliced"), (c, "copied"))
                      if v["median"])
    return f"<td class=n>{text or '0'}</td>"


def condition(key, value):
    if key in ("rsize", "piece"):
        return size_name(value) if value % 1024 == 0 else f"{value:,}"
    return f"{value:,}" if isinstance(value, int) and key != "mtu" else str(value)


def table(name, rows, hide=("part", "bytes")):
    """One table of rows that have the same conditions."""
    if not rows:
        return ""
    keys = [k for k in rows[0]["conditions"] if k not in hide]
    columns = [(m, t) for m, t in COLUMNS[name] if any(m in r["summary"] for r in rows)]
    bytes_too = any("spliced" in r["summary"] for r in rows)
    out = ["<div class=scroll><table><thead><tr>"]
    out += [f"<th>{esc(k)}</th>" for k in keys] + [f"<th class=n>{esc(t)}</th>" for _, t in columns]
    out += ["<th class=n>server’s counters</th>"] * bytes_too + ["</tr></thead><tbody>"]
    before = None
    for r in rows:
        group = [r["conditions"][k] for k in keys[:-1]]
        out.append("<tr class=new>" if group != before else "<tr>")
        before = group
        out += [f"<td>{esc(condition(k, r['conditions'][k]))}</td>" for k in keys]
        if not r["samples"]:
            out.append(f"<td class=missing colspan={len(columns) + bytes_too}>{esc(r['reason'] or 'not reached')}"
                       "</td></tr>")
            continue
        out += [cell(r["summary"].get(m)) for m, _ in columns] + [moved(r)] * bytes_too
        out.append("</tr>")
    return "".join(out) + "</tbody></table></div>"


def old_table(old):
    if not old:
        return ""
    head = "".join(f"<th>{esc(h)}</th>" for h in old["head"])
    body = "".join("<tr>" + "".join(f"<td>{esc(c)}</td>" for c in r) + "</tr>" for r in old["rows"])
    return (f"<div class=old><h4>{esc(old['title'])}</h4><table><thead><tr>{head}</tr></thead><tbody>{body}"
            f"</tbody></table>{old_table(old.get('more'))}</div>")


# which rows stand beside the historic ones
BESIDE = {
    "E1": lambda c: c["rsize"] == 8192 and c["server"] in ("copy", "zero-copy"),
    "E2": lambda c: c["op"] == "READ" and c["relay"] != "forward",
    "E3": lambda c: c["file"] == "10 MB" and c["piece"] == 393216,
    "E4": lambda c: c["part"] == "old",
}
NEW_COLUMNS = {
    "E1": ("client_soaker_percent", "server_soaker_percent", "mb_s"),
    "E2": ("gbit_s", "relay_soaker_percent", "relay_soaker_s_gb"),
    "E3": ("gbit_s", "server_percent", "client_percent", "server_us_kb", "client_us_kb"),
    "E4": ("mb_s", "server_percent", "client_percent"),
}


def new_table(name, rows):
    """Ours, in the shape of the old one."""
    chosen = [r for r in rows if name in BESIDE and BESIDE[name](r["conditions"])]
    if not chosen:
        return ""
    titles = dict(COLUMNS[name])
    keys = [k for k in chosen[0]["conditions"]
            if k not in ("part", "bytes", "op") and len({r["conditions"][k] for r in chosen}) > 1]
    head = "".join(f"<th>{esc(k)}</th>" for k in keys) + \
        "".join(f"<th class=n>{esc(titles[m])}</th>" for m in NEW_COLUMNS[name])
    body = ""
    for r in chosen:
        body += "<tr>" + "".join(f"<td>{esc(condition(k, r['conditions'][k]))}</td>" for k in keys)
        if r["samples"]:
            body += "".join(f"<td class=n>{num((r['summary'].get(m) or {}).get('median'))}</td>"
                            for m in NEW_COLUMNS[name]) + "</tr>"
        else:
            body += f"<td class=missing colspan={len(NEW_COLUMNS[name])}>{esc(r['reason'])}</td></tr>"
    return (f"<div class=today><h4>Here and now</h4><div class=scroll><table><thead><tr>{head}</tr></thead><tbody>{body}"
            "</tbody></table></div></div>")


def answer(paragraphs):
    out = ""
    for p in paragraphs:
        out += f"<li>{esc(p[2:])}</li>" if p.startswith("• ") else f"<p>{esc(p)}</p>"
    return f"<div class=answer>{out}</div>"


def attempt(make, entry):
    """The page is written whatever an interrupted run left out."""
    try:
        return make(entry)
    except Exception:
        traceback.print_exc()
        return []


def experiment(name, entry, run):
    rows = Rows(entry).rows
    out = [f"<section id={name}><h2><span class=tag>{name}</span> {esc(entry['title'])}</h2>",
           f"<p class=question>{esc(entry['question'])}</p>"]
    if entry.get("measured") and entry["measured"] < run["started"][:16]:
        out.append(f"<p class=note>Measured on {esc(entry['measured'])} at revision {esc(entry.get('revision', ''))}, "
                   "not in this run.</p>")
    if entry.get("reason"):
        out.append(f"<p class=missing>Could not be measured: {esc(entry['reason'])}</p>")
    said = [p for p in attempt(ANSWERS[name], entry) if p.strip()] if rows else []
    if said:
        out.append(answer(said))
    for caption, svg in attempt(FIGURES[name], entry) if rows else []:
        out.append(f"<figure>{svg}{f'<figcaption>{esc(caption)}</figcaption>' if caption else ''}</figure>")
    pair = old_table(OLD.get(name)) + new_table(name, rows)
    if pair:
        out.append(f"<div class=pair>{pair}</div>")
    parts = list(dict.fromkeys(r["conditions"].get("part") for r in rows))
    full = "".join(table(name, [r for r in rows if r["conditions"].get("part") == p]) for p in parts)
    if full:
        out.append(f"<details><summary>All rows: medians with their intervals, bytes by the server’s counters"
                   f"</summary>{full}</details>")
    return "".join(out) + "</section>"


def goal_table(results):
    judged = goals.judge(results)
    counted = ", ".join(f"{n} {v}" for v in (goals.MET, goals.MISSED, goals.OPEN, goals.MISSING)
                        if (n := sum(j["verdict"] == v for j in judged)))
    body = ""
    for j in judged:
        kind = {goals.MET: "good", goals.MISSED: "bad"}.get(j["verdict"], "soft")
        small = f"<small>{num(j['low'])}–{num(j['high'])}</small>" if j["n"] > 1 else ""
        body += (f"<tr><td>{esc(j['goal'])}</td><td>{esc(j['how'])}</td><td class=n>{esc(j['limit'])}</td>"
                 f"<td class=n>{num(j['measured'])} {small}</td><td class={kind}>{esc(j['verdict'])}</td></tr>")
    return (f"<section id=goals><h2>Goals</h2><p class=question>What this server was built to reach, and what this run "
            f"measured: {counted}. Where the interval holds the limit and the median lies beyond it, it is not decided.</p>"
            "<div class=scroll><table><thead><tr><th>what</th><th>measured as (section)</th><th class=n>goal</th>"
            f"<th class=n>measured</th><th>verdict</th></tr></thead><tbody>{body}</tbody></table></div></section>")


def machine(m, versions):
    cache = ", ".join(f"L{k} {size_name(int(v))}" for k, v in sorted(m["caches"].items()))
    weak = "; ".join(f"{k}: {v}" for k, v in m["mitigations"].items())
    facts = [("Processor", f"{m['processor']} × {m['processors']}"
              + (" (virtual machine)" if m["hypervisor"] else "")),
             ("Caches", cache), ("Memory", f"{(m['memory_bytes'] or 0) / 2**30:.1f} GiB"),
             ("Kernel", f"Linux {m['kernel']}, {m['distribution']}"),
             ("Congestion control", m["congestion_control"]),
             ("Offloads of veth", ", ".join(m.get("offloads", [])) + " (experiments change them: see the rows)"),
             ("TCP buffers", f"wmem {m['tcp_wmem']}, rmem {m['tcp_rmem']}"),
             ("Largest pipe", f"{int(m['pipe_max_size'] or 0):,} bytes"), ("Governor", m["governor"]),
             ("Load before", m["load_before"]), ("Programs", ", ".join(v for v in versions.values() if v)),
             ("Mitigations", weak or "none reported")]
    return "<dl class=facts>" + "".join(f"<dt>{esc(k)}</dt><dd>{esc(v)}</dd>" for k, v in facts) + "</dl>"


def write(results, out):
    ex = results["experiments"]
    names = [n for n in ORDER if n in ex]
    notes = []
    if results["quick"]:
        notes.append("A quick run: few rounds, fewer rows. It shows that everything works; compare with a full run.")
    if results["interrupted"]:
        notes.append("This run was interrupted: what follows was measured until then.")
    if float(results["machine"]["load_before"].split()[0] or 0) > .5:
        notes.append("The machine was busy with other work before this run began; distrust small differences.")
    nav = "".join(f"<a href=#{n}><b>{n}</b> {esc(ex[n]['title'])}</a>" for n in names)
    body = "".join(experiment(n, ex[n], results) for n in names)
    page = (f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
            f"content='width=device-width,initial-scale=1'><title>spliced: benchmark</title>"
            f"<style>{style.CSS}</style><header><h1>spliced <span>benchmark</span></h1><p>{esc(results['started'])}"
            f" · revision {esc(results['versions'].get('revision', ''))}</p></header><main>"
            + "".join(f"<p class=note>{esc(n)}</p>" for n in notes) + f"<nav><a href=#goals>Goals</a>{nav}</nav>"
            f"{goal_table(results)}{body}<section id=machine><h2>The machine</h2>{machine(results['machine'], results['versions'])}"
            f"</section><section><h2>How to read this</h2>{style.HOW}</section></main></html>")
    with open(os.path.join(out, "report.html"), "w") as f:
        f.write(page)
