/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * READ: the three lengths of its reply agree, eof is said from the size, and the bytes are the
 * file's, by whichever way they travel (spliced from the file, through a worker's pipe, copied).
 * RFC 1813 section 3.3.6.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/bed.h"

static char want[(1 << 20) + 64];

/* READs in one mode and checks everything about the answer against a patterned file of the given
 * size. */
static void
check_in(struct bed *b, enum bed_mode mode, const nfs_fh3 *fh, uint64_t size, uint64_t off,
	 uint32_t count)
{
	uint64_t left = off < size ? size - off : 0;
	uint32_t most = count < 1 << 20 ? count : 1 << 20;
	READ3res r;
	READ3resok *ok = &r.READ3res_u.resok;

	CU_ASSERT_EQUAL_FATAL(bed_read_in(b, mode, fh, off, count, &r), NFS3_OK);
	CU_ASSERT_TRUE(ok->file_attributes.attributes_follow);
	CU_ASSERT_EQUAL(ok->file_attributes.post_op_attr_u.attributes.size, size);
	CU_ASSERT_EQUAL(ok->count, ok->data.len);
	most = most < left ? most : (uint32_t)left;
	CU_ASSERT_EQUAL(ok->count, most);
	CU_ASSERT_EQUAL(ok->eof, (uint64_t)ok->count >= left);
	bed_fill_pattern(want, off, ok->count);
	CU_ASSERT_EQUAL(memcmp(ok->data.base, want, ok->count), 0);
	/* the padding is zero */
	for (size_t i = ok->count; i % 4; i++)
		CU_ASSERT_EQUAL(((char *)ok->data.base)[i], 0);
}

static void
check_read(struct bed *b, const nfs_fh3 *fh, uint64_t size, uint64_t off, uint32_t count)
{
	for (enum bed_mode m = 0; m < BED_MODES; m++)
		check_in(b, m, fh, size, off, count);
}

/* Sizes and counts around words, pages and the largest READ: count, opaque length, padding and
 * record mark agree. */
TEST(wire_read, lengths)
{
	struct bed *b = bed_new(NULL);
	static const uint32_t sizes[] = {
	    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 4095, 4096, 4097, (1 << 20) - 1, 1 << 20, (1 << 20) + 1};

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint32_t s = sizes[i];
		nfs_fh3 fh;

		bed_pattern(b, "a/file", s);
		bed_settle(b);
		fh = bed_fh(b, &b->root_a, "file");
		check_read(b, &fh, s, 0, s);
		check_read(b, &fh, s, 0, s + 1);
		check_read(b, &fh, s, 0, 1 << 20);
		if (s > 0) {
			check_read(b, &fh, s, 0, s - 1);
			check_read(b, &fh, s, s - 1, 1);
			check_read(b, &fh, s, s - 1, 100);
		}
		check_read(b, &fh, s, s, 1);
		check_read(b, &fh, s, s / 2, 0);
	}
	bed_free(b);
}

static void
matrix(struct bed *b)
{
	static const uint64_t offs[] = {0, 1, 511, 512, 4095, 4096, 4097, (1 << 20) - 1};
	static const uint32_t counts[] = {1, 512, 4096, 4097, 65536, 1 << 20};
	const uint64_t size = (2 << 20) + 77;
	nfs_fh3 fh;

	bed_pattern(b, "a/big", size);
	bed_settle(b);
	fh = bed_fh(b, &b->root_a, "big");
	for (size_t i = 0; i < sizeof offs / sizeof *offs; i++)
		for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
			check_read(b, &fh, size, offs[i], counts[k]);
}

/* Offsets and counts around page edges give the file's own bytes, on a disk file system. */
TEST(wire_read, page_edges)
{
	struct bed *b = bed_new(NULL);

	matrix(b);
	bed_free(b);
}

