# SPDX-License-Identifier: BSD-2-Clause
# Writing on a FUSE file system, whose inode numbers are dealt again: git, under fire.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh
. "$LIVE/70-git.sh"

setup() {
	need git
	[ -x "$BUILD/slowfs" ] || skip "$BUILD/slowfs is not built (make $BUILD/slowfs; libfuse3-dev)"
	[ -c /dev/fuse ] || skip "this kernel has no FUSE"
	mkdir "$RUN/$NAME/real"
	"$BUILD/slowfs" "$RUN/$NAME/real" "$EXP" >"$RUN/$NAME/slowfs.log" 2>&1 </dev/null &
	undo kill $!
	wait_for 10 mountpoint -q "$EXP" || { cat "$RUN/$NAME/slowfs.log"; return 1; }
	KILLS=2
	writable
}
