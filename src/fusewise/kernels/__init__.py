"""What the fusion loop spends its time in: compiled loops for the CPU, the same on a device, and what memory there is.

The loop itself is written once, in operators that NumPy arrays and torch tensors share. Whatever the two spell
differently stands in ``arrays``; whatever deserves a kernel stands behind ``Pairs`` and ``Observations``.
"""
