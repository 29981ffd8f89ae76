# SPDX-License-Identifier: BSD-2-Clause
# Three writers change directories and append records while the server is killed again and again: all that was acknowledged is there.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	writable
	KILLS=5
	[ "$SIZE" = small ] || KILLS=200 LIMIT=2400
	mkdir "$EXP"/s{1..3} && chown 1001:1001 "$EXP/s3" # the third is no root
}
check() { scribe check "$EXP/s$1" "$WORK/journal.$1" "$1"; }

write_until() {
	local i pids=()
	scribe write /mnt/n/s1 /mnt/j/1 1 & pids+=($!)
	scribe write /mnt/n/s2 /mnt/j/2 2 & pids+=($!)
	setpriv --reuid 1001 --regid 1001 --clear-groups scribe write /mnt/n/s3 /mnt/j/3 3 & pids+=($!)
	ended() { [ -e /mnt/ceasefire ] || ! still_works "${pids[0]}" || ! still_works "${pids[1]}" || ! still_works "${pids[2]}"; }
	wait_for 9999 ended
	kill -TERM "${pids[@]}"
	for i in "${pids[@]}"; do wait "$i"; done
}

check_all() {
	local i
	flush
	forget
	for i in 1 2 3; do
		cp /mnt/j/$i "$WORK/journal.$i"
		host check $i || fail "writer $i: not what was acknowledged"
		scribe check /mnt/n/s$i /mnt/j/$i $i
	done
}

client() {
	mnt
	mkdir -m 777 /mnt/j
	under_fire write_until
	check_all
}
