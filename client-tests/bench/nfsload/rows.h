/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NFSLOAD_ROWS_H
#define NFSLOAD_ROWS_H
/* The options as --help shows them; opts.c includes this and nobody else. */
#include <argp.h>
#include <stddef.h>

static const char about[] =
    "Measures NFSv3 servers over TCP with raw calls, many servers interleaved in one run (A B A B "
    "...)."
    "\v"
    "A server is NAME=HOST:PORT[:MOUNTPORT]/PATH[@PID]. PATH is that of a file on the server; the "
    "longest of its parents that the server lets us mount is used, or the part before '//' where "
    "PATH holds one. With PID the CPU time of the server (all its threads, exact to the "
    "nanosecond) is shown; it must run on this machine.\n\n"
    "Operations: read and write go over the file; getattr and lookup ask for the file, or with "
    "--names for f0, f1, ... beside it; readdirplus lists the file's directory (or PATH, if that "
    "is one) from beginning to end; create makes a file in that directory and removes it. write "
    "destroys what the file holds and therefore wants --overwrite.\n\n"
    "Closed loop (default): --depth calls are kept in flight, and the server sets the pace. Open "
    "loop (--rate): calls have appointed times, and latency counts from the appointment, so a "
    "server that stalls cannot hide the calls that would have come meanwhile.\n\n"
    "READ data is thrown away inside the kernel (MSG_TRUNC) from 16 KiB up, so that the client is "
    "not the bottleneck. With --verify every byte is compared instead. --sink measures a null "
    "server of our own in the same run: what this client costs, and could do at most.\n\n"
    "Figures: MB are 10^6 bytes, GB 10^9. Intervals are those of the median with at least 95 % "
    "confidence, by order statistics; below six rounds they are smallest and largest. A ratio is "
    "the median of the ratios of single rounds.\n\n"
    "Example: nfsload --op read --size 64K --depth 16 --rounds 7 --server "
    "a=127.0.0.1:2049/srv/file@$PID_A --server b=127.0.0.1:3049:3048/srv/file@$PID_B\n\n"
    "Exit status: 0 done, 1 could not measure, 2 measured but answers were wrong or refused. See "
    "nfsload(1).";

enum key {
	KEY_RANDOM = 256,
	KEY_MIX,
	KEY_ALIGN,
	KEY_SHIFT,
	KEY_STABLE,
	KEY_COMMIT,
	KEY_OVERWRITE,
	KEY_LISTING,
	KEY_RATE,
	KEY_POISSON,
	KEY_SINK,
	KEY_REFILL,
	KEY_ROUNDS,
	KEY_WARMUP,
	KEY_NAMES,
	KEY_SPREAD,
	KEY_VERIFY,
	KEY_PATTERN,
	KEY_MAKE_PATTERN,
	KEY_DISCARD_FROM,
	KEY_RCVBUF,
	KEY_UID,
	KEY_GID,
	KEY_GROUPS,
	KEY_PRIVPORT,
	KEY_CPU,
	KEY_JSON,
	KEY_SAVE,
	KEY_BASE,
	KEY_THREADS,
};

