"""Files of scans and images."""
