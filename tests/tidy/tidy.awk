# Reads C files by their path from the project's root and prints one line per fault: PATH:LINE: RULE: words.
# POSIX awk only (Debian's is mawk). A lexer of comments and strings, a brace counter, and the include matrix.

BEGIN {
    max_function = 70
    max_file = 600
    max_line = 100

    # Who may include whom: a file sees its own folder and every folder of a lower level, none beside it.
    # "." is sim/vramsim.h, the library's face.
    split("base 0 des 1 memory 1 hw 1 model 1 engine 1 work 1 plan 2 import 2 strategy 3 sched 3 " \
          "run 4 calib 5 report 5 . 6 cli 7", words, " ")
    for (i = 1; (i in words); i += 2)
        level[words[i]] = words[i + 1]

    # Unbounded copies, parsers that cannot fail, hidden state, a shell.
    everywhere = "strcpy strcat sprintf vsprintf atoi atof strtok rand srand gets system"
    # The library tells its caller; only the command speaks to a terminal or ends the process.
    library = "printf vprintf puts putchar perror exit quick_exit abort"
    # Where the lexer stands when no file is open.
    path = ""
}

function fault(line, rule, text) {
    print path ":" line ": " rule ": " text
    faults++
}

# The line without comments, and without what is inside strings and character constants.
function code_of(line,    out, at, mark, quote) {
    out = ""
    for (;;) {
        if (in_comment) {
            at = index(line, "*/")
            if (at == 0)
                return out
            line = substr(line, at + 2)
            in_comment = 0
            out = out " "
        }
        if (!match(line, /"|'|\/\*|\/\//))
            return out line
        mark = substr(line, RSTART, 2)
        out = out substr(line, 1, RSTART - 1)
        line = substr(line, RSTART)
        if (mark == "//")
            return out
        if (mark == "/*") {
            line = substr(line, 3)
            in_comment = 1
            continue
        }
        quote = substr(mark, 1, 1)
        if (quote == "\"" ? match(line, /^"([^"\\]|\\.)*"/) : match(line, /^'([^'\\]|\\.)*'/))
            line = substr(line, RLENGTH + 1)
        else
            line = substr(line, 2)
        out = out quote quote
    }
}

function calls(code, name) {
    return code ~ ("(^|[^A-Za-z0-9_.>])" name "[ \t]*\\(")
}

function check_banned(code,    names, n, i) {
    n = split(everywhere, names, " ")
    for (i = 1; i <= n; i++)
        if (calls(code, names[i]))
            fault(FNR, "banned-call", names[i] "()")
    if (path !~ /^sim\// || folder == "cli")
        return
    n = split(library, names, " ")
    for (i = 1; i <= n; i++)
        if (calls(code, names[i]))
            fault(FNR, "banned-call", names[i] "() outside sim/cli")
    if (code ~ /(^|[^A-Za-z0-9_])std(out|err)([^A-Za-z0-9_]|$)/)
        fault(FNR, "banned-call", "a standard stream outside sim/cli")
}

# An include of another of our files: target is its path below sim/.
function check_include(target,    to, name) {
    if (path ~ /^tests\//)
        return
    if (path ~ /^kernels\//) {
        to = target
        sub(/\/.*/, "", to)
        if ((to in level) && target ~ /\//)
            fault(FNR, "include", "kernels/ shares no header with sim/: \"" target "\"")
        return
    }
    to = target
    if (!sub(/\/.*/, "", to))
        to = "."
    if (to == "." && target != "vramsim.h") {
        fault(FNR, "include", "write the path from sim/: \"" target "\"")
        return
    }
    if (!(to in level) || !(folder in level)) {
        fault(FNR, "include", "a folder that the order does not know: \"" target "\"")
        return
    }
    if (to != folder && level[to] >= level[folder])
        fault(FNR, "include", folder " may not include " to ": \"" target "\"")
    if (to == "des")
        includes_des = 1
    if (to == "memory")
        includes_memory = 1

    # Members of a list.def are strangers to each other.
    name = target
    gsub(/^.*\/|\.[a-z]+$/, "", name)
    if ((to == "strategy" || to == "sched") && ((to "/" name) in member) && name != stem)
        fault(FNR, "include", "the header of another member of " to "/list.def: \"" target "\"")
}

# Functions: declarations at depth 0 whose text before '{' holds a parameter list and no '='.
function check_braces(code,    n, i, c) {
    if (depth > 0 && code ~ /^}/)
        close_block()
    n = length(code)
    if (depth == 0 && declaration ~ /^[ \t]*$/ && code ~ /^[A-Za-z_]/)
        declared_at = FNR
    if (depth == 0 && code !~ /[{};]/) {
        declaration = declaration code
        return
    }
    for (i = 1; i <= n; i++) {
        c = substr(code, i, 1)
        if (c == "{") {
            if (depth == 0)
                in_function = declaration ~ /\)/ && declaration !~ /=/
            depth++
        } else if (c == "}") {
            if (depth == 1)
                close_block()
            else if (depth > 0)
                depth--
        } else if (c == ";" && depth == 0) {
            declaration = ""
        } else if (depth == 0) {
            declaration = declaration c
        }
    }
}

function close_block(    length_lines) {
    length_lines = FNR - declared_at + 1
    if (in_function && length_lines > max_function)
        fault(declared_at, "function-length", length_lines " lines, at most " max_function)
    depth = 0
    in_function = 0
    declaration = ""
}

function end_of_file() {
    if (path == "")
        return
    if (last_line > max_file)
        fault(last_line, "file-length", last_line " lines, at most " max_file)
    if (includes_des && includes_memory && path !~ /^sim\/run\/lower[^\/]*$/)
        fault(1, "include", "only sim/run/lower*.c may include both des/ and memory/")
}

FNR == 1 {
    end_of_file()
    path = FILENAME
    sub(/^\.\//, "", path)
    folder = path
    if (path ~ /^sim\/[^\/]*$/)
        folder = "."
    else {
        sub(/^sim\//, "", folder)
        sub(/\/.*/, "", folder)
    }
    stem = path
    gsub(/^.*\/|\.[a-z]+$/, "", stem)
    in_comment = in_function = depth = continued = 0
    includes_des = includes_memory = 0
    declaration = ""
    if (path ~ /\.(h|cuh)$/ && $0 !~ /^\/[*\/]/)
        fault(1, "header-comment", "a header begins with a comment: what it is, units, ownership")
}

{
    last_line = FNR
    text = $0
    gsub(/[\200-\277]/, "", text) # bytes that continue a UTF-8 character take no column
    if (length(text) > max_line && path !~ /\.def$/) # a row of a table is one line
        fault(FNR, "line-length", length(text) " columns, at most " max_line)

    outside = !in_comment
    code = code_of($0)
    check_banned(code)
    if (continued || (outside && code ~ /^[ \t]*#/)) {
        if (!continued && match($0, /^[ \t]*#[ \t]*include[ \t]*"[^"]*"/)) {
            target = substr($0, RSTART, RLENGTH)
            gsub(/^[^"]*"|"$/, "", target)
            check_include(target)
        }
        continued = $0 ~ /\\$/
        next
    }
    check_braces(code)
}

END {
    end_of_file()
    exit faults > 0
}
