/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOWFS_NODE_H
#define SLOWFS_NODE_H

#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * What the kernel calls a node id is the address of one of these: an object that the kernel knows,
 * held by an O_PATH descriptor. Like every such id it means nothing after the next mount, which is
 * just what servers must cope with.
 */
struct node {
	int fd; /* O_PATH */
	ino_t ino;
	dev_t dev;
	uint64_t lookups; /* how often the kernel was told of it and has not forgotten it */
};

struct nodes {
	pthread_mutex_t lock;
	struct node root; /* never forgotten */
	void *tree;	  /* the others, by (dev, ino) */
};

/* Takes over rootfd. 0 or an errno value. */
int nodes_init(struct nodes *ns, int rootfd);
void nodes_free(struct nodes *ns);

/* The node of `name` in the directory behind parentfd, counted once more, and its attributes. NULL
 * with errno set. */
struct node *node_get(struct nodes *ns, int parentfd, const char *name, struct stat *st);
/* The kernel forgets n of its lookups; at none the node is freed. */
void node_put(struct nodes *ns, struct node *node, uint64_t n);

#endif
