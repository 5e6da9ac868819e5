# The same search twice.
limit --hw toy --model toy --engine ideal --task train --axis seq,seq
