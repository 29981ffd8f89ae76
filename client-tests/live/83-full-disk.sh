# SPDX-License-Identifier: BSD-2-Clause
# A full disk: ENOSPC reaches the program at write, fsync or close, what was there stays whole, and after a removal all works again.
# shellcheck shell=bash disable=SC2016,SC2034,SC2317 # read and called by run and lib.sh

setup() {
	DISK=24M on_fs ext4 -m 0 -O ^has_journal
	writable
	yes kept | head -c 3000000 >"$EXP/kept"
}
kept() { md5sum <"$EXP/kept"; }
check_fs() { sync -f "$EXP" && df --output=pcent "$EXP" | tail -n 1; }
finish() {
	server_stop && umount "$EXP" && e2fsck -fn "$RUN/$NAME/disk" && mount -o loop "$RUN/$NAME/disk" "$EXP"
}

client() {
	local full="No space left on device" want i
	want=$(host kept)
	mnt
	head -c 30000000 /dev/zero >/mnt/fat
	refuses "$full" dd if=/dev/zero of=/mnt/n/big bs=64k
	same "what was there" "$want" "$(md5sum </mnt/n/kept)"
	refuses "$full" dd if=/dev/urandom of=/mnt/n/direct bs=64k count=300 oflag=direct
	refuses "$full" dd if=/dev/urandom of=/mnt/n/sync bs=64k count=300 oflag=sync
	refuses "$full" dd if=/dev/urandom of=/mnt/n/fsynced bs=64k count=300 conv=fsync
	refuses "$full" cp /mnt/fat /mnt/n/copy
	host check_fs
	# appending to what is there: its old content survives
	refuses "$full" dd if=/dev/zero of=/mnt/n/kept bs=64k count=400 oflag=append conv=notrunc
	same "its beginning" "$want" "$(head -c 3000000 /mnt/n/kept | md5sum)"
	same "and on the server" "$want" "$(host head -c 3000000 "$EXP/kept" | md5sum)"
	sync /mnt/n/kept || true # the client tells an error of write-back at every close until somebody syncs
	truncate -s 3000000 /mnt/n/kept
	# very many names use up the inodes or the blocks
	refuses "$full" perl -e 'mkdir "/mnt/n/many" or die "$!"; for (1 .. 9999) {
		open F, ">", "/mnt/n/many/" . "x" x 200 . $_ or die "$!"; print F "x" x 4000; close F or die "$!" }'
	rm -rf /mnt/n/many /mnt/n/big /mnt/n/direct /mnt/n/sync /mnt/n/fsynced /mnt/n/copy
	for i in 1 2 3; do
		head -c 2000000 /dev/urandom >/mnt/file
		cp /mnt/file /mnt/n/again
		same "after recovery" "$(md5sum </mnt/file)" "$(host md5sum "$EXP/again" | sed 's| .*|  -|')"
	done
	same "what was there" "$want" "$(host kept)"
}
