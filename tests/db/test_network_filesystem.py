"""SQLite on a file system that other machines share is refused, unless a flag accepts the risk."""

from pathlib import Path, PurePosixPath

import pytest

from db.errors import NetworkFilesystemError
from db.first_use import ensure_ready
from db.network_filesystem import NETWORK_TYPES, network_filesystem, parse_mountinfo
from db.session import open_engine, refuse_network_filesystem

MOUNTINFO = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 / /proc rw,nosuid shared:12 - proc proc rw
41 22 0:40 / /home rw,relatime - nfs4 server:/home rw,vers=4.2
42 41 0:41 / /home/local rw master:1 propagate_from:2 - xfs /dev/sdb1 rw
43 22 0:42 / /mnt/my\\040share rw - cifs //server/share rw
44 22 0:43 / /scratch rw - ext4 /dev/sdc1 rw
45 44 0:44 / /scratch rw - beegfs beegfs_nodev rw
a line that is none
"""


@pytest.mark.parametrize(
    ("path", "filesystem"),
    [
        ("/var/lib/advisor.db", None),
        ("/home/me/advisor.db", "nfs4"),
        ("/homely/advisor.db", None),
        ("/home/local/advisor.db", None),
        ("/mnt/my share/advisor.db", "cifs"),
        ("/scratch/advisor.db", "beegfs"),
    ],
)
def test_the_deepest_and_latest_mount_decides(path: str, filesystem: str | None) -> None:
    assert network_filesystem(PurePosixPath(path), MOUNTINFO) == filesystem


def test_an_unreadable_line_is_left_out() -> None:
    assert len(parse_mountinfo(MOUNTINFO)) == 7
    assert parse_mountinfo("") == ()
    assert network_filesystem(PurePosixPath("/a"), "") is None


def mountinfo_of(folder: Path, filesystem: str) -> str:
    return f"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:9 / {folder} rw - {filesystem} x rw\n"


@pytest.mark.parametrize("filesystem", sorted(NETWORK_TYPES))
def test_every_network_type_is_refused_in_one_line(tmp_path: Path, filesystem: str) -> None:
    mountinfo = mountinfo_of(tmp_path, filesystem)
    with pytest.raises(NetworkFilesystemError) as caught:
        refuse_network_filesystem(tmp_path / "new" / "advisor.db", None, mountinfo)
    assert filesystem in str(caught.value)
    assert "ADVISOR_ALLOW_NETWORK_FILESYSTEM=1" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_link_to_a_network_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "shared")
    mountinfo = mountinfo_of(tmp_path / "shared", "nfs")
    with pytest.raises(NetworkFilesystemError):
        refuse_network_filesystem(tmp_path / "link" / "advisor.db", False, mountinfo)


def test_the_flag_and_the_variable_accept_the_risk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mountinfo = mountinfo_of(tmp_path, "nfs")
    refuse_network_filesystem(tmp_path / "a.db", True, mountinfo)
    monkeypatch.setenv("ADVISOR_ALLOW_NETWORK_FILESYSTEM", "1")
    refuse_network_filesystem(tmp_path / "a.db", None, mountinfo)


def test_opening_and_first_use_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("db.session.filesystem_of", lambda path, mountinfo=None: "nfs")
    path = tmp_path / "advisor.db"
    with pytest.raises(NetworkFilesystemError):
        open_engine(str(path))
    with pytest.raises(NetworkFilesystemError):
        ensure_ready(str(path))
    assert list(tmp_path.iterdir()) == []
