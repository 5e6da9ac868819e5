# Two searches, as CSV.
limit --hw toy --model toy --engine ideal --task train --method lora --axis seq,micro-batch --csv l.csv
