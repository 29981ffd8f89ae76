/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SCRATCH_H
#define SCRATCH_H
/* A directory of a test's own. Failures end the test. */

/* Makes /tmp/check-NAME-XXXXXX; dir has room for 64 bytes. */
void scratch_make(char *dir, const char *name);
/* Removes it with all that is in it. */
void scratch_drop(const char *dir);
/* A file of this text, instead of one that is there. */
void scratch_write(const char *path, const char *text);

#endif
