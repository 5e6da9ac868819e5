# A server over time in a replay: who runs, who waits, how full the KV cache is, tokens per second.
#: result  replay
#: tables  moments
#: needs   moments >= 2
load "style.gpi"

title = "The server over time"
remark = moments_each > 1 ? sprintf("one row of %d is drawn", moments_each) : moments_mean > 0 ? sprintf("means over intervals of %s %s", number(moments_mean * time_scale(moments_mean)), time_unit(moments_mean)) : "one row for each interval of the replay"
top_px(p) = 96 + (p - 1) * 182
set lmargin at screen px(90)
set rmargin at screen px(width_px - 170)
scale = time_scale(moments_end)
set xrange [0:moments_end * scale]
set key at screen px(width_px - 158), graph 0.95 left top

do for [form in forms] {
    eval begin(form)
    set multiplot
    eval frame
    do for [p = 1:3] {
        set tmargin at screen from_top(top_px(p))
        set bmargin at screen from_top(top_px(p) + 160)
        if (p == 3) { set xlabel "time (" . time_unit(moments_end) . ")" font letters.",10" textcolor rgb soft offset 0, 0.3 } else { unset xlabel }
        set ylabel (p == 1 ? "requests" : p == 2 ? "KV cache (%)" : "tokens per second") font letters.",10" textcolor rgb soft
        set yrange [0:p == 1 ? 1.1 * larger(1, moments_requests) : p == 2 ? 105 : 1.1 * larger(1, moments_tokens)]
        if (p == 1) {
            plot "moments.tsv" using (column("time") * scale):"running" with steps lw 2 lc rgb ink(1) title "running", \
                "" using (column("time") * scale):"waiting" with steps lw 2 dt 2 lc rgb ink(6) title "waiting"
        }
        if (p == 2) {
            plot "moments.tsv" using (column("time") * scale):"kv" with fillsteps fs solid 0.5 noborder lc rgb ink(2) title "in use", \
                100 with lines lw 2 lc rgb 0x000000 title "capacity"
        }
        if (p == 3) {
            plot "moments.tsv" using (column("time") * scale):"out" with steps lw 2 lc rgb ink(3) title "generated", \
                "" using (column("time") * scale):"prompt" with steps lw 1.4 dt 4 lc rgb ink(4) title "prompts"
        }
        do for [i = 901:904] { unset label i }
    }
    unset multiplot
}
set output
