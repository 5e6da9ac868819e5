# Tables to JSON, for make.sh. A cell that holds a number is "VALUE" (method: reported; source: the row's)
# or "VALUE [METHOD: SOURCE]"; "@WORD" in a source stands for the text of refs.csv.

function fail(message) {
    printf "%s:%d: %s\n", FILENAME, FNR, message > "/dev/stderr"
    bad = 1
    exit 1
}

# Splits a line of CSV into cell[NAME] by the names of the heading.
function split_line(line, i, n, text, at) {
    n = 0
    while (1) {
        text = ""
        if (substr(line, 1, 1) == "\"") {
            line = substr(line, 2)
            while ((at = index(line, "\"")) > 0) {
                text = text substr(line, 1, at - 1)
                line = substr(line, at + 1)
                if (substr(line, 1, 1) != "\"")
                    break
                text = text "\""
                line = substr(line, 2)
            }
            at = index(line, ",")
        } else {
            at = index(line, ",")
            text = at > 0 ? substr(line, 1, at - 1) : line
        }
        cells[++n] = text
        if (at == 0)
            break
        line = substr(line, at + 1)
    }
    if (FNR == 1) {
        columns = n
        for (i = 1; i <= n; i++)
            column[i] = cells[i]
    } else if (n != columns) {
        fail("found " n " cells, expected " columns)
    }
    for (i = 1; i <= n; i++)
        cell[column[i]] = cells[i]
}

function quote(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/"/, "\\\"", text)
    return "\"" text "\""
}

# "@db; @fluid (x)": each @WORD becomes its text.
function expand(text, done, word) {
    done = ""
    while (match(text, /@[a-z][a-z-]*/)) {
        word = substr(text, RSTART + 1, RLENGTH - 1)
        # a commit, as in owner/name@0123abc, is no reference
        if (RSTART > 1 && substr(text, RSTART - 1, 1) !~ /[ (;]/) {
            done = done substr(text, 1, RSTART + RLENGTH - 1)
        } else {
            if (!(word in ref))
                fail("unknown reference @" word)
            done = done substr(text, 1, RSTART - 1) ref[word]
        }
        text = substr(text, RSTART + RLENGTH)
    }
    return done text
}

# Bytes of "24GiB", "141GB", "182642MiB", "42297524224B", as a decimal number.
function bytes(text, unit, value) {
    unit = text
    sub(/^[0-9.]+/, "", unit)
    value = substr(text, 1, length(text) - length(unit)) * 1
    if (unit == "GiB")
        value *= 1073741824
    else if (unit == "MiB")
        value *= 1048576
    else if (unit == "GB")
        value *= 1000000000
    else if (unit != "B")
        fail("'" text "': expected a size in GiB, MiB, GB or B")
    return sprintf("%.0f", int(value))
}

function number(value, method, source) {
    if (method !~ /^(datasheet|reported|measured|derived|assumed)$/)
        fail("unknown method '" method "'")
    if (source == "")
        fail("a number without a source")
    return "{\"value\": " value ", \"method\": \"" method "\", \"source\": " quote(expand(source)) "}"
}

# The number of a cell; `unit` is appended to its digits ("e9") or names the kind of cell ("bytes").
function number_of(name, unit, text, method, source, at) {
    text = cell[name]
    method = "reported"
    source = cell["source"]
    if ((at = index(text, " [")) > 0) {
        method = substr(text, at + 2)
        text = substr(text, 1, at - 1)
        if (method !~ /^[a-z]+: .*\]$/)
            fail("'" cell[name] "': expected VALUE [METHOD: SOURCE]")
        source = substr(method, index(method, ": ") + 2)
        source = substr(source, 1, length(source) - 1)
        method = substr(method, 1, index(method, ": ") - 1)
    }
    if (unit == "bytes")
        return number(bytes(text), method, source)
    if (text !~ /^[0-9]+(\.[0-9]+)?$/)
        fail("column " name ": found '" text "', expected a number")
    return number(text unit, method, source)
}

function line(text) {
    printf "%s%s", separator, text > file
    separator = ",\n"
}

function open_object(text) {
    line(text)
    separator = "\n"
}

function close_object(indent) {
    printf "\n%s}", indent > file
    separator = ",\n"
}

function string_line(indent, key, text) {
    if (text != "")
        line(indent "\"" key "\": " quote(text))
}

function number_line(indent, key, name, unit, required) {
    if (cell[name] != "")
        line(indent "\"" key "\": " number_of(name, unit))
    else if (required)
        fail(cell["name"] ": column " name " is empty")
}

function words_line(indent, key, text, i, n, parts, list) {
    n = split(text, parts, " ")
    for (i = 1; i <= n; i++)
        list = list (i > 1 ? ", " : "") quote(parts[i])
    if (n > 0)
        line(indent "\"" key "\": [" list "]")
}

