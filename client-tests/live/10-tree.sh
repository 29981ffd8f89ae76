# SPDX-License-Identifier: BSD-2-Clause
# A tree with every kind of name, size and file looks the same to the client as on the server.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	OPTS=ro,no_root_squash
	tree_make "$EXP"
}

client() {
	mnt
	tree_same /mnt/n
	same "device numbers" "$(host tree_devices "$EXP")" "$(tree_devices /mnt/n)"
	same "two names of one file" "$(stat -c %i /mnt/n/links/a)" "$(stat -c %i /mnt/n/names/c)"
	same "blocks of a hole" 0 "$(stat -c %b /mnt/n/kinds/hole)"
	ls -lR /mnt/n >/mnt/listing
	grep -q 'dangling -> nowhere' /mnt/listing
	umount /mnt/n
}
