# SPDX-License-Identifier: BSD-2-Clause
# rsync -aHAX copies every kind of file, name, link, owner, mode and time to the server; a second run finds nothing to do.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	need rsync
	writable
}

# without --modify-window rsync takes times within one second for equal and does not set them
copy() { rsync -aHAX --numeric-ids --modify-window=-1 "$@"; }

work() {
	[ -e /mnt/src ] || tree_make /mnt/src
	copy /mnt/src/ "$1/copy/"
	flush
	copied /mnt/src "$EXP/$D/copy"
	same "device numbers" "$(tree_devices /mnt/src)" "$(host tree_devices "$EXP/$D/copy")"
	same "what is left to do" "" "$(copy --itemize-changes --checksum /mnt/src/ "$1/copy/")"
	# changes in place, and files that go
	cp -a /mnt/src /mnt/next
	printf x | dd of=/mnt/next/sizes/1048577 bs=1 seek=777777 conv=notrunc status=none
	rm -r "/mnt/next/names/sub dir" /mnt/next/sizes/4096
	copy --delete --inplace --no-whole-file /mnt/next/ "$1/copy/"
	flush
	copied /mnt/next "$EXP/$D/copy"
	rm -r /mnt/next
}
