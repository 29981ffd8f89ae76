# SPDX-License-Identifier: BSD-2-Clause
# Names added to and removed from a directory between two READDIRs: what was there all the time is listed exactly once.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() { (cd "$EXP" && mkdir d && seq -f 'stays-%05g' 3000 | sed 's|^|d/|' | xargs touch && touch d/goes-{1..500}); }
change() { rm "$EXP"/d/goes-* && touch "$EXP"/d/new-{1..500}; }

client() {
	mnt -o rsize=4096,nordirplus
	coproc ls_half { perl -e 'opendir D, "/mnt/n/d" or die; $| = 1; my $n = 0;
		while (defined($_ = readdir D)) { print "$_\n"; if (++$n == 200) { print "half\n"; <STDIN> } }'; }
	local name
	while read -r name <&"${ls_half[0]}" && [ "$name" != half ]; do echo "$name"; done >/mnt/names
	host change
	echo go >&"${ls_half[1]}"
	cat <&"${ls_half[0]}" >>/mnt/names
	same "names that stay" 3000 "$(grep -c '^stays-' /mnt/names)"
	same "names listed twice" "" "$(sort /mnt/names | uniq -d | head -n 3)"
}
