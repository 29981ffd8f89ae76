# SPDX-License-Identifier: BSD-2-Clause
# A path of 17 directories with names of 255 bytes, longer than PATH_MAX, can be walked down and up again.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	perl -e 'chdir shift or die; my $n = "d" x 255;
		for (1 .. 17) { mkdir $n or die; chdir $n or die }
		open F, ">", "leaf" or die; print F "bottom\n"' "$EXP"
}

client() {
	mnt
	same "the leaf" bottom "$(find /mnt/n -name leaf -type f -execdir cat '{}' ';')"
	same "directories" 18 "$(find /mnt/n -type d | wc -l)"
	forget
	same "the way back up" "$(stat -c %i /mnt/n)" \
		"$(perl -e 'chdir "/mnt/n"; my $n = "d" x 255; for (1 .. 17) { chdir $n or die }
			for (1 .. 17) { chdir ".." or die } print +(stat ".")[1]')"
}
