#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The guide's chapters on SQLite, made again: two of its versions, as Node's package has them, are
# fetched and built, and what the commands print is printed behind them.
#
#	docs/transcripts/sqlite.sh [DIRECTORY]
#
# Programs are those of PATH. The captures and pages stay in DIRECTORY.
set -eu

case $0 in
/*) here=${0%/*} ;;
*) here=$PWD/${0%/*} ;;
esac
mkdir -p "${1:-sqlite}"
cd "${1:-sqlite}"

fetch()	# PACKAGE-VERSION SHA256 SQLITE-VERSION
{
	[ -e "sqlite3-$1.tgz" ] || curl -sSfO "https://registry.npmjs.org/sqlite3/-/sqlite3-$1.tgz"
	echo "$2  sqlite3-$1.tgz" | sha256sum --quiet -c
	tar -xzOf "sqlite3-$1.tgz" "package/deps/sqlite-autoconf-$3.tar.gz" | tar -xz
	(cd "sqlite-autoconf-$3" && ./configure -q --disable-shared >/dev/null 2>&1)
}

run()
{
	printf '\n$ %s\n' "$1"
	sh -c "$1" 2>&1
}

fetch 5.1.7 44cc9bdee02705a7b636f76968d745e21c1d0b2f1c62810c678bc3b0ececab1b 3440200
fetch 5.0.2 c2d364341eff7c6ae1c57ad62cfea3bb3e2cd7a3ae1eddbdde701e9ed52f2f39 3340000
cp "$here/orders.sql" .
ln -sfn sqlite-autoconf-3340000 3.34
ln -sfn sqlite-autoconf-3440200 3.44

(cd 3.34 && make -s -j2 sqlite3 >/dev/null 2>&1)
run 'stackpipe record --force -o build.syscap -- make -s -j2 -C 3.44 LIBTOOLFLAGS=--silent sqlite3'
run 'stackpipe report -n 8 build.syscap'
run "stackpipe report -n 6 --process='^cc1' build.syscap"
run 'stackpipe record --force -o 3.34.syscap -- 3.34/sqlite3 :memory: ".read orders.sql"'
run 'stackpipe record --force -o 3.44.syscap -- 3.44/sqlite3 :memory: ".read orders.sql"'
run 'stackpipe diff -n 8 3.34.syscap 3.44.syscap'
run 'stackpipe diff --force -o diff.html 3.34.syscap 3.44.syscap'
