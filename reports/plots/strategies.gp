# Strategies compared: a bar of speed for each strategy that fits, a red band for each that runs out of memory.
#
# Before this text stand the values of one sweep, so that the whole file stands for itself:
#   data         tab-separated: place, speed in tok/s, engine (1..), ran out (0/1), remark, label
#   headline, remark, speed_title   texts
#   rows, two_lines                 number of bars; 1 when a label has two lines
#   label_columns                   characters of the longest line of a label
#   engines, bounds                 names joined by blanks; 1 for each that is only a bound of the hardware
set encoding utf8
set datafile separator "\t"

color(e) = word(bounds, e) eq "1" ? 0xb4b9c2 : \
    (e % 6 == 1 ? 0x2f6db5 : e % 6 == 2 ? 0xe08a1e : e % 6 == 3 ? 0x3a9d6e : e % 6 == 4 ? 0x8a5bb0 : \
     e % 6 == 5 ? 0x2aa7b8 : 0xb8577f)
name(e) = word(bounds, e) eq "1" ? word(engines, e) . " (a bound)" : word(engines, e)

row_px = two_lines ? 38 : 27
width_px = 1280
height_px = 150 + row_px * rows
label_px = 24 + 6.7 * label_columns

stats data using 2 nooutput
top = STATS_max > 0 ? STATS_max * 1.28 : 1

set lmargin at screen label_px / width_px
set rmargin at screen 1 - 28.0 / width_px
set tmargin at screen 1 - 88.0 / height_px
set bmargin at screen 52.0 / height_px

# 126 characters of this size fill the width; a longer line gets smaller ones.
headline_size = 14 * (strlen(headline) > 126 ? 126.0 / strlen(headline) : 1)
set label 1 headline at screen 0.016, screen (1 - 24.0 / height_px) left font sprintf(",%.1f", headline_size) textcolor rgb 0x1d2530
set label 2 remark at screen 0.016, screen (1 - 46.0 / height_px) left font ",10" textcolor rgb 0x5c6673
set key at screen 0.978, screen (1 - 60.0 / height_px) right top horizontal maxrows 1 width 1 reverse Left samplen 1.2 font ",10" \
    textcolor rgb 0x1d2530

set border 2 lc rgb 0x9aa3af
set xrange [0:top]
set yrange [rows + 0.6:0.4]
set xlabel speed_title font ",10" textcolor rgb 0x5c6673 offset 0, 0.3
set xtics nomirror scale 0 font ",9" textcolor rgb 0x5c6673
set ytics scale 0 font ",10" textcolor rgb 0x1d2530
set grid xtics lc rgb 0xe3e6ea lt 1 lw 1
set style fill solid 1.0 noborder

number(s) = s >= 99.5 ? sprintf("%.0f", s) : s >= 9.95 ? sprintf("%.1f", s) : sprintf("%.3g", s)

do for [form in "png svg"] {
    if (form eq "png") {
        set terminal pngcairo noenhanced size width_px, height_px font "DejaVu Sans,10" background rgb 0xffffff
    } else {
        set terminal svg noenhanced size width_px, height_px font "DejaVu Sans,11" background rgb 0xffffff
    }
    set output "strategies." . form
    plot for [e = 1:words(engines)] data \
             using ($3 == e && $4 == 0 ? 0.5 * $2 : NaN):1:(0.5 * $2):(0.36) with boxxyerror lc rgb color(e) notitle, \
         data using ($4 == 1 ? 0.5 * top : NaN):1:(0.5 * top):(0.36) with boxxyerror lc rgb 0xfbeae8 notitle, \
         data using ($4 == 0 ? $2 : NaN):1:(number($2) . " tok/s   " . strcol(5)) with labels left offset 0.6, 0 \
             font ",10" textcolor rgb 0x1d2530 notitle, \
         data using ($4 == 1 ? 0 : NaN):1:5 with labels left offset 0.6, 0 font ",10" textcolor rgb 0xb3261e notitle, \
         data using (NaN):1:yticlabels(6) with points notitle, \
         for [e = 1:words(engines)] keyentry with boxes lc rgb color(e) title name(e)
}
set output
