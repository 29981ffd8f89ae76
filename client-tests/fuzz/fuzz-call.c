/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole calls in a server without sockets: any record, in every way a call may run, is answered by
 * one well-formed reply or closes its connection, and leaves nothing held.
 *
 * The first four bytes say how: mode (top bit: the rest is the whole record), procedure, caller,
 * and nothing. Random bytes never are a genuine handle, so "FH", a digit and "!" in the input stand
 * for one, encoded; "PA", a digit and "!" for an export's path.
 *
 * One of the two exports can be written, and its tree is made anew now and then.
 */
#include "lib/bed.h"

#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "fuzz.h"
#include "unit/xdr-vectors.h"

enum { RENEW = 4096, HANDLES = 10, RECORD_MAX = 60000, NFS_PROCS = 23, MOUNT_PROCS = 7 };

static struct bed *bed;
static nfs_fh3 handle[HANDLES];

static void
end(void)
{
	ending = 1;
	bed_free(bed);
}

static void
begin(void)
{
	static const char *const names[] = {"file", "dir", "link", "fifo", "dir/inner", "gone"};

	bed = bed_new(&(struct bed_opts){.parent = "/dev/shm", .options_a = "rw,no_root_squash"});
	bed_mkdir(bed, "a/dir", 0755);
	bed_pattern(bed, "a/file", 10000);
	bed_write(bed, "a/dir/inner", "inner", 5);
	bed_write(bed, "a/gone", "gone", 4);
	MUST(symlink("file", bed_path(bed, "a/link")) == 0);
	MUST(mkfifo(bed_path(bed, "a/fifo"), 0644) == 0);
	for (int i = 0; i < 40; i++) {
		char name[64];

		snprintf(name, sizeof name, "a/dir/%d-%.*s", i, i,
			 "a name of some length or other......");
		bed_write(bed, name, "", 0);
	}
	bed_settle(bed);
	handle[0] = bed->root_a;
	handle[1] = bed->root_b;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		handle[2 + i] = bed_fh(bed, &bed->root_a, names[i]);
	MUST(unlink(bed_path(bed, "a/gone")) == 0);
	handle[8] = handle[2];
	handle[8].data[4] ^= 1; /* spoilt */
}

static void
renew(void)
{
	static unsigned n;

	if (!bed)
		atexit(end);
	else if (++n % RENEW)
		return;
	else
		end();
	begin();
	ending = 0;
}

/* ---- records ---- */

static void
append_handle(unsigned i)
{
	char enc[WIRE_FH3];
	XDR x;

	xdrmem_create(&x, enc, sizeof enc, XDR_ENCODE);
	MUST(xdr_nfs_fh3(&x, &handle[i]));
	bed_append(bed, enc, xdr_getpos(&x));
}

static void
append_path(unsigned i)
{
	static const char *const paths[] = {"a", "b",	   "a/dir",	 "a/file",
					    "",	 "a/link", "a/dir/../.."};
	const char *p = bed_path(bed, paths[i % 7]);
	wire_str s = {(u_int)strlen(p), p};
	char enc[512];
	XDR x;

	xdrmem_create(&x, enc, sizeof enc, XDR_ENCODE);
	MUST(xdr_wire_str(&x, &s));
	bed_append(bed, enc, xdr_getpos(&x));
}

static void
append(struct input *in)
{
	while (in->n > 0 && bed->reclen < RECORD_MAX) {
		const uint8_t *p = in->p;
		size_t used = 1;

		if (in->n >= 4 && p[3] == '!' && p[2] >= '0' && p[2] <= '9') {
			if (memcmp(p, "FH", 2) == 0 || memcmp(p, "PA", 2) == 0)
				used = 4;
		}
		if (used == 1)
			bed_append(bed, p, 1);
		else if (*p == 'F')
			append_handle(p[2] - '0');
		else
			append_path(p[2] - '0');
		in->p += used;
		in->n -= used;
	}
}

