# SPDX-License-Identifier: BSD-2-Clause
# How editors and tools save: sed -i, install, patch, cp -p, write-fsync-rename; nothing is left behind, contents and modes are right.
# shellcheck shell=bash disable=SC2016,SC2034,SC2317 # read and called by run and lib.sh

setup() {
	need patch
	writable
}
see() { (cd "$EXP/$1" && stat -c '%n %a %u %s' -- * && find . -type f | sort | xargs md5sum); }

# vi: a backup by rename, a new file, fsync, then the backup goes; others write aside and rename over
vi_save() { perl -MIO::Handle -e 'my ($f, $text) = @ARGV;
	rename $f, "$f~" or die "rename: $!";
	open my $o, ">", $f or die "open: $!";
	print $o $text; $o->flush && $o->sync or die "fsync: $!";
	close $o or die "close: $!"; chmod 0640, $f or die "chmod: $!";
	unlink "$f~" or die "unlink: $!"' "$@"; }
aside_save() { perl -MIO::Handle -MFcntl -e 'my ($f, $text) = @ARGV;
	sysopen my $o, "$f.tmp", O_WRONLY | O_CREAT | O_EXCL, 0600 or die "open: $!";
	print $o $text; $o->flush && $o->sync or die "fsync: $!";
	close $o or die "close: $!"; rename "$f.tmp", $f or die "rename: $!"' "$@"; }

edit() {
	local n
	cd "$1" || return
	seq 1 3000 >text
	cp -p text copy
	for n in {1..10}; do sed -i "s/^$n\$/line $n/" text; done
	install -m 4711 text installed
	install -m 0444 -D text deep/er/readonly
	mv deep/er/readonly read-only && rm -r deep
	sed 's/^200[0-9]$/changed &/' text >next
	diff -u text next >changes || true
	patch -s text <changes
	cmp text next
	cp -f next read-only
	echo >"vi"
	for n in {1..10}; do vi_save vi "text $n"; aside_save aside "text $n $n"; done
	ln -s text link && sed -i --follow-symlinks 's/^5000$/none/' link
	printf 'one\n' >log && printf 'two\n' >>log
	: >log2 && truncate -s 0 copy && echo short >copy
}

work() {
	export -f edit vi_save aside_save
	rm -rf /mnt/own && mkdir -m 1777 /mnt/own
	for dir in /mnt/own "$1"; do
		as 1001 1001 '' bash -ec 'umask 022 && edit "$1"' bash "$dir"
	done
	# the patch names the time in its header
	rm /mnt/own/changes "$1/changes"
	EXP=/mnt see own >/mnt/want
	flush
	same "what the server has" "$(cat /mnt/want)" "$(host see "$D")"
}
