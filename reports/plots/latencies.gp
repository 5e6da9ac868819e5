# Latencies of a replay: which part of the requests had its first token, and its tokens, within which time.
#: result  replay
#: tables  latencies
#: needs   latencies >= 2
load "style.gpi"

title = "Latencies"
remark = "a curve passes through the time within which that part of the requests stays; marks: 50, 90 and 99 %" . (latencies_each > 1 ? sprintf("; one request of %d", latencies_each) : "")
set tmargin at screen from_top(96)
set bmargin at screen from_top(height_px - 72)
set yrange [0:100]
set logscale x
set format x "%g"
unset key
array parts[3] = [50, 90, 99]
panel_px = (width_px - 84 - 30 - 2 * 70) / 3.0
left_px(p) = 84 + (p - 1) * (panel_px + 70)
panel_name(p) = p == 1 ? "time to the first token" : p == 2 ? "time between tokens" : "time to the last token"
panel_column(p) = p == 1 ? "ttft" : p == 2 ? "tpot" : "e2e"
mark(p, k) = p == 1 ? latencies_ttft[k] : p == 2 ? latencies_tpot[k] : latencies_e2e[k]

do for [form in forms] {
    eval begin(form)
    set multiplot
    eval frame
    do for [p = 1:3] {
        scale = time_scale(mark(p, 3))
        unit = time_unit(mark(p, 3))
        set lmargin at screen px(left_px(p))
        set rmargin at screen px(left_px(p) + panel_px)
        set xlabel panel_name(p) . " (" . unit . ")" font letters.",10" textcolor rgb soft offset 0, 0.3
        if (p == 1) { set ylabel "requests (%)" font letters.",10" textcolor rgb soft } else { unset ylabel }
        do for [k = 1:3] {
            set label k sprintf("%d %%: %s %s", parts[k], number(mark(p, k) * scale), unit) at graph 0.04, graph (0.96 - 0.05 * (k - 1)) left font letters.":Bold,9" textcolor rgb dark
        }
        plot "latencies.tsv" using (column(panel_column(p)) * scale):(100 * column("part")) with steps lw 2.4 lc rgb ink(p) notitle, \
            for [k = 1:3] '+' using (mark(p, k) * scale):(parts[k]) every ::0::0 with points pt 7 ps 1.3 lc rgb dark notitle
        do for [i = 901:904] { unset label i }
    }
    unset multiplot
}
set output
