"""The page as a whole: numbers, figures and words put into one file."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cfbench.analysis.positions import ALPHA
from cfbench.analysis.standings import Standings, State
from cfbench.counts import plural
from cfbench.harness.store.machines import read_machines
from cfbench.leaderboard.header import alike, coverage, make_up, searches_a_task
from cfbench.leaderboard.notes import notes_of
from cfbench.leaderboard.page import figures
from cfbench.leaderboard.page.evidence import gather
from cfbench.leaderboard.page.main_table import filter_data, headings, lines, table_columns
from cfbench.leaderboard.page.tasks import cards, heat_rows
from cfbench.leaderboard.safe import visible
from cfbench.leaderboard.standing_columns import StandingColumn

if TYPE_CHECKING:
    from cfbench.harness.store.reading import RecordReading
    from cfbench.leaderboard.shown import Leaderboard
    from cfbench.space import FeatureSpace

LIBRARIES = ("counterfactual-bench", "numpy", "scikit-learn", "scipy", "pandas", "numba")


def render_page(
    shown: Leaderboard, record: RecordReading, spaces: Mapping[str, FeatureSpace], data_file: str = ""
) -> str:
    """Return the leaderboard as one page of HTML.

    Parameters
    ----------
    shown : Leaderboard
        The numbers.
    record : RecordReading
        What they were computed from; its searches are read once, for figures and examples.
    spaces : mapping of str to FeatureSpace
        By the name of the data set, for the names of features; features of others have numbers.
    data_file : str
        Name of a CSV file beside the page that holds every number; empty where there is none.
    """
    board, standings = shown.board, shown.board.standings
    evidence = gather(board.contest, record)
    columns = table_columns(board, shown.columns)
    robustness = next((metric.label for metric in standings.metrics if metric.label == "k-robustness"), "")
    drawn = [
        figures.ranks(standings),
        figures.robustness_tradeoff(standings, robustness) if robustness else None,
        figures.effort_tradeoff(standings),
        figures.solved_over_rows(standings, evidence.progress),
    ]
    environment = Environment(
        loader=PackageLoader("cfbench.leaderboard", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    folder = files("cfbench.leaderboard") / "templates"
    return environment.get_template("page.html.j2").render(
        sentence=headline(standings),
        style=Markup((folder / "page.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        script=Markup((folder / "page.js").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        filter_data=Markup(filter_data(standings)),  # noqa: S704 - JSON whose `<` and `&` are escaped
        facts=[*_facts(shown), *_machines(record)],
        incomplete=_incomplete(standings),
        notes=[visible(note) for note in notes_of(shown)],
        headings=headings(columns),
        lines=lines(board, columns),
        alpha=ALPHA,
        tied=any(row.position is not None and row.position.shared for row in standings.rows),
        figures=[figure for figure in drawn if figure is not None],
        filters=_filters(standings),
        tasks=[visible(view.label) for view in standings.tasks],
        heat=heat_rows(board),
        duels=_duels(standings),
        cards=cards(board, evidence.examples, spaces),
        failures=evidence.failures,
        data_file=data_file,
        legend=_legend(columns),
        surroundings=_surroundings(),
        Markup=Markup,
    )


def headline(standings: Standings) -> str:
    """Say the result in one sentence."""
    ranked, tasks = standings.ranked, plural(len(standings.in_play), "task")
    if not ranked:
        return standings.verdict or "Nobody is ranked."
    if len(ranked) == 1:
        return f"{visible(ranked[0].label)} alone was asked every point of {tasks}: there is nobody to rank it against."
    first = [visible(row.label) for row in ranked if row.position is not None and row.position.number == 1]
    if len(first) == 1:
        return f"{first[0]} leads on {tasks}."
    names = f"{', '.join(first[:-1])} and {first[-1]}"
    return f"{names} lead; they are not told apart on {tasks}."


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
    machines = read_machines(record.path)
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
    """Say what is missing, and of whom; empty where nothing is."""
    if standings.ran == standings.cells:
        return ""
    lacking = [
        f"{visible(row.label)} ({row.complete} of {len(standings.in_play)} tasks)"
        for row in standings.rows
        if row.state in (State.NOT_RANKED, State.FAILED, State.SKIPPED)
    ]
    listed = f" Not ranked, because tasks are missing: {', '.join(lacking)}." if lacking else ""
    return f"Incomplete: {coverage(standings)}.{listed}"


def _filters(standings: Standings) -> list[tuple[str, str, list[str]]]:
    """Return what can be chosen: name, words, values."""
    values: dict[str, list[str]] = {"dataset": [], "model": [], "objective": [], "constraints": []}
    for view in standings.tasks:
        task = view.task
        named = (task.dataset, task.model, task.objective, "on" if task.constraints else "off")
        for name, value in zip(values, named, strict=True):
            if value not in values[name]:
                values[name].append(value)
    words = {"dataset": "data set", "model": "model", "objective": "objective", "constraints": "constraints"}
    return [(name, words[name], chosen) for name, chosen in values.items() if len(chosen) > 1]


def _duels(standings: Standings) -> list[tuple[str, str, str, str]]:
    rows = standings.rows
    found = []
    for duel in standings.duels:
        total = duel.wins + duel.losses + duel.ties
        p = "too few tasks" if duel.p is None else f"p = {duel.p:.3g}" if duel.p >= 0.001 else "p < 0.001"
        count = f"{duel.wins}-{duel.losses}-{duel.ties} of {total}"
        found.append((visible(rows[duel.first].label), visible(rows[duel.second].label), count, p))
    return found


def _legend(columns: list[StandingColumn]) -> list[tuple[str, str]]:
    return [
        (column.title or column.name, f"{column.legend}{f' ({column.counted})' if column.counted else ''}")
        for column in columns
        if column.legend
    ]


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
