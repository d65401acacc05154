"""What is said about clusters: every statement is true, says something, and agrees with the others."""

import re

import numpy as np
import pandas as pd
import pytest

from fusewise import FusionClustering, PenalizedFusion
from fusewise.penalties import H1
from fusewise.views._columns import TableColumn
from fusewise.views._rules import ClusterRule, Condition, judged, search
from fusewise.views._sentences import Trait, cluster_names

AGAINST = re.compile(r"\((?:median )?(.+?) against (.+?) elsewhere\)")


def two_groups(n=60, **columns):
    """Two groups of n rows, far apart in three columns, beside other columns given as (first, second) group."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(2 * n, 3)) + np.repeat([[0.0], [9.0]], n, axis=0), columns=list("abc"))
    return frame.assign(**{name: np.concatenate(parts) for name, parts in columns.items()})


def of_first(frame):
    """The description of the cluster of the first row, and the whole description."""
    model = FusionClustering(n_clusters=2).fit(frame)
    described = model.describe()
    return described.clusters[model.labels_[0]], described


def differ_most(described):
    """The columns named as those in which the clusters differ most."""
    text = " ".join(repr(described).split())
    return re.findall(r"(\S+) \(\d+%\)", re.search(r"differ most in (.*?)\. Percentages", text)[1])


def test_words_hold_the_numbers(described, frame):
    labels = described._findings.labels
    for cluster in described.clusters:
        member = labels == cluster.cluster
        assert cluster.sentence.startswith(f"{member.sum()} rows ({member.mean():.0%}). ")
        assert len(cluster.traits) == 3
        for name, said in zip(cluster.columns, cluster.traits, strict=True):
            if "median" in said and frame[name].dtype == float:
                here, there = frame[name][member].median(), frame[name][~member].median()
                assert said.startswith("higher" if here > there else "lower")
                assert f"{here:.3g}" in said.replace("−", "-")


def test_equal_medians_are_not_set_against_each_other():
    """Rain on half of the days against one in ten: both medians are 0, and are not said."""
    rng = np.random.default_rng(1)
    wet, dry = (np.where(rng.random(60) < share, rng.gamma(2.0, 5.0, 60), 0.0) for share in (0.48, 0.05))
    cluster, _ = of_first(two_groups(rain=(wet, dry)).drop(columns="c"))
    said = next(trait for trait in cluster.traits if "rain" in trait)
    here, there = AGAINST.search(said).groups()
    assert said.startswith("more often rain > 0")
    assert (here, there) == (f"{(wet > 0).mean():.0%}", f"{(dry > 0).mean():.0%}")


def test_printed_numbers_differ_in_every_statement():
    rng = np.random.default_rng(2)
    k = np.repeat([0, 1], 60)
    many = np.array([f"town {j:02d}" for j in np.where(k, rng.integers(0, 40, 120), rng.integers(20, 60, 120))])
    frame = two_groups(
        close=(1000 + rng.normal(0, 0.01, 60), 1000.2 + rng.normal(0, 0.01, 60)),
        zero=(np.where(rng.random(60) < 0.4, 1.0, 0.0), np.zeros(60)),
        town=(many[:60], many[60:]),
    )
    described = FusionClustering(categorical_features=["town"]).fit(frame[["a", "close", "zero", "town"]]).describe()
    pairs = AGAINST.findall(repr(described).replace("\n", " "))
    assert len(pairs) >= 4
    assert all(here != there for here, there in pairs)


@pytest.mark.parametrize("kind", ["number", "category"])
def test_a_column_that_was_hardly_observed_describes_nothing(kind):
    """Eight values of 300 rows, all different between the groups: they are no statement about the groups."""
    few = [np.full(300, np.nan) for _ in range(2)]
    few[0][:8], few[1][:8] = 1.0, 5.0
    frame = two_groups(300, rare=few)
    if kind == "category":
        frame["rare"] = frame["rare"].map({1.0: "low", 5.0: "high"}).astype("category")
    cluster, described = of_first(frame)
    assert "rare" not in " ".join(cluster.traits)
    assert "rare" not in differ_most(described)
    assert "1 column has too few observed values to compare the clusters: rare." in " ".join(repr(described).split())


def test_one_definition_of_differ(described):
    """What differs most is a trait of a cluster, is drawn as such, and is not among what does not differ."""
    text = " ".join(repr(described).split())
    silent = set(re.search(r"No difference between the clusters was found in 1 column: (\w+)\.", text)[1].split(", "))
    traits = {name for cluster in described.clusters for name in cluster.columns}
    assert set(differ_most(described)) <= traits
    assert silent == {"noise"}
    assert not silent & traits
    assert {c.name for of in described.contrasts.clusters for c in of if c.differs}.isdisjoint(silent)


def test_missing_values_are_a_trait_only_where_the_test_finds_them(tmp_path):
    """Sixty columns with holes by chance: in some they differ by 25% between 12 and 100 rows, which means nothing."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(112, 60)), columns=[f"v{j}" for j in range(60)])
    frame = frame.mask(rng.random(frame.shape) < 0.15)
    gaps, kinds = frame.isna(), np.repeat([1, 0], [12, 100])
    assert (gaps[:12].mean() - gaps[12:].mean()).abs().max() > 0.25
    frame["v0"] = rng.normal(size=112) + 30 * kinds
    model = FusionClustering(semi_supervised=True).fit(frame, kinds)
    assert np.array_equal(model.labels_, kinds)
    assert "missing" not in " ".join(trait for of in model.describe().clusters for trait in of.traits)
    assert "No dependence of missingness" in model.report(tmp_path / "page.html").read_text("utf-8")