static const struct argp_option rows[] = {
    {NULL, 0, NULL, 0, "Whom:", 1},
    {"server", 'S', "SPEC", 0, "a server to measure, repeatable (form: see below)", 1},
    {"base", KEY_BASE, "NAME", 0, "ratios refer to this server (default: the first)", 1},
    {"sink", KEY_SINK, "CPU", OPTION_ARG_OPTIONAL,
     "measure a null server of our own too, on that processor", 1},
    {NULL, 0, NULL, 0, "What:", 2},
    {"op", 'o', "OP", 0, "read, write, getattr, lookup, readdirplus, create or null (default read)",
     2},
    {"mix", KEY_MIX, "OP=N,...", 0, "many operations by weight: read=70,getattr=20,lookup=10", 2},
    {"size", 's', "BYTES", 0, "bytes per READ or WRITE, K and M allowed (default 8192)", 2},
    {"random", KEY_RANDOM, NULL, 0, "random offsets (default: cyclic over the file)", 2},
    {"align", KEY_ALIGN, "BYTES", 0, "random offsets are multiples of this (default: the size)", 2},
    {"shift", KEY_SHIFT, "BYTES", 0, "add this to every offset, to see unaligned access", 2},
    {"stable", KEY_STABLE, "HOW", 0, "WRITEs are unstable, data or file (default unstable)", 2},
    {"commit", KEY_COMMIT, "BYTES", 0, "COMMIT after so many bytes unstable, 0 never (default 64M)",
     2},
    {"overwrite", KEY_OVERWRITE, NULL, 0, "the file may be destroyed by WRITEs", 2},
    {"listing", KEY_LISTING, "BYTES", 0, "size of a READDIRPLUS reply (default 64K)", 2},
    {"spread", KEY_SPREAD, NULL, 0,
     "READs begin at the start of each of --names (as long as the file) in place of the file", 2},
    {"names", KEY_NAMES, "N", 0,
     "LOOKUP and GETATTR of files f0..fN-1 beside the file (default: the file itself)", 2},
    {NULL, 0, NULL, 0, "How much at once:", 3},
    {"connections", 'c', "N", 0, "TCP connections per server (default 1)", 3},
    {"depth", 'd', "N", 0, "calls in flight per connection (default 16; with --rate at most 1024)",
     3},
    {"rate", KEY_RATE, "N", 0, "open loop: N operations begin per second", 3},
    {"poisson", KEY_POISSON, NULL, 0, "at random times (default: evenly spaced)", 3},
    {"threads", KEY_THREADS, "N", 0, "threads of the client (default 1)", 3},
    {"refill", KEY_REFILL, "N", 0, "send new calls only when N slots are free (default 1)", 3},
    {NULL, 0, NULL, 0, "How long:", 4},
    {"seconds", 't', "S", 0, "length of one measurement (default 1)", 4},
    {"calls", 'n', "N", 0, "measure N operations instead of a time", 4},
    {"warmup", KEY_WARMUP, "S", 0, "unmeasured load before each measurement (default 0.2)", 4},
    {"rounds", KEY_ROUNDS, "N", 0, "measurements per server, interleaved (default 5)", 4},
    {NULL, 0, NULL, 0, "Is it right:", 5},
    {"verify", KEY_VERIFY, "FILE", 0, "compare all data with this local copy", 5},
    {"pattern", KEY_PATTERN, NULL, 0, "the file is one of --make-pattern: check it by itself", 5},
    {"make-pattern", KEY_MAKE_PATTERN, "FILE,BYTES", 0, "write a self-describing file and exit", 5},
    {"discard-from", KEY_DISCARD_FROM, "BYTES", 0,
     "READs of this size and up are discarded in the kernel, smaller ones copied out in bulk "
     "(default 16K)",
     5},
    {NULL, 0, NULL, 0, "Who calls:", 6},
    {"uid", KEY_UID, "N", 0, "AUTH_SYS user (default: ours)", 6},
    {"gid", KEY_GID, "N", 0, "AUTH_SYS group (default: ours)", 6},
    {"groups", KEY_GROUPS, "N,N", 0, "AUTH_SYS further groups, at most 16", 6},
    {"privport", KEY_PRIVPORT, "yes|no", 0, "call from a port below 1024 (default: when we may)",
     6},
    {"rcvbuf", KEY_RCVBUF, "BYTES", 0, "fixed SO_RCVBUF (default: the kernel's tuning)", 6},
    {"cpu", KEY_CPU, "N", 0, "run on this processor only", 6},
    {NULL, 0, NULL, 0, "Output:", 7},
    {"json", KEY_JSON, NULL, 0, "one JSON object instead of the table", 7},
    {"save", KEY_SAVE, "FILE", 0, "write the JSON object to FILE as well", 7},
    {0},
};

#endif
