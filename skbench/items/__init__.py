"""Item rows and what they are: roles of columns, checks of rows, tables of scores."""