def test_long_questions_have_names_that_can_be_told_apart():
    """A survey: names of clusters are short, keep what differs, and quote answers that hold a comma."""
    rng = np.random.default_rng(0)
    k = np.repeat([0, 1, 2], 60)
    answers = np.array(["No, not at all rude", "Yes, very rude"])
    asked = "Is it rude to ask someone to switch seats with you in order to be closer to {}?"
    rude = [(k == j) ^ (rng.random(180) < 0.04) for j in range(2)]
    frame = pd.DataFrame({asked.format(whom): answers[rude[j] + 0] for j, whom in enumerate(("family", "friends"))})
    described = FusionClustering(n_clusters=3).fit(frame).describe()
    names = [cluster.name for cluster in described.clusters]
    assert len({name[:44] for name in names}) == 3
    assert all(len(part) < 70 for name in names for part in re.split(", (?=Is)", name))
    assert any(re.fullmatch(r'Is it rude to…to family\? "Yes, very rude".*', name) for name in names), names
    assert all('= "No, not at all rude"' in str(rule) or '= "Yes, very rude"' in str(rule) for rule in described.rules)


def test_rules_and_medians_write_numbers_alike():
    rng = np.random.default_rng(0)
    incomes = [rng.integers(*ends, 60) for ends in ((20_000, 30_000), (70_000, 90_000))]
    cluster, _ = of_first(two_groups(income=incomes).drop(columns=["b", "c"]))
    assert re.search(r"median 2\d,\d{3} against [78]\d,\d{3} elsewhere", cluster.sentence)
    assert re.fullmatch(r"income ≤ 29,\d{3}", str(cluster.rule))


def test_profile_and_sentences_agree(described):
    """The drawn effect of a number has the sign of "higher" or "lower", also in a skewed column."""
    from fusewise.plots import ProfileDisplay

    rng = np.random.default_rng(5)
    low, high = rng.lognormal(0, 1, 60), rng.lognormal(1.5, 1, 60)
    low[0] = 5000.0  # so that the mean of the lower group is the larger one
    cluster, other = of_first(two_groups(skewed=(low, high)).drop(columns="c"))
    assert "lower skewed" in " ".join(cluster.traits)
    model = other._findings.model
    pytest.importorskip("matplotlib").use("Agg")
    shown = ProfileDisplay.from_estimator(model)
    effects = dict(zip(shown.features, shown.effects[cluster.cluster], strict=True))
    assert effects["skewed"] < -0.3
    assert (shown.effects[0] * shown.effects[1] <= 0).all()  # of two clusters, one is higher and one lower
    brute = np.sign(low[:, None] - high[None]).mean()
    assert effects["skewed"] == pytest.approx(brute)


def test_ordered_levels_and_flags_are_one_line_of_the_profile(frame):
    pytest.importorskip("matplotlib").use("Agg")
    from fusewise.plots import ProfileDisplay

    lines = ProfileDisplay.from_estimator(FusionClustering().fit(frame)).features
    levels = [f"colour={level}" for level in ('O\'Neil "x"', "blue", "red")]
    assert sorted(lines) == sorted(["height", "seats", "middle", "noise", "size", "wet=True", *levels])


def test_years_are_years():
    rng = np.random.default_rng(6)
    frame = two_groups(year=(rng.integers(1985, 1992, 60), rng.integers(2004, 2012, 60)))
    text = repr(of_first(frame)[1])
    assert re.search(r"\b(19|20)\d\d\b", text)
    assert not re.search(r"\b[12],\d{3}\b", text)


