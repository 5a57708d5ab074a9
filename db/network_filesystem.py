"""Is a path on a file system that other machines share? SQLite's locks cannot be trusted there."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

NETWORK_TYPES = frozenset(
    {
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "fuse.ceph",
        "fuse.ceph-fuse",
        "fuse.glusterfs",
        "fuse.s3fs",
        "fuse.sshfs",
        "fuse.rclone",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "panfs",
        "pvfs2",
        "smb3",
        "smbfs",
        "virtiofs",
        "wekafs",
    }
)


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of /proc/self/mountinfo."""

    mount_point: PurePosixPath
    filesystem: str


def parse_mountinfo(text: str) -> tuple[Mount, ...]:
    """Every mount of a mountinfo text, in its order; lines that it cannot read are left out."""
    return tuple(mount for line in text.splitlines() if (mount := _parse_line(line)) is not None)


def _parse_line(line: str) -> Mount | None:
    # "36 35 98:0 /root /mnt/point rw,noatime master:1 - ext4 /dev/sda1 rw": the number of fields
    # before the lone hyphen varies, see proc(5).
    before, hyphen, after = line.partition(" - ")
    fields = before.split(" ")
    if not hyphen or len(fields) < 5 or not after:
        return None
    return Mount(PurePosixPath(_unescape(fields[4])), after.split(" ")[0])


def _unescape(field: str) -> str:
    """The kernel writes space, tab, newline and backslash as \\040 and so on."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), field)


def network_filesystem(path: PurePosixPath, mountinfo: str) -> str | None:
    """The type of the network file system that holds `path` (absolute, resolved), or None."""
    holding = [
        mount for mount in parse_mountinfo(mountinfo) if path.is_relative_to(mount.mount_point)
    ]
    if not holding:
        return None
    # The deepest mount point counts; of two on the same one, the later covers the earlier.
    deepest = max(enumerate(holding), key=lambda pair: (len(pair[1].mount_point.parts), pair[0]))
    filesystem = deepest[1].filesystem
    return filesystem if filesystem in NETWORK_TYPES else None
