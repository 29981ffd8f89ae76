/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FAULT_TOOLS_H
#define FAULT_TOOLS_H
/* Programs beside the test program. */

/* The path of a program in the directory of the test program; static memory, one for each call up
 * to four. */
const char *tool_path(const char *name);

#endif
