"""What a person sees of a result: findings, words, plots, the report, and the files they go to."""
