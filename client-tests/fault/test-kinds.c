/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * READ, over a connection, of every edge there is: of words, pages, files, the largest READ and
 * 64-bit numbers; on each kind of file system, by each -z; cold and warm. The bytes are pread's,
 * the count is all there is, eof is said from the size. RFC 1813 section 3.3.6.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server.h"

#define MIB (1u << 20)
#define LEN(list) (sizeof(list) / sizeof(list)[0])

static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 4095, 4096, 4097, 300001, 2 * MIB + 5};
static const uint32_t counts[] = {0,	1,     3,	4,   511,     4095,	 4096,
				  4097, 65536, MIB - 1, MIB, MIB + 1, UINT32_MAX};

struct file {
	char path[300];
	nfs_fh3 fh;
	char *bytes; /* what pread says, all of it */
	uint64_t size;
};

/* A sparse file: data in the middle and, but for its last page, holes. */
static void
sparse_file(const char *path)
{
	char some[3000];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	pattern_fill(9, 0, some, sizeof some);
	CU_ASSERT_FATAL(fd >= 0 && pwrite(fd, some, sizeof some, 500000) == sizeof some &&
			ftruncate(fd, 900001) == 0);
	close(fd);
}

static void
open_file(struct srv *s, struct cl *c, struct file *f, const char *name)
{
	struct stat st = {0};

	snprintf(f->path, sizeof f->path, "%s/%s", srv_path(s, "fs"), name);
	f->fh = cl_handle(c, srv_path(s, "fs"), name);
	int fd = open(f->path, O_RDONLY | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0 && fstat(fd, &st) == 0);
	f->size = (uint64_t)st.st_size;
	f->bytes = malloc(f->size + 1);
	for (uint64_t n = 0; n < f->size;) {
		ssize_t k = pread(fd, f->bytes + n, f->size - n, (off_t)n);

		CU_ASSERT_FATAL(k > 0);
		n += (uint64_t)k;
	}
	close(fd);
}

/* Everything about one READ; false and a word about it when it is wrong. */
static bool
one_read(struct cl *c, const struct file *f, uint64_t off, uint32_t count)
{
	uint64_t left = off < f->size ? f->size - off : 0;
	uint32_t want = count < MIB ? count : MIB;
	READ3res r;
	const READ3resok *ok = &r.READ3res_u.resok;
	int status = cl_read(c, &f->fh, off, count, &r);

	if (want > left)
		want = (uint32_t)left;
	bool good = status == NFS3_OK && ok->count == want && ok->eof == (off + want >= f->size) &&
		    ok->file_attributes.attributes_follow &&
		    ok->file_attributes.post_op_attr_u.attributes.size == f->size &&
		    (want == 0 || memcmp(ok->data.base, f->bytes + off, want) == 0);

	if (!good)
		fprintf(stderr, "\n    %s: offset %llu, count %u: status %d, %u bytes, eof %d",
			f->path, (unsigned long long)off, count, status,
			status == NFS3_OK ? ok->count : 0, status == NFS3_OK ? ok->eof : 0);
	CU_ASSERT_TRUE(good);
	return good;
}

static void
every_edge(struct cl *c, const struct file *f)
{
	uint64_t top = f->size;
	const uint64_t offsets[] = {
	    0,	 1,	  511,	   512,	    4095, 4096,	     4097,	 top - 10,  top - 1,
	    top, top + 1, top / 2, MIB - 1, MIB,  INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};

	for (size_t i = 0; i < LEN(offsets); i++)
		for (size_t k = 0; k < LEN(counts); k++)
			if (!one_read(c, f, offsets[i], counts[k]))
				return;
}

static void
make_files(struct srv *s)
{
	char name[32];

	for (size_t i = 0; i < LEN(sizes); i++) {
		snprintf(name, sizeof name, "fs/f%zu", sizes[i]);
		pattern_file(srv_path(s, name), (uint32_t)i, sizes[i]);
	}
	sparse_file(srv_path(s, "fs/sparse"));
}

