# Where it runs out of memory: the most that fits along an axis, a region for each strategy.
#: result  limit
#: tables  frontier
#: needs   frontier >= 1
load "style.gpi"

title = "The largest " . frontier_searched . " that fits, by " . frontier_axis
remark = "below a line it fits, above it runs out of memory; both axes are logarithmic"
array dashes[8] = [1, 2, 4, 5, 3, 6, 7, 8]
array marks[8] = [7, 5, 9, 13, 11, 6, 4, 8]
legend_rows = int((frontier + 1) / 2)
head_px = 92 + 18 * legend_rows
set lmargin at screen px(84)
set rmargin at screen px(width_px - 40)
set tmargin at screen from_top(head_px)
set bmargin at screen from_top(height_px - 72)
set xlabel frontier_title font letters.",10" textcolor rgb soft offset 0, 0.3
set ylabel "largest " . frontier_searched . " (" . frontier_unit . ")" font letters.",10" textcolor rgb soft
set logscale xy 2
floor_y = 0.7
set yrange [floor_y:larger(2, 1.5 * frontier_highest)]
set format y "%.0f"
set key at screen px(20), screen from_top(82) left top maxrows legend_rows width 2
y(i) = column("line") == i ? larger(floor_y, column("y")) : NaN

set xtics ()
first = real(frontier_numbers[1])
last = first
do for [i = 1:frontier_number_count] { first = smaller(first, real(frontier_numbers[i])); last = larger(last, real(frontier_numbers[i])) }
do for [i = 1:frontier_number_count] { set xtics add (count_word(frontier_numbers[i]) real(frontier_numbers[i])) }
set xrange [first / 1.06:last * 1.06]

do for [form in forms] {
    eval begin(form)
    eval frame
    plot for [i = 1:frontier] "frontier.tsv" using (column("line") == i ? column("x") : NaN):(y(i)) with filledcurves y1=floor_y \
            fs transparent solid 0.18 noborder lc rgb ink(i) notitle, \
        for [i = 1:frontier] "" using (column("line") == i ? column("x") : NaN):(y(i)) \
            with linespoints lw 2.2 dt dashes[(i - 1) % 8 + 1] pt marks[(i - 1) % 8 + 1] ps 1.1 lc rgb ink(i) title fit(frontier_names[i], 520, 9), \
        for [i = 1:frontier] "" using (column("line") == i && column("y") == 0 ? column("x") : NaN):(floor_y) with points pt 2 ps 1.3 lw 2 lc rgb ink(i) notitle
}
set output
