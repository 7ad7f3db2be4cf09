"""What mkdocs does besides (`hooks` of mkdocs.yml): pages that the navigation does not name are put into it, and the
models' cards find their curves."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

MODELS = Path(__file__).parents[1] / "src" / "deident" / "models"


def on_config(config: Any) -> Any:
    """Records of measurements come under "Measured", other pages that nobody named under "More"."""
    folder = Path(config.docs_dir)
    named = set(_pages(config.nav))
    rest = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))
    rest = [page for page in rest if page not in named]
    # the heading of a record is its command, which is too long for a menu
    measured = [{Path(page).stem: page} for page in rest if page.startswith("results/")]
    more = [page for page in rest if not page.startswith("results/")]
    config.nav = [*config.nav, *({name: pages} for name, pages in (("Measured", measured), ("More", more)) if pages)]
    return config


def _pages(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, list):
        for item in cast(list[object], nav):
            yield from _pages(item)
    elif isinstance(nav, dict):
        for item in cast(dict[str, object], nav).values():
            yield from _pages(item)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """The cards stand on one page, and each names its own `curve.svg`."""
    if page.file.src_uri != "models.md":
        return html
    engines = iter(re.findall(r"Model <code>(\w+)</code>", html))
    return re.sub(r'src="[^"]*curve\.svg"', lambda _: f'src="curve-{next(engines)}.svg"', html)


def on_post_build(config: Any) -> None:
    for curve in sorted(MODELS.glob("*/curve.svg")):
        shutil.copy(curve, Path(config.site_dir) / f"curve-{curve.parent.name}.svg")
