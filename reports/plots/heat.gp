# Two axes against each other: the fastest strategy at each pair, and where nothing fits.
#: result  sweep
#: tables  heat
#: needs   heat_columns >= 2 and heat_rows >= 2 and heat_fastest >= 1e-9
load "style.gpi"

title = "Speed by " . heat_x . " and " . heat_y
remark = "the fastest of all strategies at each pair (tok/s); OOM: none fits"
longest(n) = n < 1 ? 0 : larger(strlen(heat_y_words[n]), longest(n - 1))
label_px = larger(110, 60 + 7.2 * longest(heat_rows))
set lmargin at screen px(label_px)
set rmargin at screen px(width_px - 120)
set tmargin at screen from_top(92)
set bmargin at screen from_top(height_px - 84)
set xlabel heat_x font letters.",10" textcolor rgb soft
set ylabel heat_y font letters.",10" textcolor rgb soft
unset grid
set border 0
set xrange [0.5:heat_columns + 0.5]
set yrange [0.5:heat_rows + 0.5]
set xtics scale 0 textcolor rgb dark
set ytics scale 0 textcolor rgb dark
cell_px = (width_px - 120 - label_px) / heat_columns
set xtics ()
set ytics ()
do for [i = 1:heat_columns] { set xtics add (fit(count_word(heat_x_words[i]), cell_px - 4, 9) i) }
do for [i = 1:heat_rows] { set ytics add (count_word(heat_y_words[i]) i) }
# Dark is fast: a ramp of lightness in blue, the same in grey.
set palette defined (0 "#eaf3fb", 0.5 "#6aaed6", 1 "#08306b")
# Small differences stay pale: the ramp spans a sixth of the fastest at least.
slow = smaller(heat_slowest, heat_fastest / 1.2)
fast = heat_fastest
set cbrange [slow:fast]
set cblabel speed_title . " (tok/s)" font letters.",9" textcolor rgb soft
set colorbox user origin screen px(width_px - 104), screen 0.14 size screen px(16), screen 0.7 noborder
set cbtics scale 0 font letters.",8"
unset key
size_pt = cell_px > 60 ? 10 : cell_px > 44 ? 8 : 6
bright(s) = (s - slow) / larger(fast - slow, 1e-9) > 0.55

do for [form in forms] {
    eval begin(form)
    eval frame
    plot "heat.tsv" using (column("kind") == 1 ? column("x") : NaN):"y":(0.49):(0.48):"speed" with boxxyerror fs solid 1 noborder lc palette notitle, \
        "" using (column("kind") == 2 ? column("x") : NaN):"y":(0.49):(0.48) with boxxyerror fs pattern 4 lc rgb 0xd9a8a3 notitle, \
        "" using (column("kind") == 1 ? column("x") : NaN):"y":(number(column("speed"))):(bright(column("speed")) ? 0xffffff : dark) \
            with labels font sprintf("%s,%d", letters, size_pt) textcolor rgb variable notitle, \
        "" using (column("kind") == 2 ? column("x") : NaN):"y":("OOM") with labels font sprintf("%s:Bold,%d", letters, size_pt) textcolor rgb alarm notitle
}
set output
