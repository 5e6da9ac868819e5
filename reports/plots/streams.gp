# What each stream does when: a step as a whole, and a few layers of it close up.
#: result  run
#: tables  spans phases
#: needs   spans >= 1
load "style.gpi"

title = "Streams over time"
remark = "above: what follows the load; below: some layers of it close up. A gap is a stream that waits"
legend_rows = int((spans_kind_count + 6) / 7)
head_px = 112 + 20 * legend_rows
height_px = larger(700, head_px + 150 + 2 * 34 * spans)
gap_px = 66
panel_px = (height_px - head_px - 66 - gap_px) / 2.0
longest = 0
do for [i = 1:spans] { longest = larger(longest, strlen(spans_streams[i])) }
set lmargin at screen px(larger(90, 30 + 7.0 * longest))
set rmargin at screen px(width_px - 30)
set border 1 lc rgb edge
set yrange [spans + 0.6:0.4]
set grid noytics
set ytics scale 0 font letters.",9" textcolor rgb dark
set ytics ()
do for [i = 1:spans] { set ytics add (spans_streams[i] i) }
unset key
from(p) = p == 1 ? spans_from : spans_near_from
to(p) = p == 1 ? spans_to : spans_near_to
plot_px = width_px - 30 - larger(90, 30 + 7.0 * longest)
out = -1e30 # beyond every range: gnuplot 5.4 fails on labels of which none is a number
# A phase's name stands where its bar has room for it.
phase_text(s, e, r, t) = fit_or_none(r > 1 ? sprintf("%s, 1 of %d", t, r) : sprintf("%s", t), (smaller(e, spans_to) - larger(s, spans_from)) / (spans_to - spans_from) * plot_px)
fit_or_none(t, room) = text_px(t, 9) < room - 8 ? "" . t : ""

do for [form in forms] {
    eval begin(form)
    set multiplot
    eval frame
    do for [i = 1:spans_kind_count] {
        x = 20 + 165 * ((i - 1) % 7)
        y = 92 + 20 * int((i - 1) / 7)
        set object 100 + i rectangle at screen px(x + 6), screen from_top(y) size screen px(12), screen 12.0 / height_px \
            fs solid 1 noborder fc rgb kind_ink(spans_kinds[i])
        set label 100 + i kind_text(spans_kinds[i]) at screen px(x + 18), screen from_top(y) left font letters.",9" textcolor rgb dark
    }
    do for [p = 1:2] {
        length = to(p) - from(p)
        scale = time_scale(length)
        at(t) = (t - from(p)) * scale
        set xrange [0:length * scale]
        set xlabel "time (" . time_unit(length) . ")" . (p == 1 ? "" : sprintf(", from %.4g s on", from(p))) font letters.",10" textcolor rgb soft offset 0, 0.4
        set tmargin at screen from_top(head_px + (p - 1) * (panel_px + gap_px))
        set bmargin at screen from_top(head_px + (p - 1) * (panel_px + gap_px) + panel_px)
        if (p == 1) {
            set object 1 rectangle from at(spans_near_from), graph 0 to at(spans_near_to), graph 1 fs solid 1 noborder fc rgb 0xdfe8f2 behind
        } else { unset object 1 }
        plot "spans.tsv" using (column("panel") == p ? at(0.5 * (column("start") + column("end"))) : NaN):"stream":(0.5 * scale * (column("end") - column("start"))):(0.36):(kind_ink(strcol("kind"))) \
                with boxxyerror fs solid 1 noborder lc rgb variable notitle, \
            "phases.tsv" using (p == 1 ? at(column("start")) : out):(0.4):(0):(spans + 0.2) with vectors nohead lw 1 dt 3 lc rgb soft notitle, \
            "" using (p == 1 ? at(larger(column("start"), spans_from)) : out):(0.4):(phase_text(column("start"), column("end"), column("repeats"), strcol("name"))) \
                with labels left offset 0.3, 0.8 font letters.",9" textcolor rgb soft notitle
        do for [i = 1:spans_kind_count] { unset object 100 + i; unset label 100 + i }
        do for [i = 901:904] { unset label i }
    }
    unset multiplot
}
set output
