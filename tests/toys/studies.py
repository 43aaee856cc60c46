"""One small study of the toy plugin, as keys and as options of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TOY = Path(__file__).parent / "toy_plugin.py"
LOSS_ALONE = Path(__file__).parent / "loss_alone_plugin.py"

STUDY: dict[str, Any] = {
    "name": "toys",
    "datasets": ["toy"],
    "models": ["threshold"],
    "searchers": ["toy-dice"],
    "metrics": ["success"],
    "folds": [0],
    "points": 2,
    "repetitions": 1,
    "tracking": "none",
}
CELL = ["--plugin", str(TOY), "--dataset", "toy", "--model", "threshold", "--metric", "success", "--fold", "0"]
ONCE = ["--repetitions", "1", "--tracking", "none", "--workers", "1", "--time-limit", "none"]
