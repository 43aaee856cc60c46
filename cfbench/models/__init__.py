"""What families of scikit-learn classifiers share: encoding, tuning, and `SklearnFamily`.

Imports `registry` and what is below it. Start with `sklearn_family.py`, then `scikit_model.py`.

The names below are public. They are loaded when they are first used; `best_of_grid` and `quiet_training` load
scikit-learn, so import them inside functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench.lazy import public_names

if TYPE_CHECKING:
    from cfbench.models.encoding import Encoding as Encoding
    from cfbench.models.encoding import OneHot as OneHot
    from cfbench.models.encoding import fit_encoding as fit_encoding
    from cfbench.models.scikit_model import RANDOM_STATE as RANDOM_STATE
    from cfbench.models.scikit_model import ScikitModel as ScikitModel
    from cfbench.models.scikit_model import n_classes_of as n_classes_of
    from cfbench.models.scikit_model import without_names as without_names
    from cfbench.models.tuning import best_of_grid as best_of_grid
    from cfbench.models.tuning import quiet_training as quiet_training

__all__, __getattr__, __dir__ = public_names(__name__)
