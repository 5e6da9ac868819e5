#!/bin/sh
# Does tidy.sh see each kind of fault, and nothing in good code? Each case below is a small tree.

set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0
cases=0

# put FILE: standard input becomes a file of the tree.
put() {
    mkdir -p "$tmp/tree/$(dirname "$1")" && cat > "$tmp/tree/$1"
}

# fresh: an empty tree with one good file of each level.
fresh() {
    rm -rf "$tmp/tree"
    put sim/base/err.h <<'END'
/* Errors. Strings and comments may say strcpy(a) or exit(1). */
struct vs_err;
END
    put sim/base/err.c <<'END'
#include "base/err.h"
#include <string.h>
/* printf(
 * abort( */
const char *words = "system(\"x\") puts("; // gets(
int vs_my_rand(int c);
void f(void) { vs_my_rand('"'); }
END
    put sim/strategy/list.def <<'END'
X(zero)
X(kv)
END
    put sim/strategy/strategy.h </dev/null
    echo '/* What strategies share. */' | put sim/strategy/strategy.h
    put sim/strategy/strategy.c <<'END'
#include "strategy/strategy.h"
END
    put sim/strategy/zero.c <<'END'
#include "base/err.h"
#include "strategy/strategy.h"
END
    put sim/strategy/kv.c <<'END'
#include "plan/plan.h"
END
    put sim/run/lower.c <<'END'
#include "des/des.h"
#include "memory/pool.h"
END
    put sim/cli/main.c <<'END'
#include "report/report.h"
int main(void) { printf("x"); exit(0); }
END
    put tests/unit/test_des.c <<'END'
#include "des/des.h"
#include "memory/pool.h"
void t(void) { exit(1); }
END
}

# expect RULE FRAGMENT: tidy must name the rule in a line that holds the fragment; `none` = no fault.
expect() {
    cases=$((cases + 1))
    output=$(sh "$here/tidy.sh" "$tmp/tree" 2> /dev/null)
    status=$?
    if [ "$1" = none ]; then
        [ "$status" -eq 0 ] && return
    elif [ "$status" -eq 1 ] && [ "$(printf '%s\n' "$output" | grep -c .)" -eq 1 ] &&
        printf '%s\n' "$output" | grep -F ": $1: " | grep -qF -- "$2"; then
        return
    fi
    echo "tidy selftest: expected only '$1' with '$2', status $status:"
    printf '%s\n' "$output"
    failed=1
}

# text FILE TEXT: one file of one line in a fresh tree.
text() {
    fresh
    printf '%s\n' "$2" | put "$1"
}

# lines COUNT: that many statements.
lines() {
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) print "    a = b;" }'
}

fresh
expect none

# include: upward, sideways, unknown, without a folder, strangers, both engines.
text sim/base/a.c '#include "des/des.h"'
expect include 'sim/base/a.c:1: include: base may not include des'
text sim/des/a.c '#include "memory/pool.h"'
expect include 'des may not include memory'
text sim/des/a.c '  #  include  "memory/pool.h"'
expect include 'des may not include memory'
text sim/plan/rules/a.c '#include "import/a.h"'
expect include 'plan may not include import'
text sim/strategy/zero.c '#include "sched/a.h"'
expect include 'strategy may not include sched'
text sim/run/a.c '#include "report/report.h"'
expect include 'run may not include report'
text sim/report/a.c '#include "cli/cli.h"'
expect include 'report may not include cli'
text sim/report/a.c '#include "vramsim.h"'
expect include 'report may not include .'
text sim/cli/a.c '#include "vramsim.h"'
expect none
text sim/base/a.c '#include "err.h"'
expect include 'write the path from sim/'
text sim/base/a.c '#include "../base/err.h"'
expect include 'a folder that the order does not know'
text sim/other/a.c '#include "base/err.h"'
expect include 'a folder that the order does not know'
text sim/strategy/zero.c '#include "strategy/kv.h"'
expect include 'another member'
text sim/run/a.c '#include "des/des.h"
#include "memory/pool.h"'
expect include 'only sim/run/lower'
text sim/run/lower_memory.c '#include "des/des.h"
#include "memory/pool.h"'
expect none
text kernels/cuda/a.cu '#include "base/err.h"'
expect include 'kernels/ shares no header'
text sim/base/a.c '/* #include "des/des.h" */'
expect none
text sim/base/a.c '/*
#include "des/des.h"
*/'
expect none

