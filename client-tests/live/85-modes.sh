# SPDX-License-Identifier: BSD-2-Clause
# Modes: the owner writes what it just made 0444 or chmodded 0, others do not; umask, setgid directories, setuid bits that a write clears.
# shellcheck shell=bash disable=SC2016,SC2034,SC2317 # read and called by run and lib.sh

setup() {
	writable
	mkdir -m 2777 "$EXP/setgid" && chgrp 2005 "$EXP/setgid"
}
mode() { stat -c '%a %u %g' "$EXP/$1"; }

client() {
	local m
	mnt -o actimeo=0
	cd /mnt/n || return
	as 1001 1001 '' perl -MFcntl -e '
		for my $mode (0444, 0400, 0) {
			sysopen my $f, "ro-$mode", O_RDWR | O_CREAT | O_EXCL, $mode or die "create: $!";
			syswrite $f, "written\n" or die "write: $!"; close $f or die "close: $!" }
		sysopen my $f, "later", O_RDWR | O_CREAT, 0644 or die "create: $!";
		syswrite $f, "one\n"; chmod 0, "later" or die "chmod: $!";
		syswrite $f, "two\n" or die "write after chmod 0: $!"; close $f or die "close: $!"'
	same "a file made 0444" written "$(host cat "$EXP/ro-292")"
	same "its mode" "444 1001 1001" "$(host mode ro-292)"
	same "a file made 0" written "$(host cat "$EXP/ro-0")"
	same "chmod 0 in between" $'one\ntwo' "$(host cat "$EXP/later")"
	refuses "Permission denied" as 1001 1001 '' bash -c 'echo x >ro-292'
	refuses "Permission denied" as 1002 1001 1001 bash -c 'echo x >ro-292'
	refuses "Permission denied" as 1002 1001 1001 cat later
	for m in 000 022 027 077; do
		as 1001 1001 '' bash -c "umask $m && echo >file-$m && mkdir dir-$m && mkfifo fifo-$m"
		same "umask $m" "$(printf '%o 1001 1001' $((0666 & ~0$m)))" "$(host mode "file-$m")"
		same "umask $m, directory" "$(printf '%o 1001 1001' $((0777 & ~0$m)))" "$(host mode "dir-$m")"
		same "umask $m, fifo" "$(printf '%o 1001 1001' $((0666 & ~0$m)))" "$(host mode "fifo-$m")"
	done
	as 1001 1001 '' bash -c 'umask 022; echo >setgid/file; mkdir setgid/dir'
	same "group of a setgid directory" "644 1001 2005" "$(host mode setgid/file)"
	same "directory in it" "2755 1001 2005" "$(host mode setgid/dir)"

	# a write, a cut and a new owner take setuid and setgid away
	fresh() { rm -f bits && echo bits >bits && chown 1001:1001 bits && chmod "$1" bits; }
	fresh 6777
	as 1002 1002 '' bash -c 'echo >>bits'
	same "after a write by another" "777 1001 1001" "$(host mode bits)"
	fresh 6755
	as 1001 1001 '' bash -c 'echo >>bits'
	same "after a write by the owner" "755 1001 1001" "$(host mode bits)"
	fresh 6755
	as 1001 1001 '' truncate -s 1 bits
	same "after truncate" "755 1001 1001" "$(host mode bits)"
	fresh 6755
	as 1001 1001 2007 chgrp 2007 bits
	same "after chgrp" "755 1001 2007" "$(host mode bits)"
	fresh 2644
	as 1001 1001 '' bash -c 'echo >>bits'
	same "setgid without x is no privilege" "2644 1001 1001" "$(host mode bits)"
	fresh 644
	as 1001 1001 '' chmod 6711 bits
	same "the owner may set them" "6711 1001 1001" "$(host mode bits)"
	refuses "not permitted" as 1002 1002 '' chmod 777 bits
	refuses "not permitted" as 1001 1001 '' chown 1002 bits
	refuses "not permitted" as 1001 1001 '' chgrp 2099 bits
}
