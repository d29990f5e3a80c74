"""Pages that are made from the code are as the code would make them now."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from types import ModuleType

import pytest
from docpages import ROOT


def cards() -> ModuleType:
    """The generator, which stands beside the package and not in it."""
    spec = importlib.util.spec_from_file_location("cards", ROOT / "scripts" / "cards.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["cards"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", sorted(cards().PAGES))
def test_generated_page_is_current(name: str) -> None:
    """The page equals what its generator writes: run ``python scripts/cards.py`` if not."""
    assert (ROOT / "docs" / name).read_text() == cards().PAGES[name]()


def test_every_dependency_has_its_reason() -> None:
    """docs/dependencies.md has a row for each dependency of the project and for no other."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    rows = (ROOT / "docs" / "dependencies.md").read_text().splitlines()
    named = {row.split("`")[1] for row in rows if row.startswith("| `")}
    assert named == {requirement.split(">")[0].split("<")[0] for requirement in wanted}
