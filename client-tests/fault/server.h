/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAULT_SERVER_H
#define FAULT_SERVER_H
/*
 * A real spliced process of a test's own: a temporary base directory on tmpfs with the state
 * directory and whatever the test exports, any free port, loopback only. Programs are looked for
 * beside the test program ($SPLICED names another server).
 *
 *	struct srv *s = srv_new();
 *	srv_mkdir(s, "a"); pattern_file(srv_path(s, "a/file"), 1, 4096);
 *	srv_start(s, (const char *[]){"-j1", NULL}, "a", NULL);
 *	...
 *	srv_free(s);        stops what still runs, unmounts, removes; a failed check if the server
 *had died
 *
 * What a test that fails half-way leaves behind is cleaned up when the next one begins, or at the
 * end.
 */
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "client.h"

enum { SRV_MOUNTS = 4, SRV_EXPORTS = 8 };

struct srv {
	char base[64];
	pid_t pid; /* 0: not running */
	int port;
	const char *options;	 /* -o; "ro,insecure" at first; NULL: none (exports from files) */
	const char *preload;	 /* LD_PRELOAD of the server; NULL at first */
	const char *statedir;	 /* below the base; "state" at first */
	struct rlimit nofile;	 /* rlim_max 0: as it is */
	char *mount[SRV_MOUNTS]; /* below the base: unmounted at the end, last first */
	unsigned nmounts;
	pid_t slowfs;

	/* what it says */
	pthread_t listener;
	pthread_mutex_t lock;
	pthread_cond_t said;
	char *log;
	size_t loglen;
	bool ended;
};

struct srv *srv_new(void);
void srv_free(struct srv *);

/* BASE/path, good until the fourth next call. */
const char *srv_path(struct srv *, const char *path);
void srv_mkdir(struct srv *, const char *path);

/* Starts it with these options (NULL-terminated, or NULL) for these exports below the base
 * (NULL-terminated), and waits until it accepts connections. */
void srv_start(struct srv *, const char *const *options, const char *export, ...)
    __attribute__((sentinel));
/* The same, without waiting and with the exports as a list. */
void srv_spawn(struct srv *, const char *const *options, const char *const *what);
/* Waits for "ready"; false: it ended instead. */
bool srv_ready(struct srv *);
/* Did it say this so far? */
bool srv_said(struct srv *, const char *text);
/* Sends a signal and reaps it; the wait status. It must end within CL_SECONDS. */
int srv_stop(struct srv *, int sig);
/* Is it running still? */
bool srv_alive(struct srv *);
/* A new connection to it. */
struct cl *srv_client(struct srv *);

/* An image file at BASE/image with an empty file system: "ext4" or "xfs". */
void srv_image(struct srv *, const char *image, const char *type, unsigned mib);
/* An ext4 file system of so many MiB at BASE/path, on a loop device over a file of the base. */
void srv_ext4(struct srv *, const char *path, unsigned mib);
/*
 * A fresh file system of a type at BASE/path: tmpfs, ext4, xfs, btrfs (400 MiB, on a loop device),
 * overlay (of two directories of a tmpfs), fuse (slowfs over a directory of the base: once in a
 * test).
 */
void srv_fresh(struct srv *, const char *type, const char *path);
/* slowfs over BASE/source (a directory or an image) at BASE/path, obeying srv_tell. */
void srv_slowfs(struct srv *, const char *source, const char *path);
void srv_mount_image(struct srv *, const char *image, const char *path);
/* A command for slowfs: "hold read", "delay read 50". */
void srv_tell(struct srv *, const char *command);
/* How many operations of this kind wait inside slowfs now. */
unsigned srv_waiting(struct srv *, const char *op);

/* ---- what the kernel knows about it ---- */
long srv_rss_kib(struct srv *); /* anonymous and file pages, as VmRSS */
long srv_anon_kib(struct srv *);
unsigned srv_fds(struct srv *);
double srv_cpu(struct srv *);			      /* seconds it has run, user and system */
void srv_stat(struct srv *, char *json, size_t size); /* what splicectl stat --json says */
bool srv_idle(struct srv *); /* all its threads wait for something to do, not for a disk */

/* ---- waiting for a fact ---- */
double now_s(void); /* CLOCK_MONOTONIC */
/* Evaluates cond again and again until it is true; a fatal failed check after CL_SECONDS. */
#define UNTIL(cond)                                                                                \
	do {                                                                                       \
		double until_ = now_s() + CL_SECONDS;                                              \
		bool is_;                                                                          \
		while (!(is_ = (cond)) && now_s() < until_)                                        \
			pause_briefly();                                                           \
		CU_ASSERT_FATAL(is_);                                                              \
	} while (0)
void pause_briefly(void);
/* Runs a program, found beside the test program or in PATH, with its output thrown away unless it
 * fails; the exit status. */
int run_program(const char *const *argv);
/* Built with a sanitizer: memory and time are not what they are. */
bool under_sanitizer(void);

#endif
