/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * splicectl top: two samples of `stat --json`, and what happened between them, each second. A
 * server that was restarted in between has smaller counters; a difference below 0 counts as 0. The
 * terminal is put back on every way out: keys (Ctrl-C too) arrive as bytes, SIGTERM and SIGHUP set
 * a flag.
 */
#include "ctl.h"
#include "stat.h"
#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define MB 1e6

/* Set by the signal handler only. */
static volatile sig_atomic_t ended;

static void
on_signal(int number)
{
	(void)number;
	ended = 1;
}

static struct json_object *
member(struct json_object *o, const char *name)
{
	struct json_object *m = NULL;

	return o && json_object_object_get_ex(o, name, &m) ? m : NULL;
}

static double
value(struct json_object *o, const char *group, const char *name)
{
	return json_object_get_double(member(group ? member(o, group) : o, name));
}

static double
difference(struct json_object *a, struct json_object *b, const char *group, const char *name)
{
	double d = value(b, group, name) - value(a, group, name);

	return d > 0 ? d : 0;
}

/* A sample, or NULL after saying why on standard error. */
static struct json_object *
take_sample(const struct ctl *ctl)
{
	char *argv[] = {"stat", "--json", NULL};
	struct ctl_reply r;
	struct json_object *o = NULL;
	int error = ctl_ask(ctl, 2, argv, &r);

	if (error) {
		ctl_explain(ctl, error);
		return NULL;
	}
	if (r.ok)
		o = json_tokener_parse(r.text);
	if (!o || !member(o, "procedures")) {
		fprintf(stderr,
			"splicectl: top: the server's answer to stat --json is not usable\n");
		json_object_put(o);
		o = NULL;
	}
	free(r.text);
	return o;
}

static double
percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void
print_head(FILE *out, struct json_object *a, struct json_object *b, double seconds)
{
	unsigned long up = (unsigned long)value(b, NULL, "uptime_seconds");
	double spliced = difference(a, b, "counters", "read_bytes_spliced"),
	       copied = difference(a, b, "counters", "read_bytes_copied"),
	       hits = difference(a, b, "counters", "object_cache_hits"),
	       misses = difference(a, b, "counters", "object_cache_misses"),
	       batches = difference(a, b, "counters", "batches");

	fprintf(
	    out,
	    "spliced %s  up %lu d %02lu:%02lu:%02lu  connections %.0f  memory %.1f of %.1f MB\n",
	    json_object_get_string(member(b, "version")), up / 86400, up / 3600 % 24, up / 60 % 60,
	    up % 60, value(b, "gauges", "connections"), value(b, "gauges", "budget_used") / MB,
	    value(b, "gauges", "budget_limit") / MB);
	fprintf(
	    out,
	    "MB/s: received %.1f, sent %.1f; READ spliced %.1f, copied %.1f (%.1f %% zero-copy)\n",
	    difference(a, b, "counters", "bytes_received") / MB / seconds,
	    difference(a, b, "counters", "bytes_sent") / MB / seconds, spliced / MB / seconds,
	    copied / MB / seconds, percent(spliced, spliced + copied));
	fprintf(out, "calls per batch %.1f, given to workers %.0f/s, object cache hits %.1f %%\n",
		batches > 0 ? difference(a, b, "counters", "batch_calls") / batches : 0,
		difference(a, b, "counters", "calls_given_to_pool") / seconds,
		percent(hits, hits + misses));
}

/* The latency buckets of what happened between the samples. */
static void
bucket_differences(struct json_object *a, struct json_object *b, uint64_t out[STAT_BUCKETS])
{
	for (size_t i = 0; i < STAT_BUCKETS; i++) {
		uint64_t now = json_object_get_uint64(json_object_array_get_idx(b, i)),
			 then = a ? json_object_get_uint64(json_object_array_get_idx(a, i)) : 0;

		out[i] = now > then ? now - then : 0;
	}
}

static void
print_procedure(FILE *out, const char *name, struct json_object *a, struct json_object *b,
		double seconds)
{
	double calls = difference(a, b, NULL, "calls");
	struct json_object *buckets = member(b, "buckets"), *before = member(a, "buckets");
	uint64_t between[STAT_BUCKETS] = {0};

	if (calls <= 0)
		return;
	if (json_object_is_type(buckets, json_type_array))
		bucket_differences(json_object_is_type(before, json_type_array) ? before : NULL,
				   buckets, between);
	fprintf(out, "%-16s %12.0f %10.0f %10.1f %9.1f %9.1f %9.1f\n", name, calls / seconds,
		difference(a, b, NULL, "errors") / seconds,
		difference(a, b, NULL, "bytes") / MB / seconds,
		difference(a, b, NULL, "latency_ns") / calls / 1000,
		stat_percentile_us(between, 0.5), stat_percentile_us(between, 0.99));
}

