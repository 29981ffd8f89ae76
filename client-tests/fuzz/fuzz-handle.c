/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles. No bytes but those that handle_seal writes are a handle: what parses seals to the same
 * bytes (the fuzzer sees the check value being compared and can put it into an input), a sealed
 * handle parses to what was sealed, and with any bits of it changed, or any other length, it is
 * refused.
 */
#include "handle.h"

#include <errno.h>

#include "fuzz.h"

static const struct handle_key key = {
    .now = "now: 16 bytes..", .old = "old: 16 bytes..", .has_old = false};

/* A handle as the input describes it. */
static struct handle
describe(struct input *in)
{
	struct handle h = {0};

	h.kind = input_byte(in) & 1 ? HANDLE_KERNEL : HANDLE_SERIAL;
	h.ktype = h.kind == HANDLE_KERNEL ? input_byte(in) : 0;
	h.ilen = h.kind == HANDLE_KERNEL ? (uint8_t)(input_byte(in) % (HANDLE_IDENT_MAX + 1)) : 8;
	h.export_id = input_word(in);
	h.fs_id = input_word(in);
	for (unsigned i = 0; i < h.ilen; i++)
		h.ident[i] = input_byte(in);
	return h;
}

/* Changes bits, or the length. */
static void
spoil(nfs_fh3 *fh, struct input *in)
{
	unsigned n = 1 + input_byte(in) % 4;

	if (input_byte(in) % 8 == 0)
		fh->len = input_byte(in) % (WIRE_FH_MAX + 1);
	while (n-- > 0) {
		unsigned bit = input_byte(in);

		fh->data[bit / 8 % (fh->len ? fh->len : 1)] ^= (unsigned char)(1 << bit % 8);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct input in = {data, n};
	struct handle h, back;
	nfs_fh3 fh = {.len = n < WIRE_FH_MAX ? (u_int)n : WIRE_FH_MAX}, whole;

	if (n)
		memcpy(fh.data, data, fh.len);
	if (handle_parse(&key, &fh, &back) == 0 && back.ilen % 4 == 0) {
		handle_seal(&key, &back, &whole);
		MUST(whole.len == fh.len && memcmp(whole.data, fh.data, fh.len) == 0);
	}

	h = describe(&in);
	handle_seal(&key, &h, &fh);
	MUST(fh.len <= 56 && fh.len % 4 == 0);
	MUST(handle_parse(&key, &fh, &back) == 0);
	MUST(back.kind == h.kind && back.ktype == h.ktype && back.ilen == h.ilen &&
	     back.export_id == h.export_id && back.fs_id == h.fs_id &&
	     memcmp(back.ident, h.ident, h.ilen) == 0);
	whole = fh;
	spoil(&fh, &in);
	if (fh.len != whole.len || memcmp(fh.data, whole.data, whole.len) != 0)
		MUST(handle_parse(&key, &fh, &back) == EBADF);
	return 0;
}

static void
first_inputs(void)
{
	seed("\1\1\10aaaabbbb12345678\1\7\3", 21);
	seed("\0aaaabbbb12345678\0\0\3\44", 21);
	seed("\1\2\44aaaabbbb123456789012345678901234567890123456\2\1\1\2\3", 52);
}

FUZZ_SEEDS(first_inputs)
