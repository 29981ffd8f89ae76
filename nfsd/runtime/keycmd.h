/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef KEYCMD_H
#define KEYCMD_H
/* What splicectl does with the handle key when no server runs. */
#include <stdio.h>

/*
 * key export            writes the handle key of the state directory as text
 * key import TEXT       makes such text the key from the server's next start on; the former key is
 * kept for handles given out before 0, or EINVAL (or an errno) with the reason in out.
 */
int key_command(const char *statedir, int argc, char **argv, FILE *out);

#endif
