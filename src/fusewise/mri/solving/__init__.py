"""From samples to frames: covariances of frames, solvers that interpolate under them, and the choice of settings."""
