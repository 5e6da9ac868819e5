# A pickle that would call something.
replay --trace evil.pickle --hw a100
