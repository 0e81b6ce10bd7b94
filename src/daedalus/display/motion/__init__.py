"""Motion in space: what is to be seen of a model, sampled along a run, in one page that opens offline."""
