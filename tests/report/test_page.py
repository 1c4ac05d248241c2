"""The report: one page that needs nothing else, with its data beside it."""

import csv
import re
from html.parser import HTMLParser

import pytest

from simonides.curves import mechanism, storage
from simonides.report.page import write_report


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    tables = {"load": storage.load(100), "hebbian": mechanism.hebbian(50)}
    return write_report(out, tables), tables


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
    assert not re.findall(r'(?:src|href)="(?!data:|#)', text)
    assert not re.findall(r"@import|url\(", text)


def test_the_page_shows_the_numbers(written):
    path, tables = written
    text = path.read_text()
    for row in tables["load"].records():
        if row["dimension"] == 4096:
            assert f"{row['facts']:,.0f}" in text
    assert text.count("<figure>") == len(tables)


def test_data_and_pictures_lie_beside_it(written):
    path, tables = written
    for name, table in tables.items():
        with (path.parent / "figures" / f"{name}.csv").open() as file:
            rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]
        assert rows == table.records()
        for ending in ("svg", "png"):
            assert (path.parent / "figures" / f"{name}.{ending}").stat().st_size > 1000


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(ValueError, match="out ="):
        write_report(tmp_path / "taken", {})
