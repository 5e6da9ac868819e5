# Hardware compared for one workload: the best that each does, and its memory.
#: result  sweep
#: tables  hardware
#: needs   hardware >= 2
load "style.gpi"

title = "Hardware compared"
remark = "the fastest strategy that an engine can run on each; whiskers: 80 % intervals; right: memory used of what there is"
row_px = 26
height_px = larger(700, 164 + row_px * hardware)
label_px = larger(100, 36 + 7.2 * hardware_columns)
split_px = width_px - 290
bar = smaller(0.38, 15.0 * hardware / (height_px - 160))
fastest = larger(hardware_fastest, 1e-9)
largest = larger(hardware_largest, 1e-9)
plot_px = split_px - label_px
text_room = smaller(0.55 * plot_px, 300)
end(unused) = strcol("high") eq "NaN" ? column("speed") : column("high")
set tmargin at screen from_top(88)
set bmargin at screen from_top(height_px - 66)
set border 2 lc rgb edge
set grid noytics xtics lc rgb pale
set yrange [hardware + 0.6:0.4]
unset key

do for [form in forms] {
    eval begin(form)
    set multiplot
    eval frame
    set lmargin at screen px(label_px)
    set rmargin at screen px(split_px)
    set xrange [0:fastest * plot_px / (plot_px - text_room)]
    set xtics autofreq format "%g"
    set xlabel speed_title . " (tok/s)" font letters.",10" textcolor rgb soft offset 0, 0.3
    set ytics scale 0 font letters.",10" textcolor rgb dark
    plot "hardware.tsv" using (column("kind") == 1 ? 0.5 * column("speed") : NaN):"place":(0.5 * column("speed")):(bar) with boxxyerror fs solid 1 noborder lc rgb ink(1) notitle, \
        "" using (column("kind") == 2 ? 0.5 * column("speed") : NaN):"place":(0.5 * column("speed")):(bar) with boxxyerror lc rgb ink(2) fs pattern 4 notitle, \
        "" using (column("kind") == 0 ? 0 : NaN):"place":"remark" with labels left offset 0.8, 0 font letters.":Bold,9" textcolor rgb alarm notitle, \
        "" using "speed":"place":"low":"high" with xerrorbars pt -1 lw 1.4 lc rgb dark notitle, \
        "" using (column("kind") > 0 ? end(0) : NaN):"place":(fit(strcol("remark"), plot_px * (1 - end(0) / (fastest * plot_px / (plot_px - text_room))) - 20, 9)) \
            with labels left offset 0.8, 0 font letters.",9" textcolor rgb dark notitle, \
        "" using (NaN):"place":yticlabels(strcol("name")) with points notitle
    do for [i = 901:904] { unset label i }
    set lmargin at screen px(split_px + 20)
    set rmargin at screen px(width_px - 60)
    set xrange [0:largest]
    set xtics nice(largest / 4)
    set xlabel "device memory (GiB)" font letters.",10" textcolor rgb soft offset 0, 0.3
    set ytics format "" scale 0
    plot "hardware.tsv" using (0.5 * column("capacity")):"place":(0.5 * column("capacity")):(bar) with boxxyerror fs solid 1 noborder lc rgb pale notitle, \
        "" using (0.5 * smaller(column("vram"), largest)):"place":(0.5 * smaller(column("vram"), largest)):(0.55 * bar) with boxxyerror fs solid 1 noborder lc rgb ink(5) notitle, \
        "" using (largest):"place":(strcol("capacity") eq "NaN" ? sprintf("%.0f", column("vram")) : column("vram") > column("capacity") ? sprintf("%.0f > %.0f", column("vram"), column("capacity")) : sprintf("%.0f of %.0f", column("vram"), column("capacity"))) \
            with labels left offset 0.6, 0 font letters.",8" textcolor rgb dark notitle
    unset multiplot
}
set output
