"""How much a verification is worth: each line of a spec altered once, and how many alterations are found."""
