"""Names of genes on a page and on a screen, and sentences in singular and plural."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import reportkit as kit
from cuesta.cli.tables import first_text, names_text, typed_text
from cuesta.report import render
from cuesta.report.records import group, to_run

HUBS = {
    "kind": "table", "title": "Genes with the most edges",
    "columns": ["gene", "in", "out", "total"],
    "rows": [["<b>TP53 (6055)", 12, 300, 312], ["MDM2 (7)", 9, 1, 10]],
}  # fmt: skip
NAMES = {"path": "/data/genes.tsv", "genes": 6_830, "sha256": "0" * 64}


def text_of(record: kit.Record) -> str:
    """Return the text of a page, without any elements that a name may have injected."""
    html = render(group([to_run(record, "run.json")]))
    assert "<b>TP53" not in html
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def named() -> Any:
    record = kit.degrees(preview=[HUBS], names=NAMES)
    record["time"]["naming_seconds"] = 0.5
    return record


def test_a_page_names_genes_and_the_source_of_the_names() -> None:
    text = text_of(named())
    assert "the best connected gene, <b>TP53 (6055), has 312." in text
    assert "Names of genes are from /data/genes.tsv; their numbers are in brackets." in text
    assert "500 ms names and graph" in text
    plain = text_of(kit.degrees())
    assert "the best connected gene has 312." in plain
    assert "ames of genes" not in plain
    assert "names and graph" not in plain


def test_a_screen_names_genes_and_the_source_of_the_names() -> None:
    record = named()
    assert first_text(record) == "genes with the most edges: <b>TP53: 312 edges, MDM2: 10 edges"
    assert names_text(record) == "of 6,830 genes from /data/genes.tsv"
    assert "names and graph 500 ms" in typed_text(record)
    groups = {**HUBS, "title": "Largest communities",
              "columns": ["community (its smallest gene)", "genes", "its first genes"],
              "rows": [["7", 300, "MDM2, TP53, …"]]}  # fmt: skip
    record = kit.communities(preview=[groups], names=NAMES)
    assert first_text(record) == "largest communities: 7 (MDM2, TP53, …)"
    pairs = {**HUBS, "title": "Strongest pairs", "columns": ["gene 1", "gene 2", "score"],
             "rows": [["MDM2 (7)", "TP53 (3)", "0.900000"]]}  # fmt: skip
    assert first_text(kit.native(preview=[pairs])) == "strongest pairs: MDM2 (7) \u2013 TP53 (3)"
    assert first_text(kit.degrees()) == first_text(kit.communities()) == ""
    assert names_text(kit.degrees()) == ""


def test_a_single_community_holds_its_genes() -> None:
    record = kit.communities()
    record["answer"]["counts"] |= {"communities": 1, "genes_grouped": 3_811}
    assert "1 community holds 3,811 of 6,830 genes; the largest has" in text_of(record)
    assert "5 communities hold 4,060 of 6,830 genes" in text_of(kit.communities())
