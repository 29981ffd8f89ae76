# SPDX-License-Identifier: BSD-2-Clause
"""How report.html looks, and how it is to be read."""

CSS = """
:root{--ink:#1d252c;--soft:#5b6770;--line:#e3e8ec;--teal:#1b7f8c;--paper:#f5f7f8;--warm:#c8553d}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,'DejaVu Sans',sans-serif}
header{background:linear-gradient(120deg,#12303a,#1b7f8c);color:#fff;padding:2.6rem max(1.5rem,calc(50vw - 560px)) 2.2rem}
header h1{margin:0;font-size:2.3rem;letter-spacing:-.02em;font-weight:700}header h1 span{font-weight:300;opacity:.85}
header p{margin:.3rem 0 0;opacity:.8}
main{max-width:1120px;margin:0 auto;padding:0 1.5rem 4rem}
nav{display:flex;flex-wrap:wrap;gap:.6rem;margin:-1.1rem 0 1.6rem}
nav a{background:#fff;border:1px solid var(--line);border-radius:999px;padding:.35rem .95rem;color:var(--ink);
text-decoration:none;font-size:.9rem;box-shadow:0 1px 3px #0001}nav a b{color:var(--teal);margin-right:.2rem}
.note{background:#fff6e5;border:1px solid #f0d9a8;border-radius:10px;padding:.6rem 1rem;margin:1.2rem 0;font-size:.93rem}
.note+nav{margin-top:1.2rem}
section{background:#fff;border:1px solid var(--line);border-radius:14px;padding:1.7rem 2rem;margin:0 0 1.6rem;
box-shadow:0 1px 4px #0000000a}
h2{margin:0 0 .3rem;font-size:1.45rem;letter-spacing:-.01em}
.tag{background:var(--teal);color:#fff;border-radius:7px;padding:.05em .5em;font-size:.8em;margin-right:.3em}
.question{color:var(--soft);font-style:italic;margin:.2rem 0 1rem;max-width:80ch}
.answer{border-left:4px solid var(--teal);background:#eef6f7;border-radius:0 10px 10px 0;padding:.75rem 1.2rem;margin:0 0 1.4rem}
.answer p{margin:.35rem 0}.answer li{margin:.2rem 0 .2rem 1.1rem}
.pair>*{min-width:0}.old td{white-space:normal}.pair .scroll{margin:0}.pair td,.pair th{padding:.24rem .4rem}
figure{margin:1.2rem 0}figure svg{width:100%;height:auto;display:block}
figcaption{color:var(--soft);font-size:.88rem;text-align:center;margin-top:.1rem}
.pair{display:grid;grid-template-columns:2fr 3fr;gap:1.6rem;margin:1.5rem 0 1rem;align-items:start}
.old{background:#faf6ef;border-radius:10px;padding:.9rem 1.1rem}.today{background:#f1f6f7;border-radius:10px;padding:.9rem 1.1rem}
h4{margin:0 0 .5rem;font-size:.88rem;color:var(--soft);font-weight:600}.old table+.old{padding:1rem 0 0}
table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}
th{text-align:left;color:var(--soft);font-weight:600;border-bottom:1.5px solid #cfd8dd;padding:.3rem .5rem;vertical-align:bottom}
td{padding:.26rem .5rem;border-bottom:1px solid #0000000d;white-space:nowrap}
.n{text-align:right}td small{color:#93a0aa;margin-left:.3em;font-size:.82em}
.good{color:#2b7a3d;font-weight:600}.bad{color:var(--warm);font-weight:600}.soft{color:var(--soft)}
tr.new td{border-top:1px solid #cfd8dd}
.missing{color:var(--warm);white-space:normal;font-style:italic}
details{margin-top:1rem}summary{cursor:pointer;color:var(--teal);font-weight:600}
.scroll{overflow-x:auto;margin:.8rem 0}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:.3rem 1.4rem;margin:1rem 0 0;font-size:.92rem}
dt{color:var(--soft)}dd{margin:0}
ul{padding-left:1.2rem}li{margin:.3rem 0}
@media(max-width:640px){section{padding:1.2rem}.pair{grid-template-columns:1fr}}
@media print{body{background:#fff}section{break-inside:avoid;box-shadow:none}}
"""

HOW = """<ul>
<li>MB are 10<sup>6</sup> bytes, GB 10<sup>9</sup>. Ratios and seconds of processor per GB are the result;
absolute throughput is that of one machine on which client and server share memory and caches.</li>
<li>All rows of an experiment are measured in turn, round after round. A figure is the median; the small range
beside it is the interval that holds the true median with at least 95 % confidence, by order statistics (with fewer
than six rounds: smallest and largest). A comparison is the median of the ratios of single rounds; where its
interval includes 1, the page says that there is no difference to be seen.</li>
<li>Processor time is read twice. <b>soaker</b>: a thread at idle priority counts what work it gets done on each
processor; what it loses is the load, whoever caused it. <b>kernel</b>: the processor time that the kernel charges to
the process (all its threads), or to everything but the soaker where there is no process.</li>
<li><b>floor</b> is the price of the wire alone: a server whose replies are ready beforehand (data from a hot
buffer for small READs, file pages through a pipe for large ones and in E1), or a bare sendfile loop, or the kernel’s own forwarding in a relay’s place.</li>
<li><b>K</b> happens in a virtual machine. Without KVM its clock counts instructions, 8 ns each: seconds there compare
servers with each other, and with nothing outside. Where “guest %” is far below 100 the client did not keep it busy, and
servers that answer many calls at once had fewer to answer.</li>
<li>Loopback, veth and tap devices do not copy spliced pages, so what a sender saves there is real; the receiver’s copy
stays. What a network card would add (interrupts, DMA) is not in these numbers.</li>
<li>A row whose condition could not be established says why and is not drawn. results.json holds every number,
raw/ every measurement as it was taken.</li></ul>"""
