# SPDX-License-Identifier: BSD-2-Clause
# Writing on overlayfs (handles issued by the server, copy-up): rsync of every kind of file, under fire.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh
. "$LIVE/72-rsync.sh"

setup() {
	local d=$RUN/$NAME/layers
	need rsync
	mkdir "$d" && mount -t tmpfs -o mode=755 tmpfs "$d" && undo umount "$d"
	mkdir "$d/lower" "$d/upper" "$d/work"
	mount -t overlay -o "lowerdir=$d/lower,upperdir=$d/upper,workdir=$d/work" overlay "$EXP" ||
		skip "this kernel has no overlayfs"
	undo umount "$EXP"
	KILLS=2
	writable
}
