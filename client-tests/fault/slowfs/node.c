/* SPDX-License-Identifier: BSD-2-Clause */
#include "node.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <unistd.h>

static int
by_identity(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev > y->dev ? 1 : -1;
	return (x->ino > y->ino) - (x->ino < y->ino);
}

int
nodes_init(struct nodes *ns, int rootfd)
{
	struct stat st;

	if (fstat(rootfd, &st) < 0)
		return errno;
	pthread_mutex_init(&ns->lock, NULL);
	ns->root = (struct node){.fd = rootfd, .ino = st.st_ino, .dev = st.st_dev, .lookups = 1};
	ns->tree = NULL;
	return 0;
}

static void
node_free(void *arg)
{
	struct node *n = arg;

	close(n->fd);
	free(n);
}

void
nodes_free(struct nodes *ns)
{
	tdestroy(ns->tree, node_free);
	close(ns->root.fd);
	pthread_mutex_destroy(&ns->lock);
}

/* with the lock held: the known node, else a new one that owns fd */
static struct node *
find_or_add(struct nodes *ns, int fd, const struct stat *st)
{
	struct node key = {.fd = fd, .ino = st->st_ino, .dev = st->st_dev};
	struct node **found = tfind(&key, &ns->tree, by_identity);

	if (found) {
		close(fd);
		return *found;
	}
	struct node *n = malloc(sizeof *n);
	if (!n)
		return NULL;
	*n = key;
	if (!tsearch(n, &ns->tree, by_identity)) {
		free(n);
		return NULL;
	}
	return n;
}

struct node *
node_get(struct nodes *ns, int parentfd, const char *name, struct stat *st)
{
	int fd = openat(parentfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	if (fstat(fd, st) < 0) {
		int err = errno;
		close(fd);
		errno = err;
		return NULL;
	}
	pthread_mutex_lock(&ns->lock);
	struct node *n = find_or_add(ns, fd, st);
	if (n)
		n->lookups++;
	pthread_mutex_unlock(&ns->lock);
	if (!n) {
		close(fd);
		errno = ENOMEM;
	}
	return n;
}

void
node_put(struct nodes *ns, struct node *node, uint64_t n)
{
	if (node == &ns->root)
		return;
	pthread_mutex_lock(&ns->lock);
	node->lookups -= n;
	if (node->lookups == 0) {
		tdelete(node, &ns->tree, by_identity);
		node_free(node);
	}
	pthread_mutex_unlock(&ns->lock);
}
