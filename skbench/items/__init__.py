"""Item rows: roles of columns, checks of rows, tables of scores.

All modules that take item rows use these functions, so missing scores, repeated answers and
unnamed columns have the same meaning everywhere.
"""
