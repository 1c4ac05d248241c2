"""The report: one page that needs nothing else, with its data beside it."""

import csv
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from simonides.curves import storage
from simonides.curves.table import Table
from simonides.experiments.sweep import Tally
from simonides.report.files import write_report
from simonides.report.page import linked
from simonides.reproduction.catalogue import FIGURES
from simonides.reproduction.claims.claim import Agreement, PaperClaim
from simonides.reproduction.plans import PLANS
from simonides.reproduction.results import Reproduction

CLAIMS = [
    PaperClaim("one", "It holds <always>", "1/2", "0.4997 ± 0.0012", Agreement.AGREES, "sweeps/x"),
    PaperClaim(
        *("two", "It is equal", "0", "2.1 ± 0.3%", Agreement.DISAGREES),
        data="sweeps/thresholds, Figure difference, Figure C.1",
        criterion="agrees within a tenth, a line's width",
    ),
]


def planted():
    """Return the tables of two figures, made up."""
    dims = np.array([25.0, 50.0])
    excess = {
        name: np.array([0.02, 0.01])
        for name in (
            "excess", "excess_stderr",
            "original_over_theory", "original_over_theory_stderr",
            "decoupled_over_theory", "decoupled_over_theory_stderr",
        )
    }  # fmt: skip
    seconds = {
        "decoupled": np.array([0.0, 1.0, 0.0, 1.0]),
        "dim": np.full(4, 25.0),
        "decision": np.array([0.0, 0.0, 1.0, 1.0]),
        "seconds": np.full(4, 0.2),
        "seconds_lower": np.full(4, 0.1),
        "seconds_upper": np.full(4, 0.4),
    }
    return {
        "difference": {"measured": Table("measured", "", {"dim": dims, **excess})},
        "cost": {"measured": Table("measured", "", seconds)},
    }


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    tables = planted()
    reproduction = Reproduction(
        PLANS["quick"],
        [FIGURES[name] for name in tables],
        tables,
        CLAIMS,
        {"load": storage.load(100)},
        {"accuracy-1": Tally(117, 115, 2)},
        {"accuracy-1": 12.5, "claims": 3.0},
        {"accuracy-1": 2345.6},
    )
    return write_report(out, reproduction), tables


@pytest.mark.slow
def test_the_page_is_well_formed(written):
    path, _ = written
    open_tags = []

    class Checker(HTMLParser):
        def handle_starttag(self, tag, attrs):
            if tag not in {"meta", "img"}:
                open_tags.append(tag)

        def handle_endtag(self, tag):
            assert open_tags.pop() == tag

    Checker().feed(path.read_text())
    assert open_tags == []


def test_the_page_needs_no_network(written):
    path, _ = written
    text = path.read_text()
    assert not re.findall(r'(?:src|href)="(?!data:|#|figures/|sweeps/)', text)
    assert not re.findall(r"@import|url\(|https?://", text)


def test_the_page_shows_every_figure_claim_and_setting(written):
    path, tables = written
    text = path.read_text()
    assert text.count("<figure>") == len(tables) + 1
    for name in tables:
        assert f'id="{FIGURES[name].file}"' in text
    assert "It holds &lt;always&gt;" in text
    assert "2.1 ± 0.3%" in text
    assert '<b class="disagrees">disagrees</b>' in text
    assert "1 agrees, 1 disagrees" in text
    assert "115 done, 2 failed" in text
    assert "<td>2,345.6</td><td>12.5</td>" in text
    assert "NumPy" in text


def test_signals_have_a_part_of_their_own(tmp_path):
    skips = {"skip": np.array([1.0, 2.0]), "cosine": np.array([0.9, 0.4])}
    settings = {"critical": 1.1, "target": 0.9}
    tables = {
        "measured": Table("skip", "", skips | {"cosine_stderr": np.full(2, 0.01)}, settings),
        "theory": Table("skip", "", skips | {"cosine_limit": np.array([0.9, 0.4])}, settings),
    }
    claim = PaperClaim(
        "skip", "It stays apart", "0.9", "0.91", Agreement.AGREES, "signal", topic="signal"
    )
    reproduction = Reproduction(
        PLANS["quick"], [FIGURES["signal-skip"]], {"signal-skip": tables}, [*CLAIMS, claim]
    )
    text = write_report(tmp_path, reproduction).read_text()
    storage, signals = text.split('<h2 id="signals">')
    assert "It is equal" in storage
    assert "It is equal" not in signals
    assert "It stays apart" in signals
    assert "It stays apart" not in storage
    assert 'id="signal-skip"' in signals
    assert "Of 3 claims checked by this run: 2 agrees, 1 disagrees" in text


def test_links_lead_somewhere(written):
    text = written[0].read_text()
    assert {*re.findall(r'href="#([^"]+)"', text)} <= {*re.findall(r'id="([^"]+)"', text)}


def test_a_claim_leads_to_its_figure_and_its_records(written):
    text = written[0].read_text()
    assert '<a href="#difference">Figure difference</a>' in text
    for place in range(1, len(PLANS["quick"].sweeps["thresholds"]) + 1):
        assert f'<a href="sweeps/thresholds-{place}/rows">sweeps/thresholds-{place}</a>' in text
    assert "Figure C.1" in text  # which this page does not show
    assert "within a tenth" in text


def test_a_claim_on_signals_leads_to_its_figure_and_its_tables():
    text = linked("signal/depth.json, Figure signal-depth", {}, ["signal-depth"])
    assert '<a href="signal/depth.json">signal/depth.json</a>' in text
    assert '<a href="#signal-depth">Figure signal-depth</a>' in text


def test_files_named_under_a_figure_are_there(written):
    path = written[0]
    named = re.findall(r'href="(figures/[^"]+)"', path.read_text())
    assert len(named) == 3 * 3 + 3
    assert all((path.parent / name).stat().st_size for name in named)


def test_data_and_pictures_lie_beside_it(written):
    path, tables = written
    for name, parts in tables.items():
        file = FIGURES[name].file
        for part, table in parts.items():
            with (path.parent / "figures" / f"{file}-{part}.csv").open() as read:
                rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(read)]
            assert rows == table.records()
        for ending in ("svg", "pdf", "png"):
            assert (path.parent / "figures" / f"{file}.{ending}").stat().st_size > 1000
    assert (path.parent / "claims.json").exists()


def test_times_lie_beside_it(written):
    *parts, drawing = json.loads((written[0].parent / "times.json").read_text())
    assert drawing["part"] == "drawing"
    assert drawing["seconds"] > 0
    assert parts == [
        {"part": "accuracy-1", "tasks": 117, "task_seconds": 2345.6, "seconds": 12.5},
        {"part": "claims", "tasks": None, "task_seconds": None, "seconds": 3.0},
    ]


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(ValueError, match="out ="):
        write_report(tmp_path / "taken", Reproduction(PLANS["quick"], [], {}, []))
