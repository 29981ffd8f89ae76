/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DB_INT_H
#define DB_INT_H
/* What db.c and dbrow.c share. */
#include "db.h"
#include <lmdb.h>
#include <pthread.h>

enum db_table { T_ROWS, T_IDENTS, T_CHILDREN, T_NOTES, T_MOUNTS, T_EXCL, T_META, T_N };
extern const char *const db_table_name[T_N];

struct db {
	/* read transactions hold it shared; enlarging and reopening hold it alone */
	pthread_rwlock_t gate;
	char *path; /* of the file */
	struct store_limits lim;
	MDB_env *env; /* NULL: could not be opened again */
	MDB_dbi t[T_N];
};

/* LMDB's error as an errno value. */
int db_errno(int rc);

static inline MDB_txn *
db_mdb(const struct db_txn *t)
{
	return t->txn;
}

#endif
