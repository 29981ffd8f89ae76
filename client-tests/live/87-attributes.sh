# SPDX-License-Identifier: BSD-2-Clause
# chmod, chown, utimens and truncate: the server has what was asked for; times set by the client and by the server; sparse files.
# shellcheck shell=bash disable=SC2016,SC2034,SC2317 # read and called by run and lib.sh

setup() { writable; }
see() { stat -c "$2" "$EXP/$1"; }

client() {
	local m before
	mnt -o actimeo=0
	cd /mnt/n || return
	seq 1 1000 >file
	for m in 0 1 644 755 7777 4711 1000; do
		chmod $m file
		same "chmod $m" $m "$(host see file %a)"
	done
	chown 12345:54321 file
	same chown "12345 54321" "$(host see file '%u %g')"
	chown 4294967294:0 file
	same "a large id" "4294967294 0" "$(host see file '%u %g')"
	chgrp 7 file
	chmod 644 file
	same chgrp "4294967294 7" "$(host see file '%u %g')"
	touch -d '2001-02-03 04:05:06.123456789 UTC' file
	same utimens "2001-02-03 04:05:06.123456789 +0000 2001-02-03 04:05:06.123456789 +0000" "$(TZ=UTC host env TZ=UTC stat -c '%x %y' "$EXP/file")"
	touch -a -d '2030-01-01 UTC' file
	same "access time only" "2030 2001" "$(host stat -c '%x %y' "$EXP/file" | sed 's/\(....\).*\(2001\).*/\1 \2/')"
	touch -m -d '1970-01-01 00:00:00 UTC' file
	same "the epoch" 0 "$(host see file %Y)"
	before=$(host date +%s)
	touch file
	[ "$(host see file %Y)" -ge "$((before - 1))" ] || fail "touch: the time is not the server's now"
	ln -s file link && touch -h -d '2001-02-03 UTC' link && chown -h 33:44 link
	same "a link's own" "33 44 981158400" "$(host see link '%u %g %Y')"
	chown 1001:1001 file
	as 1001 1001 '' touch -d '2002-02-02 UTC' file
	same "by the owner" 1012608000 "$(host see file %Y)"
	refuses "not permitted" as 1002 1002 '' perl -e 'utime 1, 1, "file" or die $!'
	refuses "Permission denied" as 1002 1002 '' touch file
	chmod 666 file
	as 1002 1002 '' touch file # who may write may set the time to now

	# a change of content changes mtime and ctime, a change of mode only ctime
	touch -d '2002-02-02 UTC' file
	chmod 600 file
	same "mtime after chmod" 1012608000 "$(host see file %Y)"
	echo >>file
	[ "$(host see file %Y)" -gt 1012608000 ] || fail "a write did not change mtime"

	for m in 0 1 4095 4096 4097 1000000 5000000000 100; do
		truncate -s $m file
		same "size" $m "$(host see file %s)"
	done
	same "what is left after the last cut" 0 "$(host tr -d '\0' <"$EXP/file" | wc -c)"
	truncate -s 10M hole
	same "blocks of a hole" 0 "$(host see hole %b)"
	for m in 0 4096 3000000 10485759; do printf x | dd of=hole bs=1 seek=$m conv=notrunc status=none; done
	flush
	same "its content" "$(perl -e 'my $s = "\0" x 10485760; substr $s, $_, 1, "x" for 0, 4096, 3000000, 10485759; print $s' | md5sum)" \
		"$(host md5sum "$EXP/hole" | sed 's| .*|  -|')"
	[ "$(host see hole %b)" -lt 200 ] || fail "the hole was filled: $(host see hole %b) blocks"
	printf end | dd of=far bs=1 seek=5000000000 status=none
	same "beyond 4 GiB" 5000000003 "$(host see far %s)"
	same "read back" end "$(tail -c 3 far)"
	cp --sparse=always hole hole2
	cmp hole hole2
}
