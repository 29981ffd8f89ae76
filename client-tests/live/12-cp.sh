# SPDX-License-Identifier: BSD-2-Clause
# A file of 102,400,000 bytes copies byte for byte at any rsize, also with direct I/O at odd offsets, and cp to /dev/null ends well.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() { head -c 102400000 /dev/urandom >"$EXP/file"; }
sum() { md5sum <"$EXP/file"; }

client() {
	local rsize want
	want=$(host sum)
	for rsize in 8192 65536 1048576; do
		mnt -o "rsize=$rsize"
		cp /mnt/n/file /dev/null
		umount /mnt/n
		mnt -o "rsize=$rsize"
		same "checksum at rsize $rsize" "$want" "$(md5sum </mnt/n/file)"
		umount /mnt/n
	done
	mnt
	cmp /mnt/n/file "$EXP/file"
	same "direct reads of 333,333 bytes" "$want" "$(dd if=/mnt/n/file iflag=direct bs=333333 status=none | md5sum)"
}
