"""Write the JSON schemas of the TOML files next to this script: ``python docs/reference/schemas.py``.

Editors check and complete a TOML file with them. A test compares the files with the code.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from cfbench import Study
from cfbench.tables.annotation import AnnotationTable

MODELS: dict[str, type[BaseModel]] = {"study.schema.json": Study, "annotations.schema.json": AnnotationTable}


def schema_of(model: type[BaseModel]) -> str:
    """Return the JSON schema of a model as text, with the first sentences of docstrings as descriptions."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()}
    for part in (schema, *schema["$defs"].values()):
        part["description"] = summary(part)
    return json.dumps(schema, indent=2) + "\n"


def summary(part: dict[str, Any]) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join(str(part["description"]).partition("\n\n")[0].replace("``", "").split())


if __name__ == "__main__":
    for name, model in MODELS.items():
        Path(__file__).with_name(name).write_text(schema_of(model), encoding="utf-8")
