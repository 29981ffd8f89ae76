# SPDX-License-Identifier: BSD-2-Clause
# Files written through shared mappings, mixed with write(), cuts and msync, hold the right bytes on the server.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() { writable; }
sum() { md5sum <"$EXP/$1"; }

work() {
	local seed
	for seed in 1 2 3 4; do
		mapper /mnt/own $((seed * 400000 + 123)) $seed
		as 1001 1001 '' mapper "$1/file" $((seed * 400000 + 123)) $seed
		same "seed $seed on the server" "$(md5sum </mnt/own)" "$(host sum "$D/file")"
		forget
		cmp /mnt/own "$1/file"
	done
}
