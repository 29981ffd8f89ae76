# SPDX-License-Identifier: BSD-2-Clause
# Writing on btrfs: rsync of every kind of file, under fire.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh
. "$LIVE/72-rsync.sh"

setup() {
	need rsync
	on_fs btrfs
	KILLS=2
	writable
}
