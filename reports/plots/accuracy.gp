# Predicted against measured, engine by engine.
#: result  validate
#: tables  cases
#: needs   cases_engines >= 1
load "style.gpi"

title = sprintf("Predicted against measured: median error %.1f %%, 90 %% within %.0f %%", 100 * cases_median, 100 * cases_p90)
remark = "dark band: within 10 %; light band: within 25 %; both axes are logarithmic, in tok/s, GiB, seconds or tokens"
columns = cases_engines <= 3 ? cases_engines : cases_engines <= 6 ? 3 : cases_engines <= 12 ? 4 : 5
rows = int((cases_engines + columns - 1) / columns)
head_px = 112
height_px = larger(700, head_px + 40 + 218 * rows)
cell_x = (width_px - 20.0) / columns
cell_y = (height_px - head_px - 34.0) / rows
left_px(i) = 20 + ((i - 1) % columns) * cell_x
top_px(i) = head_px + int((i - 1) / columns) * cell_y
array units[4] = ["speed (tok/s)", "memory (GiB)", "time (s)", "tokens, sequences"]
array unit_inks[4] = [0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7]
array unit_marks[4] = [7, 5, 9, 13]
power_text(k) = k >= 6 ? sprintf("%gM", 10.0 ** (k - 6)) : k >= 3 ? sprintf("%gk", 10.0 ** (k - 3)) : sprintf("%g", 10.0 ** k)
set logscale xy
set format "%g"
unset key
unset grid
set border 15 lc rgb edge
set tics font letters.",7"

do for [form in forms] {
    eval begin(form)
    set multiplot
    eval frame
    do for [u = 1:4] {
        set label 100 + u units[u] at screen px(34 + 190 * (u - 1)), screen from_top(92) left offset 1.2, 0 font letters.",9" textcolor rgb dark \
            point pt unit_marks[u] ps 1 lc rgb unit_inks[u]
    }
    do for [i = 1:cases_engines] {
        a = cases_lows[i] / 1.4
        b = cases_highs[i] * 1.4
        set lmargin at screen px(left_px(i) + 46)
        set rmargin at screen px(left_px(i) + cell_x - 12)
        set tmargin at screen from_top(top_px(i) + 36)
        set bmargin at screen from_top(top_px(i) + cell_y - 26)
        set label 1 cases_names[i] at screen px(left_px(i) + 46), screen from_top(top_px(i) + 12) left font letters.":Bold,10" textcolor rgb dark
        set label 2 fit(cases_titles[i], cell_x - 58, 8) at screen px(left_px(i) + 46), screen from_top(top_px(i) + 27) left font letters.",8" textcolor rgb soft
        set xrange [a:b]
        set yrange [a:b]
        step = int(larger(1, ceil(log10(b / a) / 4.5)))
        set xtics ()
        set ytics ()
        do for [k = int(ceil(log10(a))):int(floor(log10(b))):step] {
            set xtics add (power_text(k) 10.0 ** k)
            set ytics add (power_text(k) 10.0 ** k)
        }
        plot [a:b] '+' using 1:($1 * 1.25):($1 / 1.25) with filledcurves fs solid 1 noborder lc rgb 0xedf1f5 notitle, \
            '+' using 1:($1 * 1.1):($1 / 1.1) with filledcurves fs solid 1 noborder lc rgb 0xd3dbe4 notitle, \
            x with lines lw 1 lc rgb edge notitle, \
            for [u = 1:4] "cases.tsv" using (column("engine") == i && column("unit") == u ? column("measured") : NaN):"predicted" \
                with points pt unit_marks[u] ps 0.45 lc rgb unit_inks[u] notitle
        do for [k = 101:104] { unset label k }
        do for [k = 901:904] { unset label k }
    }
    unset multiplot
}
set output
