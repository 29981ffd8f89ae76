/* SPDX-License-Identifier: BSD-2-Clause */
#include "idmap.h"
#include "log.h"
#include <stdint.h>
#include <string.h>

#define IDS UINT64_C(4294967295) /* -1 is nobody's */

bool
idmap_is_whole(FILE *map, char *text, size_t size)
{
	unsigned long inside, outside, count;
	uint64_t sum = 0;
	size_t at = 0;

	*text = '\0';
	while (fscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3) {
		const char *comma = sum ? ", " : "";
		int n = count == 1 ? snprintf(text + at, size - at, "%s%lu", comma, inside)
				   : snprintf(text + at, size - at, "%s%lu-%lu", comma, inside,
					      inside + count - 1);

		sum += count;
		at += n < 0 ? 0 : (size_t)n < size - at ? (size_t)n : size - at - 1;
	}
	return sum == 0 || sum >= IDS;
}

static void
warn(const char *path, const char *what)
{
	char text[200];
	FILE *f = fopen(path, "re");

	if (!f)
		return;
	if (!idmap_is_whole(f, text, sizeof text))
		log_warn("of all %ss only %s exist in this user namespace: calls of others are "
			 "refused, and their files seem to be nobody's; give the namespace "
			 "(container) more ids, or use all_squash with anonuid and anongid of "
			 "these",
			 what, text);
	fclose(f);
}

void
idmap_warn(void)
{
	warn("/proc/self/uid_map", "user");
	warn("/proc/self/gid_map", "group");
}
