"""What each command does: options in, results out."""
