"""Peers: a file for each, which does the same work as well as the peer can."""
