/* SPDX-License-Identifier: BSD-2-Clause */
#include "programs.h"

const struct program *const call_programs[] = {&nfs3_program, &mount3_program, NULL};
