"""Links within the documentation lead somewhere, and every page can be reached."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docpages import PAGES, ROOT

_LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)
_HEADING = re.compile(r"^#+ (.*)$", re.M)


def links(page: Path) -> list[str]:
    """Targets of a page's links to other files or places, without those to the web."""
    found = _LINK.findall(_CODE.sub("", page.read_text()))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """The names that headings get, as GitHub forms them."""
    content = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    plain = (re.sub(r"[^\w\- ]", "", text.lower()) for text in _HEADING.findall(content))
    return {text.strip().replace(" ", "-") for text in plain}


each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@each_page
def test_links_resolve(page: Path) -> None:
    """A relative link names a file that exists, and a heading that it has."""
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_every_page_is_reached_from_the_readme() -> None:
    """Following links from README.md one comes to every page."""
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        targets = (target.partition("#")[0] for target in links(page))
        waiting += [(page.parent / target).resolve() for target in targets if target]
    assert {str(page.relative_to(ROOT)) for page in set(PAGES) - reached} == set()
