"""The jobs of AcmeTrace (Seren and Kalos): CSV, times with their offset, one row a job.
https://github.com/InternLM/AcmeTrace
"""

from advisor.failure_logs.clock import Clock
from advisor.failure_logs.formats import Format
from advisor.failure_logs.formats.trace_jobs import has_columns, parse_jobs
from advisor.failure_logs.records import Log


def _recognises(text: str) -> bool:
    return has_columns(text, ("type", "gpu_num"))


def _parse(text: str, clock: Clock) -> Log:
    return parse_jobs(text, clock, "acme")


FORMAT = Format("the columns job_id, type, state, start_time, node_num", _recognises, _parse)
