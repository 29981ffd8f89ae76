/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERSION_H
#define VERSION_H

#define SPLICED_VERSION "0.1"

#endif
