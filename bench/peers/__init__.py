"""The others: one file a peer, told to do the same work as well as it can."""
