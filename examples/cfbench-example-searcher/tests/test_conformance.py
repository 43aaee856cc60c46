"""What cfbench asks of every searcher, a test each."""

from collections.abc import Callable

from cfbench.testing import parametrize_searchers

from cfbench_example_searcher.searcher import cfbench_register_searchers


@parametrize_searchers(*cfbench_register_searchers())
def test_conformance(check: Callable[[], None]) -> None:
    check()
