# SPDX-License-Identifier: BSD-2-Clause
# dd writes the same bytes at any block size, buffered, direct, synchronous and over the middle of a file; several wsizes.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() { writable; }
sums() { cd "$EXP/$1" && md5sum -- *; }
dd_() { dd status=none "$@"; }

# writes into the export and into /mnt/own/ what it should have become
both() {
	local dir
	for dir in /mnt/own "$1"; do (
		cd "$dir" || exit
		dd_ if=/mnt/data of=whole bs=1M
		dd_ if=/mnt/data of=odd bs=333333
		dd_ if=/mnt/data of=tiny bs=77 count=500
		dd_ if=/mnt/data of=sync bs=100001 count=9 oflag=sync
		dd_ if=/mnt/data of=dsync bs=8191 count=30 oflag=dsync
		cp whole middle
		dd_ if=/mnt/data of=middle bs=4099 seek=37 skip=11 count=50 conv=notrunc
		dd_ if=/mnt/data of=end bs=5000 count=7 conv=fsync
		dd_ if=/mnt/data of=end bs=4097 count=7 oflag=append conv=notrunc
		flag=oflag=direct
		[ "$dir" != /mnt/own ] || flag= # tmpfs has none
		# shellcheck disable=SC2086 # nothing when empty
		{
			dd_ if=/mnt/data of=direct bs=128k $flag
			dd_ if=/mnt/data of=direct-odd bs=50001 $flag count=40
			dd_ if=/mnt/data of=direct bs=4096 seek=100 skip=3 count=100 conv=notrunc $flag
			dd_ if=/mnt/data of=direct bs=1 seek=5 count=3 conv=notrunc $flag
		}
		# buffered and direct in turn on one file
		dd_ if=/mnt/data of=mixed bs=64k count=20
		dd_ if=/mnt/data of=mixed bs=4096 seek=13 skip=99 count=3 conv=notrunc $flag
		dd_ if=/mnt/data of=mixed bs=999 seek=101 count=5 conv=notrunc
	); done
}

work() {
	local d
	mkdir -p /mnt/own
	[ -e /mnt/data ] || head -c 6000001 /dev/urandom >/mnt/data
	both "$1"
	(cd /mnt/own && md5sum -- *) >/mnt/want
	flush
	same "what the server has" "$(cat /mnt/want)" "$(host sums "$D")"
	forget
	same "what a client reads" "$(cat /mnt/want)" "$(cd "$1" && md5sum -- *)"
	[ "$KILLS" = 0 ] || return 0
	for d in 1024 4096 65536; do
		mnt -o "wsize=$d,nosharecache" "$EXP/$D" /mnt/other
		dd_ if=/mnt/data of=/mnt/other/whole bs=300007
		cp /mnt/own/middle /mnt/own/mixed /mnt/other/
		umount /mnt/other
		same "with wsize $d" "$(cat /mnt/want)" "$(host sums "$D")"
	done
}
