"""Writes the pages of docs/ that are read off the program: commands, public names, settings.

    python -m scripts.references          write them
    python -m scripts.references --check  exit code 1 if one is out of date

`tests/test_docs.py` checks the same.
"""

import ast
import dataclasses
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import typer.main

import deident
from deident import cli, config

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "deident"
COLUMNS = 100  # of the help that is shown
WRITTEN = "<!-- written by `python -m scripts.references`; change the program, not this page -->"


# --- commands --------------------------------------------------------------------------------------------------------


def commands() -> str:
    """Every command with what `--help` says of it."""
    parts = [
        "# Commands",
        WRITTEN,
        "What `deident COMMAND --help` says. Results go to standard output or to the file that is named, progress and "
        "messages to standard error. Exit codes: 0 all done, 1 some notes failed (each with one line on standard "
        "error), 2 the command itself cannot be.",
    ]
    for path, help_text in _helps(cast(Any, typer.main.get_command(cli.app)), "deident", None):
        level = "##" if len(path.split()) < 3 else "###"
        parts.append(f"{level} {path}\n\n```text\n{help_text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def _helps(command: Any, path: str, parent: Any) -> Iterator[tuple[str, str]]:
    width = {"terminal_width": COLUMNS, "max_content_width": COLUMNS}
    context = command.context_class(command, info_name=path.split()[-1], parent=parent, **width)
    yield path, "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        yield from _helps(inner, f"{path} {name}", context)


# --- public names ----------------------------------------------------------------------------------------------------


def names() -> str:
    """Every public name of `deident` with its signature, its docstring, and its public parts."""
    parts = [
        "# Public names",
        WRITTEN,
        "What `import deident` gives. [From Python](api.md) shows how it is used; the settings that `load` takes by "
        "name stand in [Settings](settings.md). Everything else may change from one version to the next.",
    ]
    for name in deident.__all__:
        module = getattr(deident, name).__module__
        tree = ast.parse(_source(module))
        node = next(item for item in tree.body if _named(item) == name)
        parts.append(f"## `deident.{name}`")
        parts += _of_class(node) if isinstance(node, ast.ClassDef) else _of_function(cast(Any, node))
    return "\n\n".join(parts) + "\n"


def _source(module: str) -> str:
    path = SOURCE.joinpath(*module.split(".")[1:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return file.read_text(encoding="utf-8")


def _named(node: ast.stmt) -> str | None:
    return node.name if isinstance(node, ast.ClassDef | ast.FunctionDef) else None


def _of_function(node: ast.FunctionDef) -> list[str]:
    returns = f" -> {ast.unparse(node.returns).strip(chr(39))}" if node.returns else ""
    bare = ast.unparse(node.args).removeprefix("self, ").removeprefix("cls, ")
    bare = "" if bare in ("self", "cls") else bare
    shown = f"{node.name}({bare}){returns}"
    return [f"```py\n{shown}\n```", *_told(node)]


def _told(node: ast.ClassDef | ast.FunctionDef) -> list[str]:
    said = ast.get_docstring(node)
    if said is None:
        return []
    # "name: what it is", at the beginning of a line, says what a parameter is
    return [re.sub(r"(?m)^([a-z_]+): ", r"- `\1`: ", said)]


def _of_class(node: ast.ClassDef) -> list[str]:
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    parts = [f"```py\nclass {node.name}{f'({bases})' if bases else ''}\n```", *_told(node)]
    held = [item for item in node.body if isinstance(item, ast.AnnAssign) and not _private(ast.unparse(item.target))]
    if held:
        rows = [f"| `{ast.unparse(item.target)}` | {_code(ast.unparse(item.annotation))} |" for item in held]
        parts.append("\n".join(["| field | type |", "|---|---|", *rows]))
    members = [ast.unparse(item.targets[0]) for item in node.body if isinstance(item, ast.Assign)]
    if any(base.endswith("Enum") for base in bases.split(", ")):
        parts.append("Members: " + ", ".join(f"`{member}`" for member in members if not _private(member)) + ".")
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and not _private(item.name) and not _decorated(item, "overload"):
            shown = _of_function(item)
            if _decorated(item, "property"):
                returns = f": {ast.unparse(item.returns)}" if item.returns else ""
                shown[0] = f"```py\n{item.name}{returns}\n```"
            parts += [f"### `{node.name}.{item.name}`", *shown]
    return parts


def _private(name: str) -> bool:
    return name.startswith("_")


def _decorated(node: ast.FunctionDef, name: str) -> bool:
    return any(ast.unparse(decorator) == name for decorator in node.decorator_list)


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def _comment(lines: list[str], node: ast.stmt) -> str:
    """What the line that ends a statement says behind it."""
    line = lines[cast(int, node.end_lineno) - 1].encode()[cast(int, node.end_col_offset) :].decode()
    return line.strip().removeprefix("#").strip().replace("|", "\\|")


# --- settings --------------------------------------------------------------------------------------------------------


def settings() -> str:
    """Every key of the settings file, with its default and what it means."""
    source = _source("deident.config")
    classes = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    lines = source.splitlines()
    parts = [
        "# Settings",
        WRITTEN,
        "One TOML file (`--config FILE`, or `deident.load(FILE)`); an unknown key, or a value of the wrong kind, is an "
        "error. Options of the command line go before it. Settings of `[detect]`, `[patients]`, `[scrub]` and "
        "`[limits]` may also be given to `deident.load` by name.",
        '    [detect]\n    engine = "fast"\n    roster = "patients.csv"\n\n    [scrub]\n    policy = "safe-harbor"',
    ]
    for section in dataclasses.fields(config.Config):
        held = getattr(config.Config(), section.name)
        node = classes[type(held).__name__]
        rows = {ast.unparse(item.target): item for item in node.body if isinstance(item, ast.AnnAssign)}
        parts.append(f"## `[{section.name}]`")
        parts.append(cast(str, ast.get_docstring(node)))
        table = ["| key | default | |", "|---|---|---|"]
        for item in dataclasses.fields(held):
            default = _code(_toml(getattr(held, item.name)))
            table.append(f"| `{item.name}` | {default} | {_comment(lines, rows[item.name])} |")
        parts.append("\n".join(table))
    return "\n\n".join(parts) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in cast(tuple[object, ...], value)) + "]"
    if isinstance(value, Mapping):
        return "{}"
    return str(value)


PAGES: Mapping[str, Callable[[], str]] = {"cli.md": commands, "python.md": names, "settings.md": settings}


def main() -> int:
    stale = [name for name, page in PAGES.items() if not _same(DOCS / name, page())]
    if "--check" in sys.argv[1:]:
        print(*(f"docs/{name} is out of date: python -m scripts.references" for name in stale), sep="\n")
        return 1 if stale else 0
    for name in stale:
        (DOCS / name).write_text(PAGES[name](), encoding="utf-8")
        print(f"docs/{name}")
    return 0


def _same(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
