"""What many ask for at once is computed once."""

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from threading import Barrier, Event

from normviz.core.locks import serialize_calls

MANY = 8


def test_what_many_ask_for_at_once_is_computed_once():
    together, made, on = Barrier(MANY), [], Event()

    @serialize_calls
    @lru_cache(maxsize=2)
    def doubled(number):
        """Twice a number."""
        made.append(number)
        on.wait(0.2)  # nobody sets it: time for the others to come
        return 2 * number

    def ask(_):
        together.wait()
        return doubled(21)

    with ThreadPoolExecutor(MANY) as pool:
        assert [*pool.map(ask, range(MANY))] == [42] * MANY
    assert made == [21]
    assert doubled.__doc__ == "Twice a number."


def test_an_error_leaves_the_turn_to_the_next():
    @serialize_calls
    def fails(number):
        return 1 / number

    with ThreadPoolExecutor(2) as pool:
        assert isinstance(pool.submit(fails, 0).exception(), ZeroDivisionError)
        assert pool.submit(fails, 2).result() == 0.5
