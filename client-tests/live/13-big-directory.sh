# SPDX-License-Identifier: BSD-2-Clause
# A directory with very many entries lists every name exactly once, with and without attributes.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	local n=20000
	[ "$SIZE" = small ] || n=100000
	mkdir "$EXP/big"
	(cd "$EXP/big" && seq -f 'entry-number-%06g' $n | xargs touch)
}
names() { find "$EXP/big" -mindepth 1 -printf '%f\n' | LC_ALL=C sort | md5sum; }
count() { find "$EXP/big" -mindepth 1 | wc -l; }

client() {
	local want
	want=$(host names)
	mnt -o nordirplus
	# shellcheck disable=SC2012 # what ls shows is the point
	same "names by READDIR" "$want" "$(ls -U /mnt/n/big | LC_ALL=C sort | md5sum)"
	umount /mnt/n
	mnt
	find /mnt/n/big -mindepth 1 -type f -size 0 -printf '%f\n' | LC_ALL=C sort >/mnt/names
	same "names by READDIRPLUS" "$want" "$(md5sum </mnt/names)"
	same "entries" "$(host count)" "$(wc -l </mnt/names)"
	same "a name in the middle" 0 "$(stat -c %s /mnt/n/big/entry-number-010000)"
}
