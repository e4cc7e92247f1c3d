"""Item rows and what they are: the roles of columns, checks of rows, tables of scores.

Every room that takes rows of items asks here, so that a missing score, an answer that is there
twice or a column without a name means the same to all of them.
"""
