# Memory over time by what holds it: the device and the host, the capacity, and where it runs out.
#: result  run
#: tables  levels
#: needs   levels >= 1
load "style.gpi"

title = "Memory over time, by what holds it"
remark = "black line: capacity. Steps that are alike are shown once" . (levels_from > 0 ? "; most of the load is left out" : "")
legend_rows = int((levels_tag_count + 6) / 7)
head_px = 100 + 20 * legend_rows
gap_px = 34
panel_px = (height_px - head_px - 66 - gap_px * (levels - 1)) / (levels * 1.0)
top_px(p) = head_px + (p - 1) * (panel_px + gap_px)
scale = time_scale(levels_end)
first_tag = 3
upto(n) = sum [c = first_tag:n] column(c)
# A capacity that is not a number is none.
capacity(p) = levels_capacities[p]
room(p) = capacity(p) > 0 ? larger(levels_highest[p], capacity(p)) : levels_highest[p]
set xrange [levels_from * scale:levels_end * scale]
set lmargin at screen px(84)
set rmargin at screen px(width_px - 30)
unset key

do for [form in forms] {
    eval begin(form)
    set multiplot
    eval frame
    do for [i = 1:levels_tag_count] {
        x = 20 + 165 * ((i - 1) % 7)
        y = 92 + 20 * int((i - 1) / 7)
        set object 100 + i rectangle at screen px(x + 6), screen from_top(y) size screen px(12), screen 12.0 / height_px \
            fs solid 1 noborder fc rgb tag_ink(levels_tags[i])
        set label 100 + i pretty(levels_tags[i]) at screen px(x + 18), screen from_top(y) left font letters.",9" textcolor rgb dark
    }
    do for [p = 1:levels] {
        set tmargin at screen from_top(top_px(p))
        set bmargin at screen from_top(top_px(p) + panel_px)
        set yrange [0:1.12 * larger(room(p), 1e-9)]
        set ylabel levels_pools[p] . " (GiB)" font letters.",10" textcolor rgb soft
        if (p == levels) { set xlabel "time (" . time_unit(levels_end) . ")" font letters.",10" textcolor rgb soft offset 0, 0.3 } else { unset xlabel }
        if (levels_oom_pool eq levels_pools[p]) {
            set arrow 1 from levels_oom * scale, graph 0 to levels_oom * scale, graph 1 nohead lw 2 lc rgb alarm front
            late = levels_oom - levels_from > 0.8 * (levels_end - levels_from)
            set label 1 "OOM " at levels_oom * scale, graph 0.93 left offset (late ? -5 : 0.6), 0 font letters.":Bold,10" textcolor rgb alarm front
        } else { unset arrow 1; unset label 1 }
        plot for [k = 1:levels_tag_count] "levels.tsv" using (column("pool") == p ? column("time") * scale : NaN):(upto(first_tag + levels_tag_count - k)) \
                with filledcurves y1=0 fs solid 1 noborder lc rgb tag_ink(levels_tags[levels_tag_count - k + 1]) notitle, \
            capacity(p) with lines lw 2.5 lc rgb 0x000000 notitle
        do for [i = 1:levels_tag_count] { unset object 100 + i; unset label 100 + i }
        do for [i = 901:904] { unset label i }
    }
    unset multiplot
}
set output
