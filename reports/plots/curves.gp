# Speed along an axis of numbers that has a list: context, prompt, batch, rate of requests.
#: result  sweep
#: tables  curves
#: needs   curves >= 1
load "style.gpi"

title = "Speed by " . curves_axis
remark = curves_left_out > 0 ? sprintf("the first %d combinations of the other axes; gaps: out of memory", curves) : "gaps: out of memory"
array dashes[8] = [1, 2, 4, 5, 3, 6, 7, 8]
array marks[8] = [7, 5, 9, 13, 11, 6, 4, 8]
legend_rows = int((curves + 1) / 2)
head_px = 92 + 18 * legend_rows
set lmargin at screen px(84)
set rmargin at screen px(width_px - 30)
set tmargin at screen from_top(head_px)
set bmargin at screen from_top(height_px - 72)
set xlabel curves_title font letters.",10" textcolor rgb soft offset 0, 0.3
set ylabel speed_title . " (tok/s)" font letters.",10" textcolor rgb soft
set yrange [0:larger(1e-9, 1.1 * curves_highest)]
set logscale x 2
set key at screen px(20), screen from_top(82) left top maxrows legend_rows width 2

set xtics ()
first = real(curves_numbers[1])
last = first
do for [i = 1:curves_number_count] { first = smaller(first, real(curves_numbers[i])); last = larger(last, real(curves_numbers[i])) }
do for [i = 1:curves_number_count] { set xtics add (count_word(curves_numbers[i]) real(curves_numbers[i])) }
set xrange [first / 1.06:last * 1.06]

do for [form in forms] {
    eval begin(form)
    eval frame
    plot for [i = 1:curves] "curves.tsv" using (column("line") == i ? column("x") : NaN):"y" \
        with linespoints lw 2 dt dashes[(i - 1) % 8 + 1] pt marks[(i - 1) % 8 + 1] ps 1.1 lc rgb ink(i) title fit(curves_names[i], 520, 9)
}
set output
