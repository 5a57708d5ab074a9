"""Where the shipped data and the migrations lie: in the wheel first, then in the checkout."""

from pathlib import Path

_SITE = Path(__file__).resolve().parent.parent


def resource_dir(name: str) -> Path:
    """Folder `data`, `migrations` or `docs`.

    Raises FileNotFoundError if neither the wheel nor a checkout has it (a broken install).
    """
    for candidate in (_SITE / "advisor" / "_bundled" / name, _SITE / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"the installation is broken: folder {name!r} is missing; reinstall")
