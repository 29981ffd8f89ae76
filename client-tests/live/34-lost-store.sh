# SPDX-License-Identifier: BSD-2-Clause
# The database of a stopped server is lost, its key is not: handles that a client holds on ext4 go on to work.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	on_fs ext4
	mkdir -p "$EXP/a/b"
	head -c 3000000 /dev/urandom >"$EXP/a/b/file"
}
sum() { md5sum <"$EXP/a/b/file"; }
lose_store() {
	server_stop || return
	[ -e "$STATE/store.lmdb" ] || { echo "no database in $STATE"; return 1; }
	rm -r "$STATE"/store.lmdb*
	server_start
}

client() {
	mnt
	exec 3</mnt/n/a/b/file
	cd /mnt/n/a || return
	host lose_store
	forget
	same "the open file" "$(host sum)" "$(md5sum <&3)"
	same "the working directory" b "$(ls)"
}
