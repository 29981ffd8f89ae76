/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scribe: did a server lose anything that it had acknowledged?
 *
 *   scribe write DIR JOURNAL SEED     change DIR until SIGTERM
 *   scribe check DIR JOURNAL SEED     compare DIR with what the journal says
 *
 * The changes to DIR (new files by O_EXCL, renames, links, removals, cuts, modes, records appended
 * to logs with fsync) are a random walk that SEED determines. A model in memory says what the
 * directory must look like after each step; the journal lies on another file system and says how
 * many steps were answered, one line each. `check` takes the same walk in the model alone, as far
 * as the journal goes, and looks at the directory.
 *
 * Happy path: every answered step is there, byte for byte. The one step after the last line may be
 * there or not: its names are not looked at. A file's content follows from the number of the step
 * that made it, so a stale, torn, doubled or swapped content is found, not only a missing one.
 *
 * A step that fails ends the writer with a message and status 1: a hard mount may wait for a
 * server, not fail.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOTS 40
#define LOGS 3
#define BIG 20000U
#define RECORD 64

enum kind { NONE, FILE_, DIR_, LINK_ };
struct slot {
	enum kind kind;
	uint64_t
	    id; /* the step that made it: content, link text; equal ids are links of one file */
	uint32_t size; /* now */
	uint32_t kept; /* of the first content; the rest of size is zeros */
	mode_t mode;
};

enum verb { APPEND, CREATE, RENAME, REMOVE, MKDIR, SYMLINK, LINK, CHMOD, CUT, SAVE };
static const char *const verb_name[] = {"append",  "create", "rename", "remove", "mkdir",
					"symlink", "link",   "chmod",  "cut",	 "save"};
struct step {
	enum verb verb;
	unsigned a, b; /* slots; a log for APPEND */
	uint32_t size;
	mode_t mode;
};

struct model {
	uint64_t rng, n; /* n: steps done */
	struct slot slot[SLOTS];
	uint64_t records[LOGS];
};

static uint32_t
below(struct model *m, uint32_t n)
{
	m->rng = m->rng * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(m->rng >> 33) % n;
}

static unsigned
pick(struct model *m, bool used)
{
	for (;;) {
		unsigned i = below(m, SLOTS);
		if ((m->slot[i].kind != NONE) == used)
			return i;
	}
}

static bool
possible(const struct model *m, const struct step *s)
{
	const struct slot *a = &m->slot[s->a], *b = &m->slot[s->b];

	switch (s->verb) {
	case RENAME:
		return s->a != s->b && a->id != b->id &&
		       (b->kind == NONE || (a->kind == DIR_) == (b->kind == DIR_));
	case LINK:
		return a->kind == FILE_;
	case CUT: /* by path, which asks for permission */
		return a->kind == FILE_ && (a->mode & 0200);
	case SAVE:
		return a->kind == FILE_ || a->kind == LINK_;
	case CHMOD:
		return a->kind != LINK_;
	default:
		return true;
	}
}

/* the next step of the walk, whatever has to be drawn for it */
static struct step
next(struct model *m)
{
	unsigned used = 0;
	struct step s;

	for (unsigned i = 0; i < SLOTS; i++)
		used += m->slot[i].kind != NONE;
	do {
		s = (struct step){.verb = (enum verb)below(m, SAVE + 1)};
		bool makes = s.verb == CREATE || s.verb == MKDIR || s.verb == SYMLINK;
		if (used < 5 && s.verb != APPEND)
			s.verb = CREATE, makes = true;
		else if (used > SLOTS - 5 && (makes || s.verb == LINK))
			s.verb = REMOVE, makes = false;
		s.a = s.verb == APPEND ? below(m, LOGS) : pick(m, !makes);
		s.b = s.verb == LINK ? pick(m, false) : below(m, SLOTS);
		s.size = below(m, BIG);
		s.mode = (mode_t[]){0644, 0600, 0755, 0444, 0700}[below(m, 5)];
	} while (s.verb != APPEND && !possible(m, &s));
	return s;
}

