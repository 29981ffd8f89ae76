# SPDX-License-Identifier: BSD-2-Clause
# While a read of one file sleeps in a slow file system, the same client reads, lists and looks up others.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	[ -x "$BUILD/slowfs" ] || skip "$BUILD/slowfs is not built (make $BUILD/slowfs; libfuse3-dev)"
	[ -c /dev/fuse ] || skip "this kernel has no FUSE"
	mkdir "$EXP/slow" "$EXP/fast" "$RUN/$NAME/real"
	echo slow >"$RUN/$NAME/real/file"
	for f in {1..50}; do echo "fast $f" >"$EXP/fast/$f"; done
	"$BUILD/slowfs" --control "$RUN/$NAME/ctl" "$RUN/$NAME/real" "$EXP/slow" >"$RUN/$NAME/slowfs.log" 2>&1 </dev/null &
	undo kill $!
	wait_for 10 mountpoint -q "$EXP/slow" || { cat "$RUN/$NAME/slowfs.log"; return 1; }
	DIRS=("$EXP/slow" "$EXP/fast")
}
tell() { "$BUILD/slowfs" --tell "$RUN/$NAME/ctl" "$@" >"$RUN/$NAME/told"; }
read_waits() { tell stat && grep -q '^read .* waiting [1-9]' "$RUN/$NAME/told"; }

client() {
	local reader f text
	mnt "$EXP/slow" /mnt/slow
	mnt "$EXP/fast" /mnt/fast
	host tell hold read
	cat /mnt/slow/file >/mnt/out &
	reader=$!
	wait_for 20 host read_waits || fail "the read never reached the file system"
	for f in {1..50}; do
		read -r text </mnt/fast/"$f"
		same "file $f" "fast $f" "$text"
	done
	same "names" 50 "$(find /mnt/fast -type f | wc -l)"
	host read_waits || fail "the read did not wait any more"
	host tell release read
	wait "$reader"
	same "the slow file" slow "$(cat /mnt/out)"
}
