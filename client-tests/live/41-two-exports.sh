# SPDX-License-Identifier: BSD-2-Clause
# Two exports of one server, mounted and read at the same time, do not mix.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	mkdir "$EXP/one" "$EXP/two"
	DIRS=("$EXP/one" "$EXP/two")
	head -c 5000000 /dev/urandom >"$EXP/one/file"
	head -c 5000000 /dev/urandom >"$EXP/two/file"
}

client() {
	local p1 p2
	mnt "$EXP/one" /mnt/one
	mnt "$EXP/two" /mnt/two
	cmp /mnt/one/file "$EXP/one/file" &
	p1=$!
	cmp /mnt/two/file "$EXP/two/file" &
	p2=$!
	wait $p1
	wait $p2
	! cmp -s /mnt/one/file /mnt/two/file
	umount /mnt/one
	same "the other lives on" "$(md5sum <"$EXP/two/file")" "$(md5sum </mnt/two/file)"
}
