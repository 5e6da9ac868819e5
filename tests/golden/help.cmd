# The program's help.
--help
