# SPDX-License-Identifier: BSD-2-Clause
# Two clients append to one file in turns (O_APPEND, close to open): no line is lost, torn or out of order.
# shellcheck shell=bash disable=SC2016,SC2034,SC2317 # read and called by run and lib.sh

setup() { writable; }
lines() { cat "$EXP/log"; }

client() {
	local n=25 i
	[ "$SIZE" = small ] || n=2000
	mnt -o nosharecache "$EXP" /mnt/a
	mnt -o nosharecache "$EXP" /mnt/b
	for ((i = 1; i <= n; i++)); do
		echo "a $i" >>/mnt/a/log
		printf 'b %s\n' $i{,,} >>/mnt/b/log
		refuses "Permission denied" as 1001 1001 '' bash -c 'echo user >>/mnt/a/log'
	done
	for ((i = 1; i <= n; i++)); do
		echo "a $i"
		printf 'b %s\n' $i{,,}
	done >/mnt/want
	host lines | cmp - /mnt/want
	cmp /mnt/a/log /mnt/want
	cmp /mnt/b/log /mnt/want
}
