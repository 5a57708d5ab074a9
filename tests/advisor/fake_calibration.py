"""Stands in for `python -m measure calibrate`: the same events, a made-up record, no measuring.

python -m tests.advisor.fake_calibration FOLDER END
END: done, other (hardware of another machine), usage, failed, bug, silent (no record), few
(samples), slow (until Ctrl-C).
"""

import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

from tests.db import calibration_records


def emit(event: str, **fields: Any) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


def main(folder: Path, end: str) -> int:
    if end == "usage":
        print("error: '5' is not a size with its unit: write 1MB, 64MB or 1GiB", file=sys.stderr)
        return 2
    asked: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: asked.append(number))
    made = calibration_records.record()
    if end == "other":
        made["cluster"]["cluster"] = "matilda-8xv100"
    if end == "few":
        made["samples"] = made["samples"][:1]
    of = len(made["samples"])
    emit(
        "plan",
        samples=of,
        session=made["session"],
        cluster=made["cluster"]["cluster"],
        hardware=made["cluster"],
        folder=str(folder),
        skipped=made["skipped"],
        notes=[],
    )
    emit("preparing", path="peer")
    for number, sample in enumerate(made["samples"], start=1):
        emit("sample", sample=number, of=of, **sample)
        while end == "slow" and number == of // 2 and not asked:
            time.sleep(0.02)
    if asked:
        return 130
    if end == "failed":
        print("error: peer of 64 bytes: a process was silent for 120 s", file=sys.stderr)
        return 1
    if end == "bug":
        raise RuntimeError("a bug of the measuring side")
    if end == "silent":
        return 0
    emit("calibrated", record=str(calibration_records.write(folder, made)), wall_s=4.5)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
