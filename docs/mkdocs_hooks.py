"""What the manual has in addition to the Markdown files of this folder, while ``mkdocs build`` makes it.

- Pages of the repository's root, with links that lead to pages of the site. All files stay where readers of the
  repository look for them, and their links work in both places.
- The end of two reference pages: every command with its options, and every name of the public namespaces.
"""

from __future__ import annotations

import importlib
import pkgutil
import posixpath
import re
from collections.abc import Callable, Iterator
from inspect import cleandoc
from pathlib import Path

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import cfbench
from cfbench.cli import cli

PROJECT = {f"project/{name.lower()}": name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")}
"""Address in the manual -> file in the repository's root."""
ADDRESSES = {f"../{name}": address for address, name in PROJECT.items()}
LINK = re.compile(r"(?<=\]\()([^)\s#]+\.md)(?=[)#])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the repository's root."""
    root = Path(config.config_file_path).parent
    for address, name in PROJECT.items():
        files.append(File.generated(config, address, abs_src_path=str(root / name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page with its generated end, whose links to Markdown files lead to where these are in the manual."""
    here = page.file.src_uri
    in_repository = PROJECT.get(here, posixpath.join("docs", here))

    def in_manual(link: re.Match[str]) -> str:
        if "://" in link[1]:
            return link[1]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(in_repository), link[1]))
        source = posixpath.relpath(target, "docs")
        return posixpath.relpath(ADDRESSES.get(source, source), posixpath.dirname(here) or ".")

    generated = "\n".join(GENERATED[here]()) if here in GENERATED else ""
    return LINK.sub(in_manual, markdown) + generated


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return a page without the roles that docstrings give names, as in ``:class:`Problem```, and without the
    backslashes that the repository's web view needs before a vertical line in a table's code.
    """
    html = re.sub(r":(?:class|data|func|meth|mod):(?=<code>)", "", html)
    return re.sub(r"<td\b.*?</td>", lambda cell: cell[0].replace("\\|", "|"), html, flags=re.DOTALL)


def commands() -> Iterator[str]:
    """Yield the lines that describe every command, as its ``--help`` does."""
    yield from commands_below(click.Context(cli, info_name="cfbench"), "##")


def commands_below(context: click.Context, heading: str) -> Iterator[str]:
    """Yield the lines that describe the commands of a group."""
    group = context.command
    assert isinstance(group, click.Group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        usage = " ".join(command.collect_usage_pieces(inner))
        described = (literal(paragraph) for paragraph in cleandoc(command.help or "").split("\n\n"))
        yield from ("", f"{heading} {inner.command_path}", "")
        yield from (line for paragraph in described for line in (paragraph, ""))
        yield from ("```text", f"{inner.command_path} {usage}", "```", "")
        if isinstance(command, click.Group):
            yield from commands_below(inner, f"{heading}#")
        else:
            records = (option.get_help_record(inner) for option in command.get_params(inner))
            yield from ("| option | meaning |", "| --- | --- |")
            yield from (f"| `{cell(names)}` | {cell(literal(text))} |" for names, text in filter(None, records))


def literal(text: str) -> str:
    """Return a paragraph of plain text, with names in backquotes, so that Markdown shows it as it is."""
    text = text.replace("\b\n", "").replace("&", "&amp;").replace("<", "&lt;")
    return "`".join(
        part if position % 2 else re.sub(r"([*_\[\]])", r"\\\1", part) for position, part in enumerate(text.split("`"))
    )


def cell(text: str) -> str:
    """Return a text as the cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def namespaces() -> Iterator[str]:
    """Yield the lines from which mkdocstrings describes every name of the public namespaces."""
    for found in pkgutil.iter_modules(cfbench.__path__, "cfbench."):
        module = importlib.import_module(found.name)
        if found.ispkg and hasattr(module, "__all__"):
            yield from ("", f"## {found.name}", "", (module.__doc__ or "").partition("\n")[0], "")
            for public in module.__all__:
                yield from (f"::: {found.name}.{public}", "")


GENERATED: dict[str, Callable[[], Iterator[str]]] = {
    "reference/cli.md": commands,
    "reference/namespaces.md": namespaces,
}
