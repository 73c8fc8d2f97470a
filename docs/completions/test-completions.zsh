# SPDX-License-Identifier: GPL-3.0-or-later
#
# Whether zsh completes what it should: zsh -f test-completions.zsh FILE. A shell of its own, on a
# terminal of its own, is given a line and a tab; what it would show is caught where it is added.
zmodload zsh/zpty
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$1" "$work/_stackpipe"

zpty shell zsh -f -i
zpty -w shell "
PROMPT= PS2= fpath=('$work' \$fpath)
autoload -Uz compinit && compinit -u -D
null-line() { }
zle -N null-line
compadd() {
	local -a added
	builtin compadd -O added \"\$@\"
	(( \$#added )) && print -rl -- \"<added> \"\${^added} >>'$work/added'
	builtin compadd \"\$@\"
}
complete-word-only() { zle complete-word; print done >>'$work/done'; zle kill-buffer }
zle -N complete-word-only
bindkey '^I' complete-word-only
print ready >'$work/ready'"

wait_for()
{
	repeat 3000 { [[ -s $1 ]] && return; sleep 0.01 }
	print "zsh did not get to ${1:t}"
	exit 1
}

expect()
{
	rm -f $work/added $work/done
	zpty -w -n shell "$2"$'\t'
	wait_for $work/done
	found=$(sed -n 's/^<added> //p' $work/added 2>/dev/null | sort -u | paste -sd ' ')
	[[ $found == $1 ]] || { print "$2 completes to '$found', not '$1'"; exit 1 }
}

wait_for $work/ready
expect "record report" "stackpipe re"
expect "--show-pipeline" "stackpipe record --sh"
expect "--callees --callers" "stackpipe report --cal"
expect "--stack-limit --stack-size --stats" "perf-source --sta"
zpty -d shell
