"""What a job may take of the machine at most: time on the clock, and memory beyond what was taken when it began."""

import math
import os
from contextlib import suppress
from dataclasses import dataclass


class LimitExceeded(RuntimeError):  # noqa: N818 - the name says what it is
    """Which limit a job has come to, and what would do; pages and the command line show it as it is."""


@dataclass(frozen=True)
class Limits:
    """The most that one job may take.

    Attributes:
        seconds: on the clock, from when a worker takes it.
        memory: bytes of main memory that its process may grow by. Only in a process of its own is that the job's alone.
        device: the share of a GPU's memory that its tensors may hold.
    """

    seconds: float = math.inf
    memory: float = math.inf
    device: float = math.inf

    def check(self, seconds: float, memory_growth: int, device_share: float = 0.0) -> None:
        """Raise OverLimit where a job has taken more than it may; `held`: its share of a GPU's memory."""
        if seconds > self.seconds:
            raise LimitExceeded(
                f"The job was ended after {self.seconds:g} s, the most that one may take here; fewer steps or a "
                "smaller network would do."
            )
        if memory_growth > self.memory:
            raise LimitExceeded(
                f"The job was ended when it had taken {memory_growth / 2**20:,.0f} MB of main memory; "
                f"{self.memory / 2**20:,.0f} MB is the most here. A smaller batch or a smaller network would do."
            )
        if device_share > self.device:
            raise LimitExceeded(
                f"The job was ended when it had taken {device_share:.0%} of the GPU's memory; {self.device:.0%} "
                f"is the most "
                "here. A smaller batch or a smaller network would do."
            )


NO_LIMITS = Limits()


def read_resident_memory(process: int | str = "self") -> int:
    """Bytes of memory that a process of this machine holds now; 0 where the system does not tell, as outside Linux."""
    with suppress(OSError), open(f"/proc/{process}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
