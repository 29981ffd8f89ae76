# SPDX-License-Identifier: BSD-2-Clause
# Directories above an open file are renamed on the server: reads through the open file go on, and so do those by the new name.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	mkdir -p "$EXP/a/b/c" "$EXP/else"
	head -c 8000000 /dev/urandom >"$EXP/a/b/c/file"
}
sum() { md5sum <"$1"; }

client() {
	local want
	mnt -o actimeo=0
	want=$(host sum "$EXP/a/b/c/file")
	exec 3</mnt/n/a/b/c/file
	head -c 100000 <&3 >/mnt/copy
	host mv "$EXP/a/b" "$EXP/else/moved"
	host mv "$EXP/a" "$EXP/z"
	forget
	cat <&3 >>/mnt/copy
	same "read to the end" "$want" "$(md5sum </mnt/copy)"
	same "by the new name" "$want" "$(md5sum </mnt/n/else/moved/c/file)"
	refuses "No such file" cat /mnt/n/a/b/c/file
	# and once more with a server that has forgotten what it knew in memory
	host mv "$EXP/else" "$EXP/again"
	host server_restart
	forget
	same "after a restart" "$want" "$(dd if=/dev/fd/3 iflag=direct bs=1M status=none | md5sum)"
}