# function-length: 70 lines with the signature and the brace are the most; tables have no limit.
fresh
{ echo 'static int f(int a,'; echo '             int b) {'; lines 67; echo '}'; } | put sim/base/a.c
expect none
fresh
{ echo 'static int f(int a,'; echo '             int b) {'; lines 68; echo '}'; } | put sim/base/a.c
expect function-length 'sim/base/a.c:1: function-length: 71 lines'
fresh
{ echo 'int f(void) { return 0; }'; echo 'int g(void)'; echo '{'; lines 69; echo '}'; } | put sim/base/a.c
expect function-length 'sim/base/a.c:2: function-length: 72 lines'
fresh
{ echo 'static const int table[] = {'; lines 100 | tr ';' ','; echo '};'; } | put sim/base/a.c
expect none
fresh
{
    echo 'int f(void) {'
    lines 40
    echo '}'
    echo '/* Why. */'
    echo 'int g(int a,'
    echo '      int b) {'
    lines 40
    echo '}'
} | put sim/base/a.c
expect none
fresh
{
    echo 'struct s { int (*f)(int); };'
    echo 'int f(void) {'
    lines 40
    echo '}'
    printf '%s\n' '#define OPEN(a) \'
    echo '    if (a) {'
    echo 'int g(void) {'
    lines 40
    echo '}'
} | put sim/base/a.c
expect none

# file-length, line-length.
fresh
awk 'BEGIN { for (i = 0; i < 601; i++) print "int a;" }' | put sim/base/a.c
expect file-length '601 lines'
fresh
awk 'BEGIN { for (i = 0; i < 600; i++) print "int a;" }' | put sim/base/a.c
expect none
fresh
awk 'BEGIN { s = "/*"; while (length(s) < 99) s = s "x"; print s "*/" }' | put sim/base/a.c
expect line-length '101 columns'
fresh
awk 'BEGIN { s = "/*"; while (length(s) < 150) s = s "x"; print s "*/" }' | put sim/base/a.def
expect none
fresh
awk 'BEGIN { s = "/*"; while (length(s) < 97) s = s "x"; print s "\303\227*/" }' | put sim/base/a.c
expect none

# banned-call.
for name in strcpy strcat sprintf vsprintf atoi atof strtok rand srand gets system; do
    text sim/cli/a.c "void f(void) { $name (a); }"
    expect banned-call "$name()"
done
text tests/unit/test_a.c 'void f(void) { rand(); }'
expect banned-call 'rand()'
for name in printf puts exit abort; do
    text sim/run/a.c "void f(void) { $name(a); }"
    expect banned-call "$name() outside sim/cli"
done
text sim/run/a.c 'void f(void) { fputs(a, stderr); }'
expect banned-call 'a standard stream'
text sim/run/a.c 'void f(void) { snprintf(a); phase->exit(a); vs_exit(a); my_stdout = 1; }'
expect none
text sim/run/a.c 'int a; /* one */ void f(void) { abort(); } /* two */'
expect banned-call 'abort()'

# header-comment.
text sim/base/a.h '#ifndef VS_A_H'
expect header-comment 'sim/base/a.h:1'

# list.
text sim/strategy/list.def 'X(zero)
X(kv)
X(gone)'
expect list 'sim/strategy/list.def:3: list: no file sim/strategy/gone.c'
text sim/strategy/list.def 'X(zero)
X(kv)
X(kv)'
expect list "'kv' stands twice"
text sim/strategy/new.c 'int a;'
expect list 'sim/strategy/new.c:1: list: no line X(new)'
text sim/sched/fcfs.c 'int a;'
expect list 'sim/sched/fcfs.c:1: list: no line X(fcfs)'
text sim/cli/cmd_list.c 'int a;'
expect list 'sim/cli/cmd_list.c:1: list: no line X(list)'
echo 'X(list)' | put sim/cli/list.def
expect none
text sim/report/list.def 'X(table)'
expect list 'no file sim/report/table.c'
text sim/report/list.def '/* nothing */'
expect list 'no line X(name)'

# file-size.
fresh
awk 'BEGIN { for (i = 0; i < 40000; i++) print "1234567" }' | put hwprofiles/big.json
expect file-size 'hwprofiles/big.json:1: file-size: 312 KiB'
fresh
awk 'BEGIN { for (i = 0; i < 40000; i++) print "1234567" }' | put tests/measured/big.csv
expect none

[ "$failed" -eq 0 ] && echo "tidy selftest: $cases cases"
exit "$failed"
