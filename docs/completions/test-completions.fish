# SPDX-License-Identifier: GPL-3.0-or-later
#
# Whether fish completes what it should: fish test-completions.fish FILE
source $argv[1]
cd (mktemp -d)

function expect
    set found (complete --do-complete="$argv[2]" | string replace -r '\t.*' '' | string join ' ')
    if test "$found" != "$argv[1]"
        echo "$argv[2] completes to '$found', not '$argv[1]'"
        exit 1
    end
end

# fish 4 finds options by letters in the midst, too: --sh is --scheduler as well.
expect "record report" "stackpipe re"
expect --show-pipeline "stackpipe record --show"
expect "--callees --callers" "stackpipe report --cal"
expect "--stack-limit --stack-size --stats" "perf-source --sta"