/* And on tmpfs, whose pages take another way through splice. */
TEST(wire_read, page_edges_tmpfs)
{
	struct bed *b = bed_new(&(struct bed_opts){.parent = "/dev/shm"});

	matrix(b);
	bed_free(b);
}

/* And with nothing of what newer kernels can do. */
TEST(wire_read, page_edges_old_kernel)
{
	struct bed *b = bed_new(&(struct bed_opts){.without = "all"});

	matrix(b);
	bed_free(b);
}

/* A hole reads as zeros, before and after data, on both. */
static void
holes(const char *parent)
{
	struct bed *b = bed_new(&(struct bed_opts){.parent = parent});
	READ3res r;
	nfs_fh3 fh;
	int fd;

	bed_write(b, "a/sparse", "", 0);
	fd = open(bed_path(b, "a/sparse"), O_WRONLY);
	CU_ASSERT_EQUAL(pwrite(fd, "DADA", 4, 100000), 4);
	CU_ASSERT_EQUAL(ftruncate(fd, 300000), 0);
	close(fd);
	bed_settle(b);
	fh = bed_fh(b, &b->root_a, "sparse");
	CU_ASSERT_EQUAL(bed_read(b, &fh, 0, 1 << 20, &r), NFS3_OK);
	CU_ASSERT_EQUAL(r.READ3res_u.resok.count, 300000);
	memset(want, 0, 300000);
	want[100000] = want[100002] = 'D';
	want[100001] = want[100003] = 'A';
	CU_ASSERT_EQUAL(memcmp(r.READ3res_u.resok.data.base, want, 300000), 0);
	bed_free(b);
}

TEST(wire_read, holes)
{
	holes("/tmp");
	holes("/dev/shm");
}

/* Any 64-bit offset and 32-bit count has an answer: past the end it is zero bytes and eof, never an
 * error. */
TEST(wire_read, boundaries)
{
	struct bed *b = bed_new(NULL);
	static const uint64_t offs[] = {9,	    10,		11,
					1ull << 31, 1ull << 32, INT64_MAX - 1,
					INT64_MAX,  1ull << 63, UINT64_MAX - 1,
					UINT64_MAX};
	static const uint32_t counts[] = {0, 1, 1 << 20, (1 << 20) + 1, INT32_MAX, UINT32_MAX};
	nfs_fh3 fh;

	bed_pattern(b, "a/file", 10);
	bed_settle(b);
	fh = bed_fh(b, &b->root_a, "file");
	for (size_t i = 0; i < sizeof offs / sizeof *offs; i++)
		for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
			check_read(b, &fh, 10, offs[i], counts[k]);
	bed_free(b);
}

/* A file that grows by appends is read to its new end, and eof moves with it. */
TEST(wire_read, growing)
{
	struct bed *b = bed_new(NULL);
	nfs_fh3 fh;

	for (uint32_t size = 5; size < 20000; size += 4999) {
		bed_pattern(b, "a/file", size);
		bed_settle(b);
		fh = bed_fh(b, &b->root_a, "file");
		check_read(b, &fh, size, 0, size);
		check_read(b, &fh, size, size - 1, 1);
		check_read(b, &fh, size, size, 10);
	}
	bed_free(b);
}

/* Zero-copy is really taken: a large READ of a warm file leaves a loop as a file span and a worker
 * as a pipe; told to copy, as memory. */
TEST(wire_read, ways)
{
	struct bed *b = bed_new(NULL);
	nfs_fh3 fh;
	READ3args a;

	bed_pattern(b, "a/file", 200000);
	bed_settle(b);
	fh = bed_fh(b, &b->root_a, "file");
	check_read(b, &fh, 200000, 0, 65536); /* warms it */
	a = (READ3args){fh, 0, 65536};
	bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_READ, (xdrproc_t)xdr_READ3args, &a);
	bed_run(b, BED_LOOP);
	if (b->kernel.cachestat) { /* else a loop cannot know that a page is there */
		CU_ASSERT_FALSE(b->reply.slept);
		CU_ASSERT_EQUAL(b->reply.kind, BODY_FILE);
	}
	bed_run(b, BED_WORKER);
	CU_ASSERT_EQUAL(b->reply.kind, BODY_PIPE);
	bed_run(b, BED_COPY);
	CU_ASSERT_EQUAL(b->reply.kind, BODY_MEM);
	b->vfs.splice_from = UINT32_MAX;
	bed_run(b, BED_WORKER);
	CU_ASSERT_EQUAL(b->reply.kind, BODY_MEM);
	bed_free(b);
}