/* what all links of a file have in common */
static void
set_all(struct model *m, uint64_t id, const struct slot *to)
{
	for (unsigned i = 0; i < SLOTS; i++)
		if (m->slot[i].kind != NONE && m->slot[i].id == id)
			m->slot[i] = *to;
}

static void
apply(struct model *m, const struct step *s)
{
	struct slot *a = &m->slot[s->a], made = {.id = ++m->n, .mode = s->mode}, same = *a;

	switch (s->verb) {
	case APPEND:
		m->records[s->a]++;
		break;
	case CREATE:
	case SAVE:
		made.kind = FILE_;
		made.size = made.kept = s->size;
		*a = made;
		break;
	case MKDIR:
		made.kind = DIR_;
		*a = made;
		break;
	case SYMLINK:
		made.kind = LINK_;
		*a = made;
		break;
	case RENAME:
		m->slot[s->b] = *a;
		a->kind = NONE;
		break;
	case REMOVE:
		a->kind = NONE;
		break;
	case LINK:
		m->slot[s->b] = *a;
		break;
	case CHMOD:
		same.mode = s->mode;
		set_all(m, a->id, &same);
		break;
	case CUT:
		same.size = s->size;
		if (same.kept > s->size)
			same.kept = s->size;
		set_all(m, a->id, &same);
		break;
	}
}

static unsigned char
byte_of(uint64_t id, uint32_t at)
{
	return (unsigned char)((id * 2654435761U + at * 40503U + (at >> 7)) >> 5 | 1);
}

static void
name_of(unsigned slot, char name[16])
{
	snprintf(name, 16, "name-%u", slot);
}

/* number of the record, its place, and a sum over both that a torn or misplaced record does not
 * have */
static void
record_of(uint64_t seed, unsigned log, uint64_t n, char text[RECORD + 1])
{
	uint64_t sum = (seed * 31 + log) * 0x9e3779b97f4a7c15U ^ n * 0xc2b2ae3d27d4eb4fU;
	int len = snprintf(text, RECORD, "%u %020llu %016llx ", log, (unsigned long long)n,
			   (unsigned long long)sum);
	memset(text + len, '.', (size_t)(RECORD - 1 - len));
	text[RECORD - 1] = '\n';
	text[RECORD] = '\0';
}

/* --- write --- */

static volatile sig_atomic_t stop;

static void
on_term(int sig)
{
	(void)sig;
	stop = 1;
}

/* a file of 0444 is written by who made it */
static int
put(int dir, const char *name, uint64_t id, uint32_t size, mode_t mode)
{
	unsigned char buf[BIG];
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, mode);

	for (uint32_t i = 0; i < size; i++)
		buf[i] = byte_of(id, i);
	if (fd < 0 || (size && write(fd, buf, size) != (ssize_t)size) || fsync(fd) < 0)
		return -1;
	return close(fd);
}

static int
append(int dir, uint64_t seed, unsigned log, uint64_t n)
{
	char name[16], text[RECORD + 1];

	snprintf(name, sizeof name, "log-%u", log);
	record_of(seed, log, n, text);
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (fd < 0 || write(fd, text, RECORD) != RECORD || fsync(fd) < 0)
		return -1;
	return close(fd);
}

static int
cut(int dir, const char *name, uint32_t size)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d/%s", dir, name);
	return truncate(path, (off_t)size);
}

