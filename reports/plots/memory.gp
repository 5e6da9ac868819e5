# Memory of each strategy at its peak, by what holds it, against what there is: the device and the host.
#: result  sweep run
#: tables  memory
#: needs   memory_device >= 1e-9
load "style.gpi"

title = "Memory at the peak, by what holds it"
remark = "black line: capacity; what does not fit is shown as it would be without a ceiling"
row_px = label_lines * 14.5 + 8
legend_rows = int((memory_tag_count + 1 + 6) / 7)
head_px = 92 + 20 * legend_rows
height_px = larger(700, head_px + 66 + row_px * memory_rows)
label_px = larger(120, 30 + 7.4 * label_columns)
panels = memory_host > 0 ? 2 : 1
gap_px = panels == 2 ? 56 : 0
# Two panels side by side on one scale, each as wide as what it shows, but none too narrow to read.
share = panels == 1 ? 1 : larger(0.35, smaller(0.65, memory_device / (memory_device + memory_host)))
room_px = width_px - label_px - gap_px - 40
left_px(p) = p == 1 ? label_px : label_px + share * room_px + gap_px
right_px(p) = p == 1 ? label_px + share * room_px : width_px - 40
most(p) = (p == 1 ? memory_device : memory_host) * 1.14
places = larger(memory_rows, 8)
bar = smaller(0.38, 16.0 * places / (height_px - head_px - 66))
first_tag = 7
upto(n) = sum [c = first_tag:n] column(c)

set border 2 lc rgb edge
set grid noytics xtics lc rgb pale
set yrange [places + 0.6:0.4]
set tmargin at screen from_top(head_px)
set bmargin at screen from_top(height_px - 66)
unset key
segment(p, n) = column("pool") == p && column("kind") > 0 && column(n) > 0 ? upto(n) - 0.5 * column(n) : NaN
half(n) = 0.5 * column(n)
# A number stands behind its bar, or behind the capacity where that would cross it.
label_room(p) = 70.0 / (right_px(p) - left_px(p)) * most(p)
crossed(p) = strcol("capacity") eq "NaN" ? 0 : column("capacity") >= column("peak") && column("capacity") < column("peak") + label_room(p)
beside(p) = crossed(p) ? column("capacity") : column("peak")

do for [form in forms] {
    eval begin(form)
    set multiplot
    eval frame
    do for [i = 1:memory_tag_count + 1] {
        x = 20 + 165 * ((i - 1) % 7)
        y = 92 + 20 * int((i - 1) / 7)
        t = i <= memory_tag_count ? memory_tags[i] : "reserved, unused"
        set object 100 + i rectangle at screen px(x + 6), screen from_top(y) size screen px(12), screen 12.0 / height_px \
            fs solid 1 noborder fc rgb (i <= memory_tag_count ? tag_ink(t) : 0xe9ecf0)
        set label 100 + i pretty(t) at screen px(x + 18), screen from_top(y) left font letters.",9" textcolor rgb dark
    }
    do for [p = 1:panels] {
        set lmargin at screen px(left_px(p))
        set rmargin at screen px(right_px(p))
        set xrange [0:most(p)]
        set xlabel (p == 1 ? "device memory (GiB)" : "host memory (GiB)") font letters.",10" textcolor rgb soft offset 0, 0.4
        if (p == 1) { set ytics scale 0 font letters.",10" textcolor rgb dark } else { set ytics format "" scale 0 }
        plot for [n = first_tag:first_tag + memory_tag_count] "memory.tsv" using (segment(p, n)):"place":(half(n)):(bar) \
                with boxxyerror fs solid 1 border rgb 0xffffff lc rgb (n < first_tag + memory_tag_count ? tag_ink(memory_tags[n - first_tag + 1]) : 0xe9ecf0) notitle, \
            "" using (column("pool") == p && column("kind") > 0 ? column("capacity") : NaN):"place":(0):(0.5) \
                with boxxyerror fs empty border rgb 0x000000 lc rgb 0x000000 lw 2 notitle, \
            "" using (column("pool") == p && column("kind") > 0 && column("peak") > 0.05 ? beside(p) : NaN):"place":(sprintf(column("kind") == 2 ? "%.1f OOM" : "%.1f", column("peak"))) \
                with labels left offset 0.5, 0 font letters.",9" textcolor rgb dark notitle, \
            "" using (column("kind") == 0 && column("pool") == 1 && p == 1 ? 0 : NaN):"place":(fit(strcol("label"), right_px(panels) - left_px(1), 10)) \
                with labels left offset 0.4, 0 font letters.":Bold,10" textcolor rgb dark notitle, \
            "" using (NaN):"place":yticlabels(column("kind") > 0 && p == 1 ? strcol("label") : "") with points notitle
        do for [i = 1:memory_tag_count + 1] { unset object 100 + i; unset label 100 + i }
        do for [i = 901:904] { unset label i }
    }
    unset multiplot
}
set output