static void
build(struct input *in, int raw, unsigned proc, unsigned caller)
{
	static const uint32_t uids[] = {0, 1000, 65534, UINT32_MAX};

	bed->flavor = caller & 8 ? AUTH_NONE : AUTH_SYS;
	bed->uid = uids[caller & 3];
	bed->gid = bed->uid;
	bed->ngids = caller >> 4;
	for (uint32_t i = 0; i < bed->ngids; i++)
		bed->gids[i] = i;
	proc %= NFS_PROCS + MOUNT_PROCS;
	if (proc < NFS_PROCS)
		bed_record(bed, NFS_PROGRAM, NFS_V3, proc, NULL, NULL);
	else
		bed_record(bed, MOUNT_PROGRAM, caller & 4 ? MOUNT_V1 : MOUNT_V3, proc - NFS_PROCS,
			   NULL, NULL);
	if (raw)
		bed->reclen = 0;
	append(in);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct input in = {data, n};
	uint8_t mode = input_byte(&in), proc = input_byte(&in), caller = input_byte(&in);
	size_t off;

	renew();
	input_byte(&in);
	build(&in, mode & 0x80, proc, caller);
	if (bed->reclen < 4)
		return 0;
	size_t budget = budget_used();

	bed_run(bed, (enum bed_mode)(mode & 3));
	MUST(budget_used() == budget);
	if (bed->reply.verdict == CALL_REPLY)
		bed_outcome(bed, &off);
	else
		MUST(bed->reply.verdict == CALL_CLOSE);
	return 0;
}

/* ---- seeds ---- */

/* Arguments with the handles of the vectors replaced by the h-th and the one after it; their
 * length.
 */
static size_t
put_handles(const uint8_t *args, size_t n, unsigned h, uint8_t *out)
{
	static const char *const vectors[] = {X_FH, X_FH2};
	size_t len = 0;

	for (size_t at = 0; at < n;) {
		bool was = false;

		for (unsigned i = 0; i < 2 && !was; i++) {
			uint8_t fh[80];
			size_t k = unhex(vectors[i], fh, sizeof fh);

			was = k <= n - at && memcmp(args + at, fh, k) == 0;
			if (!was)
				continue;
			memcpy(out + len, "FH0!", 4);
			out[len + 2] = (uint8_t)('0' + (h + i) % 8);
			len += 4;
			at += k;
		}
		if (!was)
			out[len++] = args[at++];
	}
	return len;
}

static void
seed_args(uint8_t proc, const struct vector *v)
{
	uint8_t b[2048], args[2048];
	size_t n = unhex(v->hex, args, sizeof args), len = 4;

	n += unhex(v->tail, args + n, sizeof args - n);
	for (uint8_t h = 0; h < 8; h++) {
		memcpy(b, (uint8_t[]){h % 4, proc, (uint8_t)(h % 4), 0}, 4);
		memcpy(b + 4, "PA0!", 4);
		b[6] = (uint8_t)('0' + h);
		if (proc < NFS_PROCS)
			len = put_handles(args, n, h, b + 4);
		seed(b, 4 + len);
	}
}

static void
first_inputs(void)
{
	static const char whole[] = "\200\0\0\0xid1\0\0\0\0\0\0\0\2\0\1\206\243\0\0\0\3\0\0\0\1"
				    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0FH0!";
	uint8_t proc = 1;

	for (size_t i = 0; i < sizeof nfs_args / sizeof *nfs_args; i++) {
		/* several vectors may be of one procedure, and all are in its order */
		if (i > 0 && nfs_args[i].xdr != nfs_args[i - 1].xdr)
			proc++;
		seed_args(proc, &nfs_args[i]);
	}
	seed_args(NFS_PROCS + MOUNTPROC3_MNT, &mount_args[0]);
	seed_args(NFS_PROCS + MOUNTPROC3_UMNT, &mount_args[0]);
	seed(whole, sizeof whole - 1);
	(void)nfs_res;
	(void)mount_res;
}

FUZZ_SEEDS(first_inputs)