static int
take(int dir, const struct model *m, const struct step *s, uint64_t seed)
{
	char a[16], b[16], text[32];

	name_of(s->a, a);
	name_of(s->b, b);
	snprintf(text, sizeof text, "to %llu", (unsigned long long)m->n + 1);
	switch (s->verb) {
	case APPEND:
		return append(dir, seed, s->a, m->records[s->a]);
	case CREATE:
		return put(dir, a, m->n + 1, s->size, s->mode);
	case SAVE:
		return put(dir, "aside", m->n + 1, s->size, s->mode) ||
			       renameat(dir, "aside", dir, a)
			   ? -1
			   : 0;
	case MKDIR:
		return mkdirat(dir, a, s->mode);
	case SYMLINK:
		return symlinkat(text, dir, a);
	case RENAME:
		return renameat(dir, a, dir, b);
	case REMOVE:
		return unlinkat(dir, a, m->slot[s->a].kind == DIR_ ? AT_REMOVEDIR : 0);
	case LINK:
		return linkat(dir, a, dir, b, 0);
	case CHMOD:
		return fchmodat(dir, a, s->mode, 0);
	case CUT:
		return cut(dir, a, s->size);
	}
	return -1;
}

static int
write_all(int dir, const char *journal, uint64_t seed)
{
	struct model m = {.rng = seed};
	FILE *j = fopen(journal, "w");

	if (!j)
		err(2, "%s", journal);
	umask(0);
	signal(SIGTERM, on_term);
	while (!stop) {
		struct step s = next(&m);
		if (take(dir, &m, &s, seed) != 0)
			err(1, "step %llu: %s %u %u", (unsigned long long)m.n + 1,
			    verb_name[s.verb], s.a, s.b);
		apply(&m, &s);
		fprintf(j, "%llu %s %u %u\n", (unsigned long long)m.n, verb_name[s.verb], s.a, s.b);
		if (fflush(j) != 0)
			err(2, "%s", journal);
	}
	printf("%llu steps\n", (unsigned long long)m.n);
	return fclose(j) == 0 ? 0 : 2;
}

/* --- check --- */

static int wrong;

static void
complain(const char *name, const char *what, unsigned long long want, unsigned long long have)
{
	printf("%s: %s: expected %llu, found %llu\n", name, what, want, have);
	wrong++;
}

static void
check_content(int dir, const char *name, const struct slot *s)
{
	unsigned char buf[BIG + 1];
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof buf);

	if (n != (ssize_t)s->size)
		complain(name, "bytes read", s->size, (unsigned long long)n);
	for (uint32_t i = 0; n == (ssize_t)s->size && i < s->size; i++) {
		unsigned char want = i < s->kept ? byte_of(s->id, i) : 0;
		if (buf[i] != want) {
			printf("%s (made in step %llu), byte %u of %u: ", name,
			       (unsigned long long)s->id, i, s->size);
			complain(name, "content", want, buf[i]);
			break;
		}
	}
	if (fd >= 0)
		close(fd);
}

static void
check_link(int dir, const char *name, uint64_t id)
{
	char want[32], have[64] = "";

	snprintf(want, sizeof want, "to %llu", (unsigned long long)id);
	if (readlinkat(dir, name, have, sizeof have - 1) < 0 || strcmp(want, have) != 0) {
		printf("%s: expected a link '%s', found '%s'\n", name, want, have);
		wrong++;
	}
}

static void
check_slot(int dir, const struct model *m, unsigned i)
{
	static const mode_t type[] = {0, S_IFREG, S_IFDIR, S_IFLNK};
	const struct slot *s = &m->slot[i];
	unsigned links = 0;
	struct stat st = {0};
	char name[16];

	name_of(i, name);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT)
		err(1, "%s", name);
	if ((st.st_mode & S_IFMT) != type[s->kind]) {
		complain(name, "type", type[s->kind], st.st_mode & S_IFMT);
		return;
	}
	if (s->kind == LINK_)
		check_link(dir, name, s->id);
	else if (s->kind != NONE && (st.st_mode & 07777) != s->mode)
		complain(name, "mode", s->mode, st.st_mode & 07777);
	for (unsigned k = 0; k < SLOTS; k++)
		links += m->slot[k].kind == FILE_ && m->slot[k].id == s->id;
	if (s->kind == FILE_ && st.st_nlink != links)
		complain(name, "links", links, st.st_nlink);
	if (s->kind == FILE_)
		check_content(dir, name, s);
}

