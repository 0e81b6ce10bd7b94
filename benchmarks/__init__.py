"""Daedalus beside its peers: time at equal achieved error, measured in one run on one machine."""
