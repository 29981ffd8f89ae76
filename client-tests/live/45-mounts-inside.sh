# SPDX-License-Identifier: BSD-2-Clause
# File systems mounted inside an export with crossmnt: entered as file systems of their own, at any depth, also one that
# is mounted later; one that is unmounted while the client idles is let go of at once, and stale.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	need mkfs.ext4 losetup
	OPTS=rw,no_root_squash,crossmnt
	DISK=$RUN/$NAME/disk.img
	mkdir "$EXP/m" "$EXP/later" "$EXP/plain"
	echo top >"$EXP/file"
	inside tmpfs "$EXP/m" || return
	mkdir "$EXP/m/deep"
	inside deeper "$EXP/m/deep" || return
	truncate -s 64M "$DISK"
	mkfs.ext4 -q "$DISK" >/dev/null 2>&1
}
inside() {
	mount -t tmpfs -o mode=755 tmpfs "$2" && undo umount "$2"
	echo "$1" >"$2/file"
}
served() { "$BUILD/splicectl" -s "$STATE" exports | grep -q "^$1 "; }
later() {
	mkdir "$EXP/later/new"
	mount -o loop "$DISK" "$EXP/later/new" || return
	undo umount -q "$EXP/later/new"
	echo new >"$EXP/later/new/file"
	wait_for 10 served "$EXP/later/new"
}
let_go() { [ -z "$(losetup -j "$DISK")" ]; }
no_more() {
	umount "$EXP/later/new" || { echo "busy"; return 1; }
	wait_for 10 let_go
}
explained() { "$BUILD/splicectl" -s "$STATE" explain "$GUEST" "$EXP/m/deep/file" | grep '^mount'; }

client() {
	mnt
	same "the names" "$(printf '%s\n' file later m plain)" "$(ls -1 /mnt/n)"
	same "inside" tmpfs "$(cat /mnt/n/m/file)"
	same "inside that" deeper "$(cat /mnt/n/m/deep/file)"
	[ "$(stat -c %d /mnt/n)" != "$(stat -c %d /mnt/n/m)" ] || fail "m is not a file system of its own"
	[ "$(stat -c %d /mnt/n/m)" != "$(stat -c %d /mnt/n/m/deep)" ] || fail "deep is not a file system of its own"
	same "the same as the rest" "$(stat -c %d /mnt/n)" "$(stat -c %d /mnt/n/plain)"
	same "back up" "$(stat -c %i /mnt/n)" "$(stat -c %i /mnt/n/m/..)"
	echo moved >/mnt/n/moves
	mv /mnt/n/moves /mnt/n/m/moved # over file systems: mv copies
	same "on the server" moved "$(host cat "$EXP/m/moved")"
	refuses "cross-device" ln /mnt/n/file /mnt/n/m/link
	mnt "$EXP/m/deep" /mnt/deep
	same "mounted by itself" deeper "$(cat /mnt/deep/file)"
	host explained | grep -q entered

	host later
	same "mounted later" new "$(cat /mnt/n/later/new/file)"
	exec 3</mnt/n/later/new/file
	host no_more
	forget
	refuses "Stale" dd of=/dev/null status=none <&3
	exec 3<&-
	refuses "No such file" cat /mnt/n/later/new/file # of the directory beneath
	same "the others live on" deeper "$(cat /mnt/n/m/deep/file)"
	host server_restart
	forget
	same "after a restart" deeper "$(cat /mnt/n/m/deep/file)"
}
