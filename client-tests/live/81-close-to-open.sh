# SPDX-License-Identifier: BSD-2-Clause
# Close-to-open: what one client has written and closed, another sees when it opens; both directions, any size, also names.
# shellcheck shell=bash disable=SC2016,SC2034,SC2317 # read and called by run and lib.sh

setup() { writable; }
sum() { md5sum <"$EXP/file"; }

client() {
	local n=20 i from to want
	[ "$SIZE" = small ] || n=1000
	mnt -o nosharecache "$EXP" /mnt/a
	mnt -o nosharecache,lookupcache=positive "$EXP" /mnt/b
	for ((i = 1; i <= n; i++)); do
		from=/mnt/a to=/mnt/b
		[ $((i % 2)) = 0 ] || from=/mnt/b to=/mnt/a
		case $((i % 4)) in
		0) head -c $((RANDOM * 3)) /dev/urandom >$from/file ;; # cut and written anew
		1) head -c $((RANDOM % 5000)) /dev/urandom >>$from/file ;;
		2) printf %05d $i | dd of=$from/file bs=5 seek=$((RANDOM % 300)) conv=notrunc status=none ;; # may keep its size
		3) truncate -s $((RANDOM % 9000)) $from/file ;;
		esac
		want=$(md5sum <$from/file)
		same "round $i" "$want" "$(md5sum <$to/file)"
		same "round $i on the server" "$want" "$(host sum)"
		echo $i >$from/"name $i"
		same "a new name" $i "$(cat $to/"name $i")"
		rm $to/"name $i"
	done
}
