# SPDX-License-Identifier: BSD-2-Clause
# The same tree with the smallest READs and READDIRs that Linux sends (rsize 1024), and with 8192.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	OPTS=ro,no_root_squash
	tree_make "$EXP"
}

client() {
	local rsize
	for rsize in 1024 8192; do
		mnt -o "rsize=$rsize"
		grep -q " /mnt/n nfs .*rsize=$rsize," /proc/mounts || fail "the mount did not take rsize=$rsize"
		tree_same /mnt/n
		umount /mnt/n
	done
}
