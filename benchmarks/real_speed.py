"""Seconds of the default fit beside those of StepMix in the same run, on generated tables of the shapes people have.

    pip install stepmix
    python benchmarks/real_speed.py                    # all tables (some minutes on 2 cores)
    python benchmarks/real_speed.py flights            # one of them: weather, survey or flights
    python benchmarks/real_speed.py flights --ours     # without StepMix

- ``weather``: 26,115 hours at three airports, twelve numbers and a category; most gusts are missing.
- ``survey``: 1,472 people, 788 columns: 394 numbers of all shapes, 394 categories of two to six levels; 15% missing.
- ``flights``: 8,000 flights: times, delays and distances, the carrier, the airports.

StepMix is a mixture of Gaussians (diagonal) and of categories, for missing values; it is fitted with 1 to 8 components,
once each, and the number is chosen by BIC, as its users do. Numbers are standardised for it; a number of components for
which it fails is left out. Both have compiled or imported what they need before the clock starts.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd

from fusewise import FusionClustering

MOST_COMPONENTS = 8

#: Seconds that a table may take on two quiet cores.
GOALS = {"weather": 10, "survey": 20, "flights": 5}


def weather(rng: np.random.Generator) -> pd.DataFrame:
    """Hours of a year at three airports: seasons, days and fronts."""
    n = 26_115
    airport, hour = np.arange(n) % 3, np.arange(n) // 3
    season, daytime = np.cos(2 * np.pi * hour / 8760), np.cos(2 * np.pi * (hour % 24 - 15) / 24)
    front = smooth(rng, n, 60)
    temperature = 55 - 22 * season + 6 * daytime - 6 * front + rng.normal(0, 3, n)
    humidity = np.clip(62 - 10 * daytime + 14 * front + rng.normal(0, 8, n), 12, 100)
    wind = np.clip(rng.gamma(3, 3.5, n) + 3 * np.abs(front) + (airport == 1), 0, None).round()
    rain = np.where((front > 1) & (humidity > 75), rng.exponential(0.05, n).round(2), 0)
    gusty = rng.random(n) < 0.22
    return pd.DataFrame(
        {
            "origin": pd.Categorical(np.array(["EWR", "JFK", "LGA"])[airport]),
            "month": hour // 730 + 1.0,
            "day": hour % 730 // 24 + 1.0,
            "hour": hour % 24.0,
            "temperature": temperature.round(2),
            "dew_point": (temperature - (100 - humidity) / 3).round(2),
            "humidity": humidity.round(2),
            "wind_direction": np.where(rng.random(n) < 0.02, np.nan, rng.integers(0, 37, n) * 10.0),
            "wind_speed": wind,
            "wind_gust": np.where(gusty, wind * 1.3 + rng.gamma(2, 2, n), np.nan).round(),
            "precipitation": rain,
            "pressure": np.where(rng.random(n) < 0.1, np.nan, 1017.9 - 5 * front + rng.normal(0, 3, n)).round(1),
            "visibility": np.where(rain > 0, np.clip(10 - rng.gamma(1, 4, n), 0.1, 10), 10).round(1),
        }
    )


def smooth(rng: np.random.Generator, n: int, width: int) -> np.ndarray:
    """Standardised noise that changes over `width` rows."""
    noise = np.convolve(rng.normal(size=n + width - 1), np.ones(width), mode="valid")
    return (noise - noise.mean()) / noise.std()


def survey(rng: np.random.Generator) -> pd.DataFrame:
    """Four groups that differ in a fifth of the columns; four traits that numbers depend on."""
    n, half = 1472, 394
    group, traits = rng.integers(4, size=n), rng.normal(size=(n, 4))
    differs = rng.random(2 * half) < 0.2
    numbers = traits @ rng.normal(0, 0.5, (4, half)) + rng.normal(size=(n, half))
    numbers += (rng.normal(0, 1.2, (4, half)) * differs[:half])[group]
    numbers[:, ::3] = np.exp(0.7 * numbers[:, ::3])
    numbers[:, 1::3] = numbers[:, 1::3].round(1)
    frame = pd.DataFrame(numbers, columns=[f"number {j}" for j in range(half)])
    answers = {}
    for j in range(half):
        n_levels = int(rng.integers(2, 7))
        base = rng.dirichlet(np.full(n_levels, 2.0))
        shares = rng.dirichlet(3 * base + 0.2, size=4) if differs[half + j] else np.tile(base, (4, 1))
        codes = (rng.random((n, 1)) > shares.cumsum(axis=1)[group, :-1]).sum(axis=1)
        answers[f"answer {j}"] = pd.Categorical(np.array(list("abcdef"))[codes])
    frame = pd.concat([frame, pd.DataFrame(answers)], axis=1)
    return frame.mask(rng.random(frame.shape) < 0.15)


def flights(rng: np.random.Generator) -> pd.DataFrame:
    """Flights of 16 carriers to 100 airports, whose distance says how long they take; a fortieth is cancelled."""
    n = 8000
    to = rng.choice(100, n, p=rng.dirichlet(np.full(100, 0.7)))
    carrier, origin = (to + rng.geometric(0.3, n)) % 16, rng.integers(3, size=n)
    distance = np.where(rng.random(100) < 0.3, rng.normal(2400, 250, 100), rng.gamma(5, 150, 100)).round()[to] + origin
    planned = np.clip(rng.choice([8, 12, 17], n, p=[0.4, 0.25, 0.35]) + rng.normal(0, 2.5, n), 5, 23.5)
    delay = np.where(rng.random(n) < 0.25, rng.exponential(45, n), rng.normal(-4, 4, n)).round()
    air = (distance / 7.6 + 20 + rng.normal(0, 9, n)).round()
    left, minutes = planned * 60 + delay, np.where(rng.random(n) < 0.025, np.nan, 0.0)
    arrival = delay - 5 + rng.normal(0, 15, n).round()
    return pd.DataFrame(
        {
            "month": rng.integers(1, 13, n).astype(float),
            "day": rng.integers(1, 32, n).astype(float),
            "scheduled_departure": clock(planned * 60),
            "departure": clock(left) + minutes,
            "departure_delay": delay + minutes,
            "scheduled_arrival": clock(planned * 60 + air + 25),
            "arrival": clock(left + air + 25) + minutes,
            "arrival_delay": arrival + minutes,
            "air_time": air + minutes,
            "distance": distance,
            "carrier": pd.Categorical([f"C{k}" for k in carrier]),
            "origin": pd.Categorical(np.array(["EWR", "JFK", "LGA"])[origin]),
            "destination": pd.Categorical([f"A{k:02}" for k in to]),
        }
    )


def clock(minutes: np.ndarray) -> np.ndarray:
    """Minutes since midnight as 517 for 5:17, as airlines write them."""
    whole = np.round(minutes) % 1440
    return 100 * (whole // 60) + whole % 60


TABLES: dict[str, Callable[[np.random.Generator], pd.DataFrame]] = {
    "weather": weather,
    "survey": survey,
    "flights": flights,
}


def stepmix_fit(frame: pd.DataFrame) -> int:
    """The number of components with the least BIC."""
    try:
        from stepmix.stepmix import StepMix
        from stepmix.utils import get_mixed_descriptor
    except ImportError:
        raise SystemExit("StepMix is not installed: pip install stepmix, or time Fusewise alone (--ours)") from None

    levels = frame.select_dtypes("category")
    numbers = frame.drop(columns=levels.columns)
    codes = levels.apply(lambda column: column.cat.codes.astype(float).where(column.notna()))
    coded = pd.concat([(numbers - numbers.mean()) / numbers.std(), codes], axis=1)
    kinds = {"continuous_nan": [*numbers.columns], "categorical_nan": [*levels.columns]}
    X, measurement = get_mixed_descriptor(coded, **kinds)
    scores = {}
    for k in range(1, MOST_COMPONENTS + 1):
        try:
            model = StepMix(k, measurement=measurement, random_state=0, verbose=0, progress_bar=0).fit(X)
            scores[k] = float(model.bic(X))
        except ValueError:  # probabilities that are not numbers, where a variance is zero
            continue
    if not scores:
        raise SystemExit("StepMix failed with every number of components")
    return min(scores, key=lambda k: scores[k])


def line(name: str, *, ours_only: bool) -> str:
    """A row of the table that is printed."""
    frame = TABLES[name](np.random.default_rng(0))
    start = time.perf_counter()
    n_clusters = FusionClustering(random_state=0).fit(frame).n_clusters_
    middle = time.perf_counter()
    components = None if ours_only else stepmix_fit(frame)
    seconds, theirs = middle - start, time.perf_counter() - middle
    beside = "| | |" if components is None else f"{theirs:.1f} | {components} | {seconds / theirs:.2f} |"
    shape = f"{frame.shape[0]:,} x {frame.shape[1]}"
    return f"| {name} | {shape} | {GOALS[name]} | {seconds:.1f} | {n_clusters} | {beside}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help=", ".join(TABLES))
    parser.add_argument("--ours", action="store_true", help="without StepMix")
    asked = parser.parse_args()
    unknown = set(asked.tables) - TABLES.keys()
    if unknown:
        parser.error(f"no such table: {', '.join(sorted(unknown))}; use {', '.join(TABLES)}")
    warnings.simplefilter("ignore")  # StepMix divides by variances of zero
    rng = np.random.default_rng(1)
    small = pd.DataFrame(rng.normal(size=(400, 5)), columns=list("abcde"))
    small["f"] = pd.Categorical(rng.choice(["x", "y", "z"], 400))
    FusionClustering().fit(small)
    if not asked.ours:
        stepmix_fit(small)
    print("| table | shape | goal, s | Fusewise, s | clusters | StepMix, s | components | Fusewise / StepMix |")
    print("|---|---|---|---|---|---|---|---|")
    for name in asked.tables or TABLES:
        print(line(name, ours_only=asked.ours), flush=True)


if __name__ == "__main__":
    main()
