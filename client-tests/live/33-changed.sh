# SPDX-License-Identifier: BSD-2-Clause
# What is written on the server is seen by a client that opens the file afterwards: grown, cut and rewritten in place.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() { echo one >"$EXP/file"; }
change() { printf '%s' "$1" >"$EXP/file"; }

client() {
	local text
	mnt -o actimeo=1
	same "at first" one "$(cat /mnt/n/file)"
	for text in "a longer text" x "" $'\ntwo lines'; do
		host change "$text"
		sees() { [ "$(cat /mnt/n/file)" = "$text" ]; }
		wait_for 10 sees || fail "still not '$text' but '$(cat /mnt/n/file)'"
	done
}
