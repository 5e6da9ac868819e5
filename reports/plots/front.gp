# Speed against device memory: what no other strategy beats in both.
#: result  sweep
#: tables  front
#: needs   front >= 1
load "style.gpi"

title = "Speed against device memory"
remark = "numbered: no other strategy that an engine runs beats it in both; hollow: no engine reaches it; upper left is better"
rows = smaller(front, 10)
head_px = 92 + 17 * rows
height_px = larger(700, head_px + 500)
set lmargin at screen px(84)
set rmargin at screen px(width_px - 30)
set tmargin at screen from_top(head_px)
set bmargin at screen from_top(height_px - 72)
set xlabel "peak device memory (GiB)" font letters.",10" textcolor rgb soft offset 0, 0.3
set ylabel speed_title . " (tok/s)" font letters.",10" textcolor rgb soft
set yrange [0:1.12 * front_fastest]
reach = larger(front_widest - front_narrowest, 0.1 * front_widest)
set xrange [larger(0, front_narrowest - 0.06 * reach):front_widest + 0.06 * reach]
unset key
do for [i = 1:rows] { set label 100 + i fit(front_names[i], width_px - 60, 9) at screen px(20), screen from_top(92 + 17 * (i - 1)) \
    left font letters.",9" textcolor rgb dark }

do for [form in forms] {
    eval begin(form)
    eval frame
    plot "front.tsv" using (column("part") == 1 ? column("vram") : NaN):"speed" with steps lw 2 lc rgb ink(1) notitle, \
        "" using (column("part") == 2 && column("bound") == 1 ? column("vram") : NaN):"speed" with points pt 6 ps 1.3 lw 1.5 lc rgb ink(2) notitle, \
        "" using (column("part") == 2 && column("bound") == 0 ? column("vram") : NaN):"speed" with points pt 7 ps 1.0 lc rgb ink(5) notitle, \
        "" using (column("part") == 1 ? column("vram") : NaN):"speed" with points pt 7 ps 2.6 lc rgb ink(1) notitle, \
        "" using (column("part") == 1 && column("place") <= rows ? column("vram") : NaN):"speed":(sprintf("%d", column("place"))) \
            with labels font letters.":Bold,8" textcolor rgb 0xffffff notitle
}
set output
