"""The jobs of the Helios trace: CSV, local times without an offset, one row a job.
https://github.com/S-Lab-System-Group/HeliosData
"""

from advisor.failure_logs.clock import Clock
from advisor.failure_logs.formats import Format
from advisor.failure_logs.formats.trace_jobs import has_columns, parse_jobs
from advisor.failure_logs.records import Log


def _recognises(text: str) -> bool:
    return has_columns(text, ("vc", "gpu_num"))


def _parse(text: str, clock: Clock) -> Log:
    return parse_jobs(text, clock, "helios")


FORMAT = Format("the columns job_id, vc, state, start_time, node_num", _recognises, _parse)
