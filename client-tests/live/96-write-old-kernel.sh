# SPDX-License-Identifier: BSD-2-Clause
# Writing with every newer system call forced off (SPLICED_WITHOUT=all): rsync of every kind of file, under fire.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh
. "$LIVE/72-rsync.sh"

setup() {
	need rsync
	SERVER_ENV=SPLICED_WITHOUT=all
	KILLS=2
	writable
}