/* extra: one record more than was acknowledged is no mistake */
static void
check_log(int dir, uint64_t seed, unsigned log, uint64_t records, bool extra)
{
	char name[16], want[RECORD + 1], have[RECORD];
	uint64_t n = 0;

	snprintf(name, sizeof name, "log-%u", log);
	int fd = openat(dir, name, O_RDONLY);
	for (; fd >= 0 && read(fd, have, RECORD) == RECORD; n++) {
		record_of(seed, log, n, want);
		if (memcmp(want, have, RECORD) != 0) {
			printf("%s, record %llu: expected %.40s, found %.40s\n", name,
			       (unsigned long long)n, want, have);
			wrong++;
			break;
		}
	}
	if (n != records && !(extra && n == records + 1))
		complain(name, "records", records, n);
	if (fd >= 0)
		close(fd);
}

/* names that no step has made */
static void
check_strangers(int fd, const struct step *pending)
{
	DIR *d = fdopendir(dup(fd));
	const struct dirent *e;
	unsigned n;
	char c;

	if (!d)
		err(1, "opendir");
	while ((e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    (strcmp(e->d_name, "aside") == 0 && pending->verb == SAVE))
			continue;
		if ((sscanf(e->d_name, "name-%u%c", &n, &c) != 1 || n >= SLOTS) &&
		    (sscanf(e->d_name, "log-%u%c", &n, &c) != 1 || n >= LOGS)) {
			printf("%s: a name that nobody made\n", e->d_name);
			wrong++;
		}
	}
	closedir(d);
}

/* the walk again, as far as whole lines go; a line that says something else is a fault of the
 * journal */
static void
replay(struct model *m, const char *journal)
{
	char line[128], want[128];
	FILE *j = fopen(journal, "r");

	if (!j)
		err(2, "%s", journal);
	while (fgets(line, sizeof line, j) && strchr(line, '\n')) {
		struct step s = next(m);
		apply(m, &s);
		snprintf(want, sizeof want, "%llu %s %u %u\n", (unsigned long long)m->n,
			 verb_name[s.verb], s.a, s.b);
		if (strcmp(line, want) != 0)
			errx(2, "%s: expected '%s', found '%s': another seed?", journal, want,
			     line);
	}
	fclose(j);
}

/* is slot i the same slot as a, or another name of its file? */
static bool
touches(const struct model *m, unsigned a, unsigned i)
{
	return i == a || (m->slot[i].kind == FILE_ && m->slot[a].kind == FILE_ &&
			  m->slot[i].id == m->slot[a].id);
}

static int
check_all(int dir, const char *journal, uint64_t seed)
{
	struct model m = {.rng = seed};

	replay(&m, journal);
	struct model then = m;
	struct step pending = next(&then);
	bool on_log = pending.verb == APPEND;
	for (unsigned i = 0; i < SLOTS; i++)
		if (on_log || !(touches(&m, pending.a, i) || touches(&m, pending.b, i)))
			check_slot(dir, &m, i);
	for (unsigned i = 0; i < LOGS; i++)
		check_log(dir, seed, i, m.records[i], on_log && pending.a == i);
	check_strangers(dir, &pending);
	printf("%llu steps answered, %d faults\n", (unsigned long long)m.n, wrong);
	return wrong ? 1 : 0;
}

int
main(int argc, char **argv)
{
	bool writes = argc == 5 && strcmp(argv[1], "write") == 0;

	if (!writes && (argc != 5 || strcmp(argv[1], "check") != 0))
		errx(2, "usage: scribe write|check DIR JOURNAL SEED");
	int dir = open(argv[2], O_RDONLY | O_DIRECTORY);
	if (dir < 0)
		err(2, "%s", argv[2]);
	uint64_t seed = strtoull(argv[4], NULL, 10);
	return writes ? write_all(dir, argv[3], seed) : check_all(dir, argv[3], seed);
}
