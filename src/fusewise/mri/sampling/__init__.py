"""Sampling of the frames: trajectories, coils, and the operators from images to samples."""
