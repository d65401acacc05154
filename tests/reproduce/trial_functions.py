"""Trial functions that workers can import."""

import time
from pathlib import Path

import numpy as np


def square(number, log):
    """number², and a line in a log for every time it is computed."""
    with Path(log).open("a") as file:
        file.write(f"{number}\n")
    return {"square": number**2, "many": np.arange(number)}


def slow(number, log):
    """As ``square``, but the later the number, the longer it takes."""
    time.sleep(0.0 if number < 2 else 600.0)
    return square(number, log)


def broken(number):
    raise ArithmeticError(f"no result for {number}")
