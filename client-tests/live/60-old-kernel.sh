# SPDX-License-Identifier: BSD-2-Clause
# With every newer system call forced off (SPLICED_WITHOUT=all) the server does the same, only slower.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	OPTS=ro,no_root_squash
	SERVER_ENV=SPLICED_WITHOUT=all
	tree_make "$EXP"
}

client() {
	mnt
	tree_same /mnt/n
	host server_restart
	forget
	tree_same /mnt/n
}
