# SPDX-License-Identifier: BSD-2-Clause
# A server killed with -9 in the middle of a copy and started again: the copy ends without an error and is identical.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() { head -c 64000000 /dev/urandom >"$EXP/file"; }
sum() { md5sum <"$EXP/file"; }
dead() { [ -z "$SERVER_PID" ] && ! server_answers; }

client() {
	mnt -o rsize=65536
	exec 3</mnt/n/file
	head -c 20000000 <&3 >/mnt/copy
	host server_kill
	host dead
	forget
	cat <&3 >>/mnt/copy &
	local reader=$!
	host server_start
	wait "$reader"
	same "what has been copied" "$(host sum)" "$(md5sum </mnt/copy)"
	stat /mnt/n/file >/mnt/stat
	exec 3<&-
	umount /mnt/n
}