static void
make_cold(struct bed *b, const char *path)
{
	int fd = open(bed_path(b, path), O_RDONLY | O_CLOEXEC);

	CU_ASSERT_EQUAL(fsync(fd), 0);
	CU_ASSERT_EQUAL(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	close(fd);
}

static unsigned
refs_of(struct bed *b, const nfs_fh3 *fh)
{
	struct handle h;
	struct obj *o;
	unsigned n;

	CU_ASSERT_EQUAL_FATAL(handle_parse(&b->key, fh, &h), 0);
	CU_ASSERT_EQUAL_FATAL(
	    obj_get(b->files, export_by_id(b->engine.table, h.export_id), fh, &h, true, &o), 0);
	n = o->refs;
	obj_put(b->files, o);
	return n;
}

/* A loop never reads from a disk: the READ of a cold file goes to a worker, and the loop has let go
 * of everything. */
TEST(wire_read, cold_reads_sleep)
{
	struct bed *b = bed_new(NULL);
	nfs_fh3 fh;
	unsigned refs;
	READ3res r;

	bed_pattern(b, "a/file", 1 << 20);
	bed_settle(b);
	fh = bed_fh(b, &b->root_a, "file");
	check_read(b, &fh, 1 << 20, 0, 100);
	refs = refs_of(b, &fh);
	for (int i = 0; i < 20; i++) {
		make_cold(b, "a/file");
		CU_ASSERT_EQUAL(bed_read_in(b, BED_LOOP, &fh, 0, 65536, &r), NFS3_OK);
		CU_ASSERT_TRUE(b->reply.slept);
		CU_ASSERT_EQUAL(r.READ3res_u.resok.count, 65536);
	}
	CU_ASSERT_EQUAL(refs_of(b, &fh), refs);
	bed_free(b);
}

/* What a reply is spliced from stays open until it is sent, though the file is removed meanwhile.
 */
TEST(wire_read, removed_before_it_is_sent)
{
	struct bed *b = bed_new(NULL);
	struct call *c = b->call;
	char got[4096];
	READ3args a;

	bed_pattern(b, "a/file", 4096);
	bed_settle(b);
	a = (READ3args){bed_fh(b, &b->root_a, "file"), 0, 4096};
	check_read(b, &a.file, 4096, 0, 4096);
	bed_record(b, NFS_PROGRAM, NFS_V3, NFSPROC3_READ, (xdrproc_t)xdr_READ3args, &a);
	c->peer = &b->peer;
	c->rec = b->rec;
	c->reclen = b->reclen;
	c->may_sleep = !b->kernel.cachestat;
	CU_ASSERT_EQUAL(call_run(c), CALL_REPLY);
	CU_ASSERT_EQUAL(unlink(bed_path(b, "a/file")), 0);
	files_drop(b->files, NULL, NULL);
	CU_ASSERT_EQUAL(c->body.len, 4096);
	if (c->body.base)
		memcpy(got, c->body.base, 4096);
	else
		CU_ASSERT_EQUAL(pread(c->body.fd, got, 4096, c->body.off), 4096);
	bed_fill_pattern(want, 0, 4096);
	CU_ASSERT_EQUAL(memcmp(got, want, 4096), 0);
	call_reset(c);
	CU_ASSERT_EQUAL(bed_getattr(b, &a.file, NULL), NFS3ERR_STALE);
	bed_free(b);
}