def test_a_range_is_said_where_values_are_neither_higher_nor_lower():
    rng = np.random.default_rng(1)
    X = np.column_stack([np.repeat([-8.0, 0.0, 8.0], 40), np.repeat([0.0, 9.0, 0.0], 40)]) + rng.normal(size=(120, 2))
    model = FusionClustering().fit(X)
    cluster = model.labels_[60]
    said = model.describe().clusters[cluster]
    inside = X[model.labels_ == cluster, 0]
    low, high = np.quantile(inside, [0.1, 0.9])
    within = [((x >= low) & (x <= high)).mean() for x in (inside, X[model.labels_ != cluster, 0])]
    shares = f"({within[0]:.0%} against {within[1]:.0%} elsewhere)"
    assert f"x0 from {low:.3g} to {high:.3g} {shares}".replace("-", "−") in said.apart


def test_one_cluster_is_explained():
    model = FusionClustering().fit(np.random.default_rng(0).normal(size=(120, 4)))
    described = model.describe()
    assert described.headline == "1 cluster in 120 rows and 4 columns; all values observed."
    assert described.clusters[0].sentence == "120 rows (100%). Every row: there is only one cluster."
    best = int(np.argmax(model.path_.criteria[1:])) + 1
    small, large = sorted(np.bincount(model.path_.partitions[best]))
    assert described.certainty.number == (
        f"1 cluster: no split is supported. The best would separate {small} from {large} rows. To see it, set "
        "n_clusters=2."
    )
    assert len(described.certainty.advice) == 3
    assert described.rules[0].conditions == ()


@pytest.mark.parametrize("gap", [0.0, 2.0, 3.2, 9.0])
def test_the_number_of_clusters_and_its_rivals(gap):
    """Every other number that is about as good is said, as a range if there are several; no log-likelihoods."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(90, 2)) + np.repeat([[0.0, 0.0], [gap, 0.0], [0.0, gap]], 30, axis=0)
    model = FusionClustering().fit(X)
    said, others = model.describe().certainty.number, sorted(other.n_clusters for other in model.alternatives())
    assert "likelihood" not in said
    assert ("not sure" in said) == (len(others) > 1 or 1 in others or (model.n_clusters_ == 1 and bool(others)))
    if others and model.n_clusters_ > 1:
        assert str(others[0]) in said
        assert str(others[-1]) in said
        assert said.count(",") <= 2


def test_that_more_clusters_have_a_larger_criterion_is_said():
    """Days along the seasons, dry or wet: a continuum that more clusters describe ever better."""
    rng = np.random.default_rng(0)
    season = rng.uniform(0, 2 * np.pi, 500)
    rain = np.where(rng.random(500) < 0.4 + 0.2 * np.cos(season), rng.gamma(1, 5, 500), 0).round(1)
    warmest = 15 - 9 * np.cos(season) - (rain > 0) * 3 + rng.normal(0, 3, 500)
    sky = np.where(rain > 0, "rain", rng.choice(["sun", "fog"], 500, p=[0.8, 0.2]))
    frame = pd.DataFrame({"rain": rain, "warmest": warmest, "coldest": 0.7 * warmest - 3, "sky": sky})
    model = FusionClustering().fit(frame)
    best = max(model.alternatives(), key=lambda other: other.gain)
    assert best.gain > 2 * best.error
    assert f"The criterion is largest for {best.n_clusters}; the fewest" in model.describe().certainty.number


def test_a_number_that_was_requested():
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0], [9.0]], 30, axis=0)
    said = [FusionClustering(n_clusters=k).fit(X).describe().certainty.number for k in (1, 2)]
    assert said == ["1 cluster, as requested.", "2 clusters, as requested; no smaller number is about as good."]


def test_doubtful_rows_and_their_second_cluster():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + np.repeat([[0.0, 0.0], [3.2, 0.0]], 150, axis=0)
    model = FusionClustering(n_clusters=2).fit(X)
    sure = model.describe().certainty
    doubtful = np.flatnonzero(model.confidence_ < 0.8)
    assert sorted(row.row for row in sure.doubtful) == doubtful.tolist() != []
    assert sure.n_doubtful == len(doubtful)
    confidences = [row.confidence for row in sure.doubtful]
    assert confidences == sorted(confidences)
    for row in sure.doubtful:
        if row.cluster >= 0:
            order = np.argsort(-model.probabilities_[row.row])
            assert (row.cluster, row.second) == tuple(order[:2])
            assert row.second_probability == pytest.approx(model.probabilities_[row.row, order[1]])
    for k, cluster in enumerate(sure.clusters):
        assert cluster.mean == pytest.approx(model.confidence_[model.labels_ == k].mean())


def test_the_plain_algorithm_has_no_confidence():
    X = np.random.default_rng(0).normal(size=(30, 2)) + np.repeat([[0.0], [20.0]], 15, axis=0)
    described = PenalizedFusion(0.3, penalty=H1(2.0)).fit(X).describe()
    assert described.certainty.number == "The paper's algorithm does not compare numbers of clusters."
    assert described.certainty.n_doubtful == 0
    assert [cluster.mean for cluster in described.certainty.clusters] == [None] * len(described.clusters)


@pytest.mark.parametrize("gap", [2.6, 12.0])
def test_clusters_without_a_gap_are_said_everywhere(gap, tmp_path):
    """By the model, in words and on the page, if and only if the two overlap."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 2)) + np.repeat([[0.0, 0.0], [gap, 0.0]], 200, axis=0)
    model = FusionClustering(n_clusters=2).fit(X)
    page = model.report(tmp_path / "p.html").read_text("utf-8")
    for said in (" ".join(model.limits_), " ".join(repr(model.describe()).split()), page):
        assert ("There is no gap between clusters 0 and 1" in said) == (gap < 3)


