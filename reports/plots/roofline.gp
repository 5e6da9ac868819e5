# The roofline: what each phase and each kind of its work reaches, below what processor and memory give at most.
#: result  run
#: tables  work roofs
#: needs   work >= 1 and work_phases >= 1
load "style.gpi"

title = "Roofline"
remark = "large: phases; small: their kinds of work. Work without FLOPs counts with its phase. Roofs: 16-bit peak and memory bandwidth as the profile states them"
array marks[16] = [7, 5, 9, 11, 13, 15, 6, 4, 8, 10, 12, 14, 1, 2, 3, 6]
head_px = 96 + 18 * work_phases
height_px = larger(700, head_px + 480)
set lmargin at screen px(90)
set rmargin at screen px(width_px - 190)
set tmargin at screen from_top(head_px)
set bmargin at screen from_top(height_px - 72)
set logscale xy
set format x "%g"
set xlabel "arithmetic intensity (FLOP/byte of its memory)" font letters.",10" textcolor rgb soft offset 0, 0.3
set ylabel "TFLOP/s" font letters.",10" textcolor rgb soft
set format y "%g"
unset key
do for [i = 1:work_phases] {
    set label 100 + i fit(work_phase_names[i], width_px - 80, 9) at screen px(44), screen from_top(92 + 18 * (i - 1)) left font letters.",9" textcolor rgb dark \
        point pt marks[i] ps 1.5 lc rgb ink(i) offset 1.2, 0
}
do for [i = 1:work_kind_count] {
    set label 200 + i kind_text(work_kinds[i]) at screen px(width_px - 164), screen from_top(head_px + 8 + 20 * (i - 1)) left font letters.",9" textcolor rgb dark \
        point pt 7 ps 0.8 lc rgb kind_ink(work_kinds[i]) offset 1.2, 0
}
set xrange [work_left:work_right]
set yrange [work_lowest / 1e12:work_highest / 1e12]
roof(x, peak, bandwidth) = smaller(peak, bandwidth * x) / 1e12
# Where the slope of a roof comes into sight.
foot(d) = larger(work_left, 1.3 * work_lowest / work_bandwidths[d])
set samples 400

do for [form in forms] {
    eval begin(form)
    eval frame
    plot for [d = 1:work] roof(x, work_peaks[d], work_bandwidths[d]) with lines lw 2.4 dt d lc rgb 0x000000 notitle, \
        for [d = 1:work] "roofs.tsv" using (column("device") == d ? work_right : NaN):(column("flops") / 1e12):(sprintf("%s peak, %.3g TFLOP/s ", strcol("name"), column("flops") / 1e12)) \
            with labels right offset 0, 0.7 font letters.",9" textcolor rgb dark notitle, \
        for [d = 1:work] "" using (column("device") == d ? foot(d) : NaN):(column("bytes") * foot(d) / 1e12):(sprintf(" %s memory, %.4g GB/s", strcol("name"), column("bytes") / 1e9)) \
            with labels left offset 1.5, 0 rotate by 0 font letters.",9" textcolor rgb dark notitle, \
        "work.tsv" using (column("rank") == 2 ? column("intensity") : NaN):(column("rate") / 1e12):(kind_ink(strcol("kind"))) with points pt 7 ps 1.2 lc rgb variable notitle, \
        for [i = 1:work_phases] "" using (column("rank") == 1 && column("number") == i ? column("intensity") : NaN):(column("rate") / 1e12) \
            with points pt marks[i] ps 2 lc rgb ink(i) notitle
}
set output
