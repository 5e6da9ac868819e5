# Strategies compared: a bar of speed each with its 80 % interval, and where the others run out of memory.
#: result  sweep
#: tables  bars
load "style.gpi"

title = "Strategies compared by speed"
remark = bars_summary . (bars_fastest > 0 ? "; whiskers: 80 % intervals; hatched: no engine reaches it" : "")
row_px = label_lines * 14.5 + 8
height_px = larger(700, 150 + row_px * bars)
label_px = larger(120, 30 + 7.4 * label_columns)
plot_px = width_px - label_px - 24
places = larger(bars, 8)
bar = smaller(0.38, 16.0 * places / (height_px - 150))

top = bars_fastest > 0 ? bars_fastest * plot_px / (plot_px - 290) : 1

set lmargin at screen px(label_px)
set rmargin at screen px(width_px - 24)
set tmargin at screen from_top(84)
set bmargin at screen from_top(height_px - 66)
set border 2 lc rgb edge
set grid noytics xtics lc rgb pale
set xrange [0:top]
set yrange [places + 0.6:0.4]
set xlabel speed_title . " (tok/s)" font letters.",10" textcolor rgb soft offset 0, 0.4
set ytics scale 0 font letters.",10" textcolor rgb dark
unset key
if (bars_fastest == 0) { unset xtics; unset xlabel; unset grid }
end(unused) = strcol("high") eq "NaN" ? column("speed") : column("high")

do for [form in forms] {
    eval begin(form)
    eval frame
    plot "bars.tsv" using (column("kind") == 2 ? 0.5 * top : NaN):"place":(0.5 * top):(bar) \
            with boxxyerror fs solid 1 noborder lc rgb alarm_pale notitle, \
        "" using (column("kind") == 1 && column("bound") == 0 ? 0.5 * column("speed") : NaN):"place":(0.5 * column("speed")):(bar):(ink(column("family"))) \
            with boxxyerror fs solid 1 noborder lc rgb variable notitle, \
        "" using (column("kind") == 1 && column("bound") == 1 ? 0.5 * column("speed") : NaN):"place":(0.5 * column("speed")):(bar):(ink(column("family"))) \
            with boxxyerror lc rgb variable fs pattern 4 notitle, \
        "" using (column("kind") == 1 ? column("speed") : NaN):"place":"low":"high" \
            with xerrorbars pt -1 lw 1.4 lc rgb dark notitle, \
        "" using (column("kind") == 1 ? end(0) : NaN):"place":"remark" \
            with labels left offset 0.8, 0 font letters.",9" textcolor rgb dark notitle, \
        "" using (column("kind") == 2 ? 0 : NaN):"place":(fit(strcol("remark"), plot_px - 10, 9)) \
            with labels left offset 0.8, 0 font letters.",9" textcolor rgb alarm notitle, \
        "" using (column("kind") == 0 ? 0 : NaN):"place":(fit(strcol("remark"), plot_px - 10, 10)) \
            with labels left offset 0.4, 0 font letters.":Bold,10" textcolor rgb dark notitle, \
        "" using (NaN):"place":yticlabels(column("kind") == 0 ? "" : strcol("label")) with points notitle
}
set output
