"""The page as a whole: numbers, figures and words put into one file."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cfbench.analysis.measured import spaces_at_hand
from cfbench.analysis.published import opened_record
from cfbench.analysis.standings import Standings
from cfbench.board.columns import SIGNIFICANCE
from cfbench.board.page.evidence import gather
from cfbench.board.page.figures import page_figures
from cfbench.board.page.svg import draw
from cfbench.board.page.tables import cards, heat_table, ranked_tables, table_columns
from cfbench.board.standings_table import alike, coverage, make_up, searches_a_task
from cfbench.text import plural, visible

if TYPE_CHECKING:
    from cfbench.board.board import Leaderboard
    from cfbench.record.reading import RecordReading
    from cfbench.space.space import FeatureSpace

LIBRARIES = ("counterfactual-bench", "numpy", "scikit-learn", "scipy", "pandas", "numba")


def page_of(shown: Leaderboard, data_file: str = "") -> str:
    """Return a leaderboard's page. Raises RecordError if the record is gone, or may not be read any more."""
    record = shown.reading or opened_record(Path(shown.record), with_published=shown.with_published)
    names = {view.task.dataset for view in shown.board.standings.tasks}
    spaces, _ = spaces_at_hand(sorted(names & shown.registry.datasets.keys()), shown.registry)
    return render_page(shown, record, spaces, data_file)  # features of other data sets have numbers


def render_page(
    shown: Leaderboard, record: RecordReading, spaces: Mapping[str, FeatureSpace], data_file: str = ""
) -> str:
    """Return the leaderboard as one page of HTML."""
    board, standings = shown.board, shown.board.standings
    evidence = gather(board.matrix, record)
    tables = ranked_tables(board, shown.columns, shown.registry)
    drawn = page_figures(board, evidence.progress)
    environment = Environment(
        loader=PackageLoader("cfbench.board", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    folder = files("cfbench.board") / "templates"
    return environment.get_template("page.html.j2").render(
        sentence=headline(standings),
        style=Markup((folder / "page.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        script=Markup((folder / "page.js").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        facts=[*_facts(shown), *_machines(record)],
        lede=_lede(standings),
        incomplete=_incomplete(standings),
        notes=[visible(note) for note in shown.notes],
        tables=tables,
        significance=SIGNIFICANCE,
        effort=next((figure for figure in drawn if figure.name == "effort"), None),
        figures=[figure for figure in drawn if figure.name != "effort"],
        draw=draw,
        filters=_filters(standings),
        heat=heat_table(board),
        pairs=[(standings.rows[pair.first], standings.rows[pair.second], pair) for pair in standings.pairs],
        cards=cards(board, evidence.examples, spaces),
        failures=evidence.failures,
        anything=bool(standings.ranked),
        data_file=data_file,
        legend=_legend(standings, shown),
        surroundings=_surroundings(),
        Markup=Markup,
    )


def headline(standings: Standings) -> str:
    """Say which searcher leads, by how much, on what; every number in it is in the table below."""
    ranked, tasks = standings.ranked, plural(len(standings.in_play), "task")
    if not ranked:
        said = standings.verdict or "no searcher is ranked"
        return f"{said[0].upper()}{said[1:]}."
    if len(ranked) == 1:
        return f"{visible(ranked[0].label)} alone ran on every point of {tasks}: there is no other to rank it with."
    number = ranked[0].position.number if ranked[0].position is not None else 1
    first = [row for row in ranked if row.position is not None and row.position.number == number]
    others = [row for row in ranked if row not in first]
    leads = "lead" if len(first) > 1 else "leads"
    wins = f"{first[0].wins} won" if len(first) == 1 else f"won: {_joined([str(row.wins) for row in first])}"
    named = _joined([visible(row.label) for row in first])
    result = f"{named} {leads} with mean rank {first[0].rank:.1f} on {tasks} ({wins})"
    if not others:
        return f"{result}."
    alike = [row for row in others if row.group and row.group == ranked[0].group]
    if alike:
        close = _joined([f"{visible(row.label)} ({row.rank:.1f})" for row in alike])
        return f"{result}, but {close} {'is' if len(alike) == 1 else 'are'} not significantly worse."
    following = f"{visible(others[0].label)} follows with {others[0].rank:.1f}"
    if not ranked[0].group:
        return f"{result}; {following}, and {tasks} {'is' if tasks == '1 task' else 'are'} too few for a test."
    return f"{result}; {following}, a significant difference."


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _lede(standings: Standings) -> str:
    """Say what the ranks are of, in two sentences."""
    tasks, common = make_up(standings), alike(standings)
    what = "objective value that the task asks for" if standings.robust else "loss"
    return (
        f"Tasks: {tasks}{f'; {common}' if common else ''}. At each point searchers are ranked by the {what}; "
        f"{standings.tolerance}; not found ranks last."
    )


def _facts(shown: Leaderboard) -> list[tuple[str, str]]:
    board, standings = shown.board, shown.board.standings
    facts = [
        ("record", shown.record),
        ("board", board.mark[:12]),
        ("seed", ", ".join(map(str, board.seeds)) or "not told"),
        ("rendered", datetime.now(UTC).date().isoformat()),
        ("cells", coverage(standings)),
        ("tasks", make_up(standings)),
        ("searches", searches_a_task(standings)),
        ("alike", alike(standings)),
        ("reference", board.reference),
    ]
    return [(term, visible(text)) for term, text in facts if text]


def _machines(record: RecordReading) -> list[tuple[str, str]]:
    """Say what the searches ran on."""
    machines = record.machines()
    if not machines:
        return []
    kinds = {
        f"{one.get('processor', 'unknown')}, {one.get('cores', '?')} cores, {one.get('system', '')}" for one in machines
    }
    versions = {
        f"{name} {one[name]}"
        for one in machines
        for name in ("counterfactual-bench", "python", "scikit-learn")
        if name in one
    }
    return [("machine", visible("; ".join(sorted(kinds)))), ("versions", visible(", ".join(sorted(versions))))]


def _incomplete(standings: Standings) -> str:
    """Say that cells failed or were not run; empty where none did."""
    counts = ((standings.failed, "failed"), (standings.not_run, "that others have were not run"))
    listed = " and ".join(f"{plural(count, 'cell')} {what}" for count, what in counts if count)
    return f"Incomplete: {listed}." if listed else ""


def _filters(standings: Standings) -> list[tuple[str, str, list[str]]]:
    """Return what can be chosen: name, words, values."""
    parts = [view.task.parts for view in standings.tasks]
    choices = {part: list(dict.fromkeys(of_task[part] for of_task in parts)) for part in parts[0]} if parts else {}
    return [(part.replace(" ", ""), part, values) for part, values in choices.items() if len(values) > 1]


def _legend(standings: Standings, shown: Leaderboard) -> list[tuple[str, str]]:
    columns = table_columns(standings, shown.columns)
    legend = [(column.title or column.name, column.explained) for column in columns if column.legend]
    if any(row.group for row in standings.rows):
        legend.append(SIGNIFICANCE)
    if standings.limits:
        legend.append(("limits", visible(standings.limits)))
    return legend


def _surroundings() -> list[tuple[str, str]]:
    found = [("Python", platform.python_version()), ("system", f"{platform.system()} {platform.machine()}")]
    for library in LIBRARIES:
        try:
            found.append((library, version(library)))
        except PackageNotFoundError:
            found.append((library, "not installed"))
    return found


def _shown(value: object) -> object:
    """Make names and reasons of plugins and data harmless wherever the page shows them; what is ours stays."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "\n".join(visible(line) for line in value.split("\n"))
