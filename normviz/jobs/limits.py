"""Limits of one job: seconds on the clock, and memory beyond what its process held when it began."""

import math
import os
from contextlib import suppress
from dataclasses import dataclass


class LimitExceeded(RuntimeError):  # noqa: N818 - the name says what it is
    """Error for a job that exceeded a limit; pages and commands show its message as it is."""


@dataclass(frozen=True)
class JobLimits:
    """Maximal time and memory of one job.

    Attributes:
        seconds: on the clock, from the moment a worker takes the job.
        memory: bytes by which its process may grow. In a process with other jobs these count too.
        device: the share of a GPU's memory that its tensors may hold, 0 to 1.
    """

    seconds: float = math.inf
    memory: float = math.inf
    device: float = math.inf

    def check(self, seconds: float, memory_growth: int, device_share: float = 0.0) -> None:
        """Raise LimitExceeded if a job exceeds its seconds, bytes of main memory, or share (0 to 1) of GPU memory."""
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
                f"is the most here. A smaller batch or a smaller network would do."
            )


NO_LIMITS = JobLimits()


def read_resident_memory(process: int | str = "self") -> int:
    """Return the bytes of main memory that a process (its id) holds; 0 outside Linux, where they are unknown."""
    with suppress(OSError), open(f"/proc/{process}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
