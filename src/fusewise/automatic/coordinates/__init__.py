"""What the observed entries of a row say about its place: columns on one scale, axes, likelihoods of coordinates."""