static void
print_counters(FILE *out, struct json_object *a, struct json_object *b, double seconds)
{
	struct json_object *counters = member(b, "counters");

	json_object_object_foreach(counters, name, unused)
	{
		double d = difference(a, b, "counters", name);

		(void)unused;
		if (d > 0)
			fprintf(out, "%-32s %14.0f /s\n", name, d / seconds);
	}
}

/* What happened between two samples, as text. */
static void
print_rates(FILE *out, struct json_object *a, struct json_object *b)
{
	double seconds = (value(b, NULL, "time_ns") - value(a, NULL, "time_ns")) / 1e9;
	struct json_object *procedures = member(b, "procedures"), *before = member(a, "procedures");

	if (seconds <= 0)
		seconds = 1;
	print_head(out, a, b, seconds);
	fprintf(out, "\n%-16s %12s %10s %10s %9s %9s %9s\n", "procedure", "calls/s", "errors/s",
		"MB/s", "mean us", "p50 us", "p99 us");
	json_object_object_foreach(procedures, name, row)
	{
		print_procedure(out, name, member(before, name), row, seconds);
	}
	fputc('\n', out);
	print_counters(out, a, b, seconds);
}

/* Waits. True when the user wants to stop. */
static bool
wait_for_key(int milliseconds)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	char key;

	if (poll(&p, 1, milliseconds) <= 0)
		return ended;
	return read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q' || key == 3 || key == 4;
}

/* From the top left, each line cleared behind its text: no flicker. What does not fit on the screen
 * is left out. */
static void
draw(const char *text, int lines)
{
	fputs("\033[H", stdout);
	for (int i = 1; *text && i < lines; i++) {
		size_t n = strcspn(text, "\n");

		fwrite(text, 1, n, stdout);
		fputs("\033[K\n", stdout);
		text += n + (text[n] == '\n');
	}
	fputs("\033[J", stdout);
	fflush(stdout);
}

static int
screen_lines(void)
{
	struct winsize w;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row > 2 ? w.ws_row : 24;
}

static int
watch(const struct ctl *ctl)
{
	struct json_object *a = take_sample(ctl), *b = NULL;
	int status = a ? CTL_OK : CTL_FAILED;

	while (a && !wait_for_key(1000) && !ended) {
		char *text = NULL;
		size_t len;
		FILE *out;

		b = take_sample(ctl);
		out = b ? open_memstream(&text, &len) : NULL;
		if (!out) {
			status = CTL_FAILED;
			break;
		}
		print_rates(out, a, b);
		fclose(out);
		draw(text, screen_lines());
		free(text);
		json_object_put(a);
		a = b;
		b = NULL;
	}
	json_object_put(a);
	json_object_put(b);
	return status;
}

static int
watch_on_terminal(const struct ctl *ctl)
{
	struct sigaction sa = {.sa_handler = on_signal};
	struct termios before, raw;
	int status;

	if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before) != 0) {
		fprintf(stderr,
			"splicectl: top: needs a terminal; use top --once SECONDS elsewhere\n");
		return CTL_USAGE;
	}
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	fputs("\033[?25l\033[2J", stdout); /* no cursor, an empty screen */
	status = watch(ctl);
	fputs("\033[?25h", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	return status;
}

static int
once(const struct ctl *ctl, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);
	struct timespec wait;
	struct json_object *a, *b;

	if (end == text || *end || !(seconds > 0 && seconds <= 86400)) {
		fprintf(stderr,
			"splicectl: top --once %s: seconds from above 0 to 86400 are needed\n",
			text);
		return CTL_USAGE;
	}
	wait =
	    (struct timespec){(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
	a = take_sample(ctl);
	if (!a)
		return CTL_FAILED;
	nanosleep(&wait, NULL);
	b = take_sample(ctl);
	if (b)
		print_rates(stdout, a, b);
	json_object_put(a);
	json_object_put(b);
	return b ? CTL_OK : CTL_FAILED;
}

int
ctl_top(const struct ctl *ctl, int argc, char **argv)
{
	if (argc == 1)
		return watch_on_terminal(ctl);
	if (argc == 3 && !strcmp(argv[1], "--once"))
		return once(ctl, argv[2]);
	fprintf(stderr, "splicectl: top: say `top` or `top --once SECONDS`\n");
	return CTL_USAGE;
}
