#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Whether bash completes what it should: test-completions.sh FILE
set -eu
source "$1"

# What comes of a line whose last word is being typed.
complete_line()
{
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	local function=_${1//-/_}
	"$function" "$1" "${*: -1}" "${COMP_WORDS[COMP_CWORD - 1]}"
	echo "${COMPREPLY[*]}"
}

expect()
{
	local expected=$1 found
	shift
	found=$(complete_line "$@")
	[ "$found" = "$expected" ] || { echo "$* completes to '$found', not '$expected'"; exit 1; }
}

expect "record report" stackpipe re
expect "--show-pipeline" stackpipe record --sh
expect "--callees --callers" stackpipe report --cal
expect "--stack-limit --stack-size --stats" perf-source --sta
