# SPDX-License-Identifier: BSD-2-Clause
# sqlite3 with a rollback journal: many transactions, some rolled back; the database is whole for the client and on the server.
# shellcheck shell=bash disable=SC2034,SC2317 # read and called by run and lib.sh

setup() {
	need sqlite3
	writable
	LIMIT=$((LIMIT * 2))
}
on_server() { sqlite3 -readonly "$EXP/$1" 'pragma integrity_check; select count(*), sum(n), max(length(b)) from t'; }

work() {
	local n=40 i
	[ "$SIZE" = small ] || n=400
	{
		echo 'pragma journal_mode=delete; pragma synchronous=full; create table t (n integer primary key, b blob);'
		for ((i = 1; i <= n; i++)); do
			echo "begin; insert into t values ($i, randomblob($((i * 331 % 9000)))); update t set b = b || 'x' where n % 7 = 0; commit;"
			echo "begin; delete from t where n % 2; insert into t values (-1, zeroblob(20000)); rollback;"
		done
	} | as 1001 1001 '' sqlite3 -bail "$1/db" >/mnt/said
	same "journal" delete "$(cat /mnt/said)"
	same "rows" $n "$(sqlite3 "$1/db" 'select count(*) from t')"
	sqlite3 "$1/db" 'delete from t where n % 3 = 0; vacuum; pragma integrity_check;' >/mnt/said
	same "integrity" ok "$(cat /mnt/said)"
	sqlite3 "$1/db" 'pragma integrity_check; select count(*), sum(n), max(length(b)) from t' >/mnt/said
	same "the server's database" "$(cat /mnt/said)" "$(host on_server "$D/db")"
	[ ! -e "$1/db-journal" ] || fail "the journal is still there"
}
