# SPDX-License-Identifier: BSD-2-Clause
# Power fails again and again: server dead, and all that its disk had not been told to flush is lost. What was acknowledged is there.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh
. "$LIVE/90-crash.sh"

setup() {
	[ -x "$BUILD/slowfs" ] || skip "$BUILD/slowfs is not built (make $BUILD/slowfs; libfuse3-dev)"
	[ -c /dev/fuse ] || skip "this kernel has no FUSE"
	need mkfs.ext4 losetup
	CTL=$RUN/$NAME/ctl SLOW=$RUN/$NAME/slow
	mkdir "$SLOW"
	truncate -s 256M "$RUN/$NAME/image"
	mkfs.ext4 -q "$RUN/$NAME/image"
	"$BUILD/slowfs" --control "$CTL" "$RUN/$NAME/image" "$SLOW" >"$RUN/$NAME/slowfs.log" 2>&1 </dev/null &
	undo kill $!
	wait_for 10 mountpoint -q "$SLOW" || { cat "$RUN/$NAME/slowfs.log"; return 1; }
	disk_on || skip "this kernel cannot mount ext4 through a loop device over FUSE"
	undo disk_off
	writable
	KILLS=3
	[ "$SIZE" = small ] || KILLS=60 LIMIT=2400
	mkdir "$EXP"/s{1..3} && chown 1001:1001 "$EXP/s3" && sync -f "$EXP"
}
tell() { "$BUILD/slowfs" --tell "$CTL" "$@"; }
disk_on() {
	LOOP=$(losetup -f --show --direct-io=on "$SLOW/disk") || return
	mount "$LOOP" "$EXP" || { losetup -d "$LOOP"; return 1; }
}
disk_off() { wait_for 10 umount "$EXP" && losetup -d "$LOOP"; }
strike() {
	server_kill && tell cut && disk_off && tell power && disk_on && server_start
}
finish() {
	server_stop && disk_off && e2fsck -fn "$RUN/$NAME/image" && disk_on
}
sum() { md5sum <"$EXP/unstable"; }

client() {
	local i
	mnt
	# WRITEs go out soon and unstable; the server forgets them before they are committed
	echo 4096 >/proc/sys/vm/dirty_background_bytes
	echo 5 >/proc/sys/vm/dirty_writeback_centisecs
	echo 5 >/proc/sys/vm/dirty_expire_centisecs
	head -c 12000000 /dev/urandom >/mnt/data
	exec 3>/mnt/n/unstable
	head -c 7000000 /mnt/data >&3
	arrived() { [ "$(host stat -c %s "$EXP/unstable")" -gt 3000000 ]; }
	wait_for 20 arrived || fail "no unstable WRITE was sent"
	host strike
	tail -c +7000001 /mnt/data >&3
	exec 3>&-
	host strike
	same "what was written before the power failed" "$(md5sum </mnt/data)" "$(host sum)"
	mkdir -m 777 /mnt/j
	under_fire write_until
	check_all
}
