# SPDX-License-Identifier: BSD-2-Clause
# gcc and make -j4 build a project on the export; a touched header rebuilds it, the program runs and is whole on the server.
# shellcheck shell=bash disable=SC2016,SC2034,SC2317 # read and called by run and lib.sh

setup() {
	need gcc make
	writable
}
sum() { md5sum <"$EXP/$1"; }

project() {
	local n
	cd "$1" || return
	for n in {1..6}; do
		printf '#include "all.h"\nint f%d(int x)\n{\n\treturn x * SCALE + %d;\n}\n' "$n" "$n" >"f$n.c"
	done
	printf '#define SCALE 1\n%s\n' "$(printf 'int f%d(int);\n' {1..6})" >all.h
	printf '#include <stdio.h>\n#include "all.h"\nint main(void)\n{\n\tprintf("%%d\\n", %s);\n}\n' \
		"$(printf 'f%d(10) + ' {1..6})0" >main.c
	cat >Makefile <<-'END'
		.RECIPEPREFIX = >
		prog: $(patsubst %.c,%.o,$(wildcard *.c))
		> $(CC) -o $@ $^
		%.o: %.c all.h
		> $(CC) -O -g -c -o $@ $<
	END
}

work() {
	export -f project
	as 1001 1001 '' bash -ec 'project "$1" && make -s -j4' bash "$1"
	same "what it says" 81 "$("$1/prog")"
	same "nothing to do" "make: 'prog' is up to date." "$(make -C "$1" --no-print-directory)"
	sed -i 's/SCALE 1/SCALE 2/' "$1/all.h"
	as 1001 1001 '' make -s -C "$1" -j4
	same "after a change" 141 "$("$1/prog")"
	forget
	same "the program" "$(host sum "$D/prog")" "$(md5sum <"$1/prog")"
	same "objects" 7 "$(find "$1" -name '*.o' | wc -l)"
	as 1001 1001 '' rm -r "$1"/*.o
}
