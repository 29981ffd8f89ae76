# SPDX-License-Identifier: BSD-2-Clause
# The whole tree on a FUSE file system, cached and with direct I/O (which refuses splice), across a server restart.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	OPTS=ro,no_root_squash
	[ -x "$BUILD/slowfs" ] || skip "$BUILD/slowfs is not built (make $BUILD/slowfs; libfuse3-dev)"
	[ -c /dev/fuse ] || skip "this kernel has no FUSE"
	mkdir "$RUN/$NAME/real"
	tree_make "$RUN/$NAME/real"
	fuse
}
fuse() {
	"$BUILD/slowfs" "$@" "$RUN/$NAME/real" "$EXP" >>"$RUN/$NAME/slowfs.log" 2>&1 </dev/null &
	FUSE_PID=$!
	undo kill "$FUSE_PID"
	wait_for 10 mountpoint -q "$EXP" || { cat "$RUN/$NAME/slowfs.log"; return 1; }
}
fuse_direct() {
	server_stop || return
	kill "$FUSE_PID"
	wait "$FUSE_PID"
	fuse --direct-io && server_start
}

client() {
	mnt
	tree_same /mnt/n
	host server_restart
	forget
	tree_same /mnt/n
	umount /mnt/n
	host fuse_direct
	mnt
	tree_same /mnt/n
}
