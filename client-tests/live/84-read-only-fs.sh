# SPDX-License-Identifier: BSD-2-Clause
# A file system that turns read-only under a writable export: EROFS for every change, reads go on; writable again when it is.
# shellcheck shell=bash disable=SC2016,SC2034,SC2317 # read and called by run and lib.sh

setup() {
	on_fs ext4
	writable
	echo one >"$EXP/file"
}
# a file that the server has open for writing is in the way
turn_read_only() { "$BUILD/splicectl" -s "$STATE" settle && mount -o remount,ro "$EXP"; }

client() {
	local ro="Read-only file system"
	mnt -o actimeo=0
	echo two >>/mnt/n/file
	host turn_read_only
	refuses "$ro" touch /mnt/n/new
	refuses "$ro" mkdir /mnt/n/dir
	refuses "$ro" mv /mnt/n/file /mnt/n/moved
	refuses "$ro" rm -f /mnt/n/file
	refuses "$ro" chmod 600 /mnt/n/file
	refuses "$ro" ln /mnt/n/file /mnt/n/link
	refuses "" dd if=/dev/zero of=/mnt/n/file bs=1 count=3 oflag=append conv=notrunc
	forget
	same "the content" $'one\ntwo' "$(cat /mnt/n/file)"
	host mount -o remount,rw "$EXP"
	forget # what the client remembers of ACCESS
	echo three >>/mnt/n/file
	mv /mnt/n/file /mnt/n/moved
	same "on the server" $'one\ntwo\nthree' "$(host cat "$EXP/moved")"
}
