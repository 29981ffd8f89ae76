/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONF_INT_H
#define CONF_INT_H
/* What conf.c and confnfs.c share. */
#include "conf.h"

/* Sets what an option with an argument sets; false with the reason in why. */
bool conf_set(struct conf *, int letter, const char *arg, char *why, size_t size);
/* The port into every address. */
void conf_set_ports(struct conf *);
/* One line about a bad value; returns the exit status 2. */
int conf_complain(FILE *err, const char *what, const char *value, const char *why);

#endif
