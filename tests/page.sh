#!/bin/sh
# The page of --html in a real browser: no error, sorted and filtered by keyboard and mouse, values on hover.
#
#     tests/page.sh PROGRAM
#
# Skipped (status 77) where there is no Chromium.

set -u
LC_ALL=C
export LC_ALL

program=${1:?usage: page.sh PROGRAM}
browser=
for name in chromium chromium-browser google-chrome chrome; do
    if command -v "$name" > /dev/null 2>&1; then
        browser=$name
        break
    fi
done
if [ -z "$browser" ]; then
    echo "skipped: no Chromium (apt install chromium)"
    exit 77
fi
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

# Runs behind the page's own script; what does not hold is thrown.
cat > "$tmp/check.js" << 'JS'
const must = (holds, what) => { if (!holds) throw new Error(what); };
const cells = column => [...document.querySelectorAll("#points tbody tr")].map(row => row.cells[column].textContent);
const numbers = column => cells(column).map(parseFloat).filter(number => !Number.isNaN(number));
const sorted = (list, sign) => list.every((value, i) => i === 0 || sign * (value - list[i - 1]) >= 0);
const head = column => document.querySelectorAll("#points th button")[column];
const all = cells(0).length;
must(all > 10, "the table has rows");
must(document.querySelector("#question").textContent.includes("llama-3-70b"), "the question is asked");
must(document.querySelector("#answer").textContent.startsWith("best: "), "the answer is given");
head(6).click();
must(sorted(numbers(6), -1), "a first click sorts numbers from large to small");
must(document.querySelectorAll("#points th")[6].getAttribute("aria-sort") === "descending", "the order is told");
head(6).click();
must(sorted(numbers(6), 1), "a second click turns it round");
head(1).focus();
must(document.activeElement === head(1), "headings take the keyboard");
const filter = document.querySelector("#filter");
filter.value = "fsdp FUSED";
filter.dispatchEvent(new Event("input"));
must(cells(0).length > 0 && cells(0).length < all, "a filter leaves some out");
must(cells(1).every(text => text.includes("fused")), "all words of a filter count");
filter.value = "";
filter.dispatchEvent(new Event("input"));
document.querySelector("#fits-only").click();
must(cells(10).every(text => text === ""), "only what fits is left");
const mark = document.querySelector("#speed .mark"), tip = document.querySelector("#tip");
mark.dispatchEvent(new MouseEvent("mousemove", { clientX: 100, clientY: 100 }));
must(!tip.hidden && tip.textContent.includes("tok/s"), "a value shows on hover");
mark.dispatchEvent(new MouseEvent("mouseleave"));
must(tip.hidden, "and goes");
mark.focus();
must(!tip.hidden, "a value shows on focus");
for (const id of ["speed", "memory", "front"])
    must(document.querySelectorAll("#" + id + " svg .mark").length > 3, id + " is drawn");
must(document.querySelectorAll("#misfits tbody tr").length > 0, "culprits are named");
must(document.querySelectorAll("#machines table tbody tr").length > 20, "sources are listed");
document.body.dataset.checked = "yes";
JS

# page NAME WORDS...: writes the page and a copy with the checks; prints what the browser made of it.
page() {
    name=$1
    shift
    "$program" "$@" --quiet --html "$tmp/$name.html" > /dev/null || exit 1
    if [ "$(wc -c < "$tmp/$name.html")" -gt 2000000 ]; then
        echo "page: $name is larger than 2 MB" >&2
        exit 1
    fi
    if grep -E '(src|href)="|https?://[^"]*\.(js|css)' "$tmp/$name.html" | grep -v '\\u003c' > /dev/null; then
        echo "page: $name asks for something from elsewhere" >&2
        exit 1
    fi
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$tmp/profile" \
        --enable-logging=stderr --dump-dom "file://$tmp/$name.html" > "$tmp/$name.dom" 2> "$tmp/$name.log"
    if grep -q 'CONSOLE.*\(Error\|error\)' "$tmp/$name.log"; then
        grep CONSOLE "$tmp/$name.log" >&2
        exit 1
    fi
}

page sweep --hw rtx4090 --workload qlora70b
{
    sed '/<\/body>/,$d' "$tmp/sweep.html"
    echo '<script>{'
    cat "$tmp/check.js"
    echo '}</script></body></html>'
} > "$tmp/checked.html"
timeout 120 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$tmp/profile" \
    --enable-logging=stderr --dump-dom "file://$tmp/checked.html" > "$tmp/checked.dom" 2> "$tmp/checked.log"
if ! grep -q '<body data-checked="yes"' "$tmp/checked.dom"; then
    grep CONSOLE "$tmp/checked.log" >&2
    echo "page: the checks did not end" >&2
    exit 1
fi

# One run, nothing that fits, several machines, a name with HTML in it.
page run run --hw rtx4090 --workload qlora70b --engine hf
page none --hw rtx3060 --workload qlora70b --ram 8GiB
page machines --hw rtx3060,rtx4090,m2-ultra --workload chat8b
page replay replay --trace llmservingsim_sharegpt_llama3.1-8b_300_lengths.jsonl --hw rtx4090 --model llama-3.1-8b \
    --engine vllm --ctx 32768
if [ "$(grep -o '<svg' "$tmp/replay.dom" | wc -l)" -ne 4 ] || grep -q '<section id="served-part" hidden' "$tmp/replay.dom"; then
    echo "page: a replay shows its speed, its memory, its latencies and its server, each as a picture" >&2
    exit 1
fi
page odd run --hw rtx4090 --workload chat8b --override-tensor '<script>alert(1)</script>=CPU'
if grep -q '<script>alert' "$tmp/odd.html" "$tmp/odd.dom"; then
    echo "page: a name became code" >&2
    exit 1
fi
echo "page: fine"