/* Out of memory with its pages, so that the first READ comes from the disk (where there is one). */
static void
forget_pages(const struct file *f)
{
	int fd = open(f->path, O_RDONLY | O_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0 && fsync(fd) == 0);
	CU_ASSERT_EQUAL(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	close(fd);
}

static void
one_mode(struct srv *s, const char *mode)
{
	char name[32];

	srv_start(s, (const char *[]){"-j1", mode, NULL}, "fs", NULL);
	struct cl *c = srv_client(s);
	for (size_t i = 0; i <= LEN(sizes); i++) {
		struct file f;

		snprintf(name, sizeof name, "f%zu", i < LEN(sizes) ? sizes[i] : 0);
		open_file(s, c, &f, i < LEN(sizes) ? name : "sparse");
		forget_pages(&f);
		every_edge(c, &f);
		free(f.bytes);
	}
	cl_free(c);
	int status = srv_stop(s, SIGTERM);

	CU_ASSERT_EQUAL(status, 0);
	if (status != 0)
		fprintf(stderr, "\n    status %#x; the server said:\n%s\n", status, s->log);
}

static void
every_read(const char *type)
{
	static const char *const modes[] = {"-zalways", "-zauto", "-znever"};
	struct srv *s = srv_new();

	srv_fresh(s, type, "fs");
	make_files(s);
	for (size_t i = 0; i < LEN(modes); i++)
		one_mode(s, modes[i]);
	srv_free(s);
}

/* Every edge on ext4, through kernel handles. */
TEST(kinds, ext4)
{
	every_read("ext4");
}
/* On xfs. */
TEST(kinds, xfs)
{
	every_read("xfs");
}
/* On btrfs, whose pages may be larger and compressed. */
TEST(kinds, btrfs)
{
	every_read("btrfs");
}
/* On tmpfs, whose holes have no pages. */
TEST(kinds, tmpfs)
{
	every_read("tmpfs");
}
/* On overlayfs, where every call goes to a worker, and its copy-up. */
TEST(kinds, overlayfs)
{
	every_read("overlay");
}
/* On FUSE, through handles of the store. */
TEST(kinds, fuse)
{
	every_read("fuse");
}

static uint64_t
word(const struct cl *c, size_t off, size_t bytes)
{
	uint64_t v = 0;

	CU_ASSERT_FATAL(off + bytes <= c->len);
	while (bytes-- > 0)
		v = v << 8 | (unsigned char)c->buf[off++];
	return v;
}

/* One page of a directory, each name of it deleted; how many. *cookie moves on. */
static unsigned
page_and_delete(struct srv *s, struct cl *c, const nfs_fh3 *dir, uint64_t *cookie, bool *eof)
{
	READDIR3args a = {.dir = *dir, .cookie = *cookie, .count = 4096};
	unsigned n = 0;
	size_t at;
	char path[400];

	cl_call(c, 100003, 3, 16, (xdrproc_t)xdr_READDIR3args, &a);
	CU_ASSERT_TRUE_FATAL(cl_recv(c));
	CU_ASSERT_EQUAL_FATAL(cl_verdict(c, &at), 0);
	CU_ASSERT_EQUAL_FATAL(word(c, at, 4), NFS3_OK);
	at += 4 + (word(c, at + 4, 4) ? 88u : 4u) + 8; /* attributes, verifier */
	for (; word(c, at, 4); at += 8) {
		size_t len = word(c, at + 12, 4);
		const char *name = c->buf + at + 16;

		at += 16 + (len + 3) / 4 * 4;
		*cookie = word(c, at, 8);
		if (*name == '.')
			continue;
		snprintf(path, sizeof path, "%s/%.*s", srv_path(s, "fs"), (int)len, name);
		CU_ASSERT_EQUAL(unlink(path), 0);
		n++;
	}
	*eof = word(c, at + 4, 4);
	return n;
}

/* Reading 3,000 names of a FUSE file system and deleting each page of them loses none. */
TEST(kinds, fuse_deleting_while_listing)
{
	struct srv *s = srv_new();
	uint64_t cookie = 0;
	unsigned n = 0;
	bool eof = false;
	char name[32];

	srv_fresh(s, "fuse", "fs");
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof name, "fs/name%d", i);
		pattern_file(srv_path(s, name), 1, 0);
	}
	srv_start(s, (const char *[]){"-j1", NULL}, "fs", NULL);
	struct cl *c = srv_client(s);
	nfs_fh3 dir;
	CU_ASSERT_EQUAL_FATAL(cl_mnt(c, srv_path(s, "fs"), &dir), MNT3_OK);
	while (!eof)
		n += page_and_delete(s, c, &dir, &cookie, &eof);
	CU_ASSERT_EQUAL(n, 3000);
	cl_free(c);
	srv_free(s);
}
