/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROGRAMS_H
#define PROGRAMS_H
/* The programs of this server: NFS 3 (RFC 1813 section 3), MOUNT 1 to 3 (RFC 1813 section 5, RFC
 * 1094 appendix A). */
#include "call.h"

extern const struct program nfs3_program, mount3_program;

#endif
