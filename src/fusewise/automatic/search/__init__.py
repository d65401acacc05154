"""The search for the best partition: few, many and rare clusters, in a sample of the rows."""
