"""Analysis of frames: respiration and heartbeat, labels, and metrics against a ground truth."""
