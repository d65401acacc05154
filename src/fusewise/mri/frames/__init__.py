"""What the frames show: breath and beat, labels, and how near they come to a ground truth."""
