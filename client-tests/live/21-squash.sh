# SPDX-License-Identifier: BSD-2-Clause
# no_root_squash lets root read everything; all_squash makes everybody nobody.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	OPTS=ro,no_root_squash
	echo secret >"$EXP/secret"
	echo own >"$EXP/own"
	chmod 600 "$EXP/secret" "$EXP/own"
	chown 1001:1001 "$EXP/own"
}
squash_all() { OPTS=ro,all_squash && server_restart; }

client() {
	mnt
	same "root reads 0600" secret "$(cat /mnt/n/secret)"
	same "the owner too" own "$(as 1001 1001 '' cat /mnt/n/own)"
	umount /mnt/n
	host squash_all
	mnt
	refuses "Permission denied" cat /mnt/n/secret
	refuses "Permission denied" as 1001 1001 '' cat /mnt/n/own
}