function begin_file(folder, schema) {
    if (cell["name"] !~ /^[a-z0-9][a-z0-9._-]*$/)
        fail("found name '" cell["name"] "'")
    file = out "/" folder "/" cell["name"] ".json"
    printf "{" > file
    separator = "\n"
    string_line("  ", "schema", schema)
    string_line("  ", "name", cell["name"])
    string_line("  ", "title", cell["title"])
    words_line("  ", "aliases", cell["aliases"])
    string_line("  ", "about", cell["about"])
    cell["aliases"] = ""
}

function end_file() {
    printf "\n}\n" > file
    close(file)
}

# Matrix rates that the row doesn't state follow from the class of its multiprocessors.
function rate_line(key, name, how, per_clock, sms, clock, source) {
    per_clock = rate[cell["rates"], name]
    if (cell[name] != "" || per_clock == "") {
        number_line("    ", key, name, "e12", 0)
        return
    }
    sms = cell["sms"] + 0
    clock = cell["boost_mhz"] + 0
    source = "SMs x dense FLOP per clock and SM (" rate_title[cell["rates"]] ": " per_clock how \
             ") x boost clock"
    line("    \"" key "\": " number(sprintf("%.4ge12", sms * per_clock * clock / 1e6), "derived", \
                                   source))
}

function compute() {
    open_object("  \"compute\": {")
    number_line("    ", "fp32_flops", "fp32", "e12", 1)
    rate_line("tf32_flops", "tf32", "")
    rate_line("fp16_flops", "fp16", ", accumulating in fp32")
    rate_line("fp16_acc16_flops", "fp16_acc16", ", accumulating in fp16")
    rate_line("bf16_flops", "bf16", "")
    rate_line("fp8_flops", "fp8", "")
    rate_line("fp4_flops", "fp4", "")
    number_line("    ", "sms", "sms", "", 1)
    number_line("    ", "clock_hz", "boost_mhz", "e6", 1)
    number_line("    ", "power_w", "power", "", 0)
    close_object("  ")
}

function device() {
    if (cell["rates"] != "" && !(cell["rates"] in rate_title))
        fail("unknown rates '" cell["rates"] "'")
    begin_file("devices", "vramsim-device/1")
    string_line("  ", "vendor", cell["vendor"])
    string_line("  ", "kind", cell["kind"])
    string_line("  ", "arch", cell["arch"])
    open_object("  \"memory\": {")
    string_line("    ", "kind", cell["memory"])
    line("    \"inline_ecc\": " (cell["ecc"] == "inline" ? "true" : "false"))
    number_line("    ", "nominal_bytes", "label", "bytes", 1)
    number_line("    ", "usable_bytes", "usable", "bytes", 0)
    number_line("    ", "bandwidth_bytes_per_s", "bandwidth", "e9", 1)
    close_object("  ")
    compute()
    string_line("  ", "link", cell["link"])
    string_line("  ", "peer_link", cell["peer_link"])
    number_line("  ", "peer_bytes_per_s", "peer", "e9", 0)
    number_line("  ", "node_gpus", "node_gpus", "", 1)
    string_line("  ", "machine", cell["machine"])
    end_file()
}

function host() {
    begin_file("hosts", "vramsim-host/1")
    number_line("  ", "ram_bytes", "ram", "bytes", 1)
    number_line("  ", "bandwidth_bytes_per_s", "bandwidth", "e9", 1)
    number_line("  ", "measured_bytes_per_s", "measured", "e9", 0)
    number_line("  ", "read_fraction", "read", "", 1)
    number_line("  ", "cores", "cores", "", 1)
    number_line("  ", "sockets", "sockets", "", 1)
    if (cell["flops_per_core"] == "")
        cell["flops_per_core"] = "78 [measured: @fit-cpu-gemm]"
    number_line("  ", "flops_per_core", "flops_per_core", "e9", 1)
    number_line("  ", "small_cores", "small_cores", "", 0)
    number_line("  ", "small_core_flops", "small_flops", "e9", 0)
    string_line("  ", "link", cell["link"])
    string_line("  ", "storage", cell["storage"])
    end_file()
}

function machine() {
    begin_file("machines", "vramsim-machine/1")
    words_line("  ", "devices", cell["devices"])
    string_line("  ", "host", cell["host"])
    string_line("  ", "link", cell["link"])
    string_line("  ", "storage", cell["storage"])
    number_line("  ", "reserved_bytes", "reserved", "bytes", 1)
    open_object("  \"net_bytes_per_s\": {")
    number_line("    ", "default", "net", "e9", 1)
    close_object("  ")
    end_file()
}

{ split_line($0) }
FNR == 1 {
    table = FILENAME
    sub(/.*\//, "", table)
    next
}
table == "refs.csv" { ref[cell["ref"]] = cell["text"] }
table == "rates.csv" {
    rate_title[cell["rates"]] = cell["title"]
    for (i = 3; i <= columns; i++)
        rate[cell["rates"], column[i]] = cell[column[i]]
}
table == "devices.csv" { device() }
table == "hosts.csv" { host() }
table == "machines.csv" { machine() }
END { exit bad }
