"""The kit behind `pytest katas/` and `kata`: checks, judge, diagnosis and messages."""
