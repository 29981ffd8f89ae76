# SPDX-License-Identifier: BSD-2-Clause
# A read-only export refuses every change with EROFS, also when the client has mounted it read-write; nothing changes.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	OPTS=ro,no_root_squash
	echo one >"$EXP/file"
	mkdir "$EXP/dir"
}
listing() { find "$EXP" -printf '%P %m %s %T@ %l\n' | sort; }

client() {
	local ro="Read-only file system" before
	before=$(host listing)
	mnt -o rw
	refuses "$ro" touch /mnt/n/new
	refuses "$ro" mkdir /mnt/n/newdir
	refuses "$ro" ln -s x /mnt/n/symlink
	refuses "$ro" ln /mnt/n/file /mnt/n/link
	refuses "$ro" mknod /mnt/n/fifo p
	refuses "$ro" mv /mnt/n/file /mnt/n/moved
	refuses "$ro" rm -f /mnt/n/file
	refuses "$ro" rmdir /mnt/n/dir
	refuses "$ro" chmod 600 /mnt/n/file
	refuses "$ro" chown 5 /mnt/n/file
	refuses "" truncate -s 0 /mnt/n/file # the client asks by ACCESS before it opens: EACCES
	refuses "$ro" touch -c -d 2001-01-01 /mnt/n/file
	same "the content" one "$(cat /mnt/n/file)"
	same "the export" "$before" "$(host listing)"
}
