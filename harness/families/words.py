"""What the patterns of the terms share."""

UNLESS = r"^((?!\b(no|not|never|nor|without|instead|rather)\b|n't)[^.;])*"  # up to here nothing is denied
