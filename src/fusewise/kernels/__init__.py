"""Performance-critical routines for the CPU and for GPUs, available memory, array types and small helpers.

The fusion loop is written once, in operators that NumPy arrays and torch tensors share. Operations with different names
in the two libraries are in ``arrays``; compiled kernels are used through ``Pairs`` and ``Observations``.
"""