def test_a_saved_model_describes_itself(described, tmp_path):
    from fusewise.saving import load, save

    model = described._findings.model
    save(model, tmp_path / "model.fusewise")
    assert repr(load(tmp_path / "model.fusewise").describe()) == repr(described)


def test_clusters_that_differ_in_the_same_way_have_different_names():
    """Four groups along one column: two of them are high, and two low, in nothing but this column."""
    rng = np.random.default_rng(0)
    size = np.repeat([1.0, 10, 100, 1000], 40) * np.exp(rng.normal(0, 0.1, 160))
    frame = pd.DataFrame({"size": size, "weight": 3 * size * np.exp(rng.normal(0, 0.1, 160))})
    described = FusionClustering(n_clusters=4).fit(frame.apply(np.log)).describe()
    names = [cluster.name for cluster in described.clusters]
    assert len(set(names)) == 4, names


def test_entries_below_a_limit_are_said_to_be_below_it():
    """Two thirds of a group are below the limit of detection: its median is, and the values above it are not it."""
    rng = np.random.default_rng(9)
    frame = two_groups(iron=(rng.uniform(0, 3, 60), rng.uniform(2, 6, 60))).drop(columns=["b", "c"])
    upper = np.where((frame < 2) & (frame.columns == "iron"), 2.0, np.nan)
    model = FusionClustering(n_clusters=2).fit(frame.mask(upper == 2.0), upper=upper)
    described = model.describe()
    group = described.clusters[model.labels_[0]]
    contrast = next(c for c in described.contrasts.clusters[group.cluster] if c.name == "iron")
    high = frame["iron"][model.labels_ != group.cluster].median()
    assert any(said.startswith("lower iron (median below 2 against") for said in group.traits), group.traits
    assert contrast.inside.median == 2.0
    assert contrast.outside.median == pytest.approx(high)
    assert "exact" not in repr(described)


def test_a_value_that_nothing_is_below_is_said_itself():
    """Rain = 0, and not rain ≤ 0; a rule says month = 1, and 35 ≤ wind ≤ 60 instead of two conditions."""
    rng = np.random.default_rng(1)
    wet, dry = (np.where(rng.random(60) < share, rng.gamma(2.0, 5.0, 60), 0.0) for share in (0.48, 0.0))
    cluster, described = of_first(two_groups(rain=(wet, dry)).drop(columns="c"))
    other = described.clusters[1 - cluster.cluster]
    assert any(said.startswith("more often rain = 0 (100% against") for said in other.traits), other.traits
    assert (
        "finds 100% of the cluster, and >99% of the 230 rows"
        in ClusterRule(0, (Condition("a", ">", 1.0),), 229 / 230, 1.0, 230).success
    )
    columns = [TableColumn("wind", "number", np.repeat([10.0, 35.0, 60.0, 90.0], 20))]
    middle = np.repeat([False, True, True, False], 20)
    assert judged(0, search(columns, middle), columns, middle).text == "35 ≤ wind ≤ 60"
    lowest = search(columns, np.repeat([True, False, False, False], 20))
    assert [str(condition) for condition in lowest] == ["wind = 10"]
    levels = [TableColumn("size", "ordered", np.repeat([0.0, 1, 2, 3], 20), levels=("XS", "S", "M", "L"))]
    assert [str(condition) for condition in search(levels, middle)] == ["size from S to M"]


def test_names_of_the_same_properties_in_another_order_are_told_apart():
    said = [[Trait(c, "", f"{c} ▲ {v}", f"high {c}") for c in of] for of, v in (("abc", 1), ("bad", 2), ("xy", 3))]
    names = cluster_names(said)
    assert names == ("high a, high b, high c", "high b, high a, high d", "high x, high y")
