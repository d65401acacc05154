"""Partitions compared: a criterion, valleys between components, components joined into clusters."""
