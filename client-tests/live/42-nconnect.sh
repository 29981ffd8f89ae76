# SPDX-License-Identifier: BSD-2-Clause
# nconnect=4: one mount over four connections reads the right bytes on all of them.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() { head -c 30000000 /dev/urandom >"$EXP/file"; }
sum() { md5sum <"$EXP/file"; }

client() {
	mnt -o nconnect=4,rsize=65536
	same "the checksum" "$(host sum)" "$(md5sum </mnt/n/file)"
	same "connections" 4 "$(host connections)"
	umount /mnt/n
	none() { [ "$(host connections)" = 0 ]; }
	wait_for 10 none || fail "the server still has $(host connections) connections after umount"
}
