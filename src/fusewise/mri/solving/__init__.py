"""From samples to frames: covariances of frames, the ways to interpolate under them, and the choice of settings."""
