"""A PostgreSQL role that may read what is the advisor's, and write nothing.

SELECT on our tables and views, and by default on those that an upgrade makes later. Each of its
transactions only reads unless it says otherwise, and no statement runs for long; but a session may
change both, so what counts is what it was never granted. What every role may do (PUBLIC) it may do
too: temporary tables and large objects are taken from all, as far as whoever makes the role may.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Engine, text

from db.errors import DatabaseError, UnreachableError
from db.models import Base
from db.schema import VERSION_TABLE, check_schema
from db.session import read, shown, sqlite_path, write
from db.views import VIEWS

STATEMENT_TIMEOUT_S = 60.0
IDLE_TRANSACTION_TIMEOUT_S = 600.0
_LONGEST_MS = 2_147_483_647  # about 24 days and 20 hours: what the server holds in an integer
OBJECTS = (*sorted(Base.metadata.tables), *sorted(VIEWS), VERSION_TABLE)
"""All that is ours."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,62}")
_RESERVED = ("public", "none")
_LARGE_OBJECTS = (
    *("lo_creat", "lo_create", "lo_from_bytea", "lo_put", "lo_truncate", "lo_truncate64"),
    *("lo_unlink", "lowrite", "lo_import"),
)
"""Functions that write large objects; older servers let them through in a read-only transaction."""


class RoleRefusedError(DatabaseError):
    """No such role can be made: its name, or what a role of that name may do already."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the tables are, and what whoever looks may do there."""

    database: str
    schema: str
    owner: str
    """Of the tables: what it makes later, the reader may read."""
    me: str
    owns_database: bool
    owns_schema: bool
    is_superuser: bool
    large_object_functions: tuple[str, ...]
    """Those that PUBLIC may call, with their arguments."""
    role_exists: bool

    def for_administrator(self) -> "Place":
        """The same to somebody who may do anything."""
        return replace(self, owns_database=True, owns_schema=True, is_superuser=True)


@dataclass(frozen=True, slots=True)
class Reader:
    """The role as it is now; `can_still` is what PUBLIC gives it, in words."""

    name: str
    url: str
    """Without a password."""
    was_made: bool
    can_still: tuple[str, ...]


_PLACE = f"""
SELECT current_database() AS database, n.nspname AS schema, pg_get_userbyid(c.relowner) AS owner,
  current_user AS me, u.rolsuper AS is_superuser,
  u.rolsuper OR pg_has_role(d.datdba, 'USAGE') AS owns_database,
  u.rolsuper OR pg_has_role(n.nspowner, 'USAGE') AS owns_schema,
  EXISTS (SELECT 1 FROM pg_roles WHERE rolname = :name) AS role_exists
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_database d ON d.datname = current_database()
JOIN pg_roles u ON u.rolname = current_user
WHERE c.oid = to_regclass('{VERSION_TABLE}')
"""  # noqa: S608 - a name of our own
_FUNCTIONS = """
SELECT CAST(CAST(p.oid AS regprocedure) AS TEXT)
FROM pg_proc p
WHERE p.pronamespace = CAST('pg_catalog' AS regnamespace) AND p.proname = ANY(:names)
  AND has_function_privilege(CAST(:role AS TEXT), p.oid, 'EXECUTE')
ORDER BY 1
"""
_MORE_THAN_READING = """
SELECT r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolreplication OR r.rolbypassrls
    AS is_powerful,
  r.rolname = current_user AS is_me,
  EXISTS (SELECT 1 FROM pg_auth_members m WHERE m.member = r.oid) AS is_member
FROM pg_roles r
WHERE r.rolname = :name
"""
_OWNED = """
SELECT CASE WHEN d.dbid IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
  THEN pg_describe_object(d.classid, d.objid, d.objsubid)
  ELSE 'something in another database' END
FROM pg_shdepend d
JOIN pg_roles r ON r.oid = d.refobjid
WHERE d.refclassid = CAST('pg_authid' AS regclass) AND d.deptype = 'o' AND r.rolname = :name
ORDER BY 1
LIMIT 1
"""
_WRITABLE = """
SELECT c.relname
FROM pg_class c
WHERE c.relnamespace = CAST(:schema AS regnamespace) AND c.relname = ANY(:objects)
  AND (has_table_privilege(CAST(:name AS TEXT), c.oid, 'DELETE, TRUNCATE, TRIGGER')
    OR has_any_column_privilege(CAST(:name AS TEXT), c.oid, 'INSERT, UPDATE, REFERENCES'))
ORDER BY 1
LIMIT 1
"""
_CAN_STILL = """
SELECT has_database_privilege(CAST(:name AS TEXT), current_database(), 'TEMPORARY') AS temporary,
  has_database_privilege(CAST(:name AS TEXT), current_database(), 'CREATE') AS schemas,
  has_schema_privilege(CAST(:name AS TEXT), CAST(:schema AS TEXT), 'CREATE') AS tables
"""


def require_name(name: str) -> None:
    """Raises RoleRefusedError for what can be no role of ours."""
    if not _NAME.fullmatch(name) or name.startswith("pg_") or name.lower() in _RESERVED:
        raise RoleRefusedError(
            f"{name[:80]!r} cannot be the role's name: letters, digits, _ and -, at most 63, a "
            "letter first, and not pg_..., such as advisor_reader"
        )


def require_time_limit(limit_s: float) -> None:
    """Raises RoleRefusedError for what the server does not take, or takes for no limit."""
    if not 1.0 <= limit_s * 1000.0 <= _LONGEST_MS:
        raise RoleRefusedError("the time limit must be from 1ms to 24d, such as 60s")


def require_server(url: str) -> None:
    """Raises RoleRefusedError for a SQLite file, with what to do instead."""
    if sqlite_path(url) is not None:
        raise RoleRefusedError(
            f"{shown(url)} is a SQLite file, which knows no roles: take the right to write from "
            "the others (chmod go-w), or give them a copy"
        )


def look(engine: Engine, name: str) -> Place:
    """Where the tables are, and whether there is a role of that name.

    Raises RoleRefusedError on SQLite, for a malformed name, and for a role that could do more than
    read; and as `check_schema` does.
    """
    require_name(name)
    require_server(engine.url.render_as_string(hide_password=False))
    check_schema(engine)
    return read(engine, lambda connection: _look(connection, name))


def _look(connection: Connection, name: str) -> Place:
    row = connection.execute(text(_PLACE), {"name": name}).mappings().one()
    place = Place(**row, large_object_functions=_functions(connection, "public"))
    if place.role_exists:
        _refuse_more_than_reading(connection, name, place)
    else:
        _refuse_writing(connection, name, "public", place)  # which would be the role's as well
    return place


def _functions(connection: Connection, role: str) -> tuple[str, ...]:
    values = {"names": list(_LARGE_OBJECTS), "role": role}
    return tuple(connection.execute(text(_FUNCTIONS), values).scalars())


def make_reader(
    engine: Engine,
    name: str,
    password: str | None = None,
    *,
    statement_timeout_s: float = STATEMENT_TIMEOUT_S,
    keep_public: bool = False,
) -> Reader:
    """Makes the role, or grants one that is there what it lacks; again changes nothing.

    `password` None: of a new role none, of another the one that it has. The server hears its
    digest only, so that no log of statements holds it. `keep_public` takes nothing from PUBLIC.
    Raises RoleRefusedError where the role could do more than read, UnreachableError where whoever
    asks may not make it.
    """
    place = look(engine, name)

    def change(connection: Connection) -> Reader:
        verifier = None if password is None else _verifier(connection, name, password)
        for statement in statements(
            place,
            name,
            verifier,
            statement_timeout_s=statement_timeout_s,
            keep_public=keep_public,
            role_exists=_exists(connection, name),
        ):
            connection.exec_driver_sql(statement)
        _refuse_more_than_reading(connection, name, place)
        return Reader(
            name,
            _url_of(engine, name),
            not place.role_exists,
            tuple(_can_still(connection, name, place)),
        )

    try:
        return write(engine, change)
    except UnreachableError as error:
        if getattr(getattr(error.__cause__, "orig", None), "sqlstate", None) != "42501":
            raise
        raise UnreachableError(
            f"{error}, create roles that is, and that owns the tables; or let an "
            f"administrator run what `advisor db reader {name} --print` shows"
        ) from error


def statements(
    place: Place,
    name: str,
    verifier: str | None,
    *,
    statement_timeout_s: float = STATEMENT_TIMEOUT_S,
    keep_public: bool = False,
    role_exists: bool = False,
) -> list[str]:
    """The SQL that makes the role; `verifier` is the digest of its password. Pure.

    Raises RoleRefusedError for a time limit that is none.
    """
    require_time_limit(statement_timeout_s)
    role, schema, database = _quoted(name), _quoted(place.schema), _quoted(place.database)
    password = "" if verifier is None else f" PASSWORD '{verifier}'"
    found = [] if role_exists else [f"CREATE ROLE {role} LOGIN{password}"]
    if role_exists and password:
        found.append(f"ALTER ROLE {role}{password}")
    found += [
        f"ALTER ROLE {role} SET default_transaction_read_only = on",
        f"ALTER ROLE {role} SET statement_timeout = '{round(statement_timeout_s * 1000)}ms'",
        f"ALTER ROLE {role} SET idle_in_transaction_session_timeout = "
        f"'{round(IDLE_TRANSACTION_TIMEOUT_S * 1000)}ms'",
        f"GRANT CONNECT ON DATABASE {database} TO {role}",
        f"GRANT USAGE ON SCHEMA {schema} TO {role}",
        f"GRANT SELECT ON {', '.join(f'{schema}.{_quoted(each)}' for each in OBJECTS)} TO {role}",
        f"ALTER DEFAULT PRIVILEGES FOR ROLE {_quoted(place.owner)} IN SCHEMA {schema} "
        f"GRANT SELECT ON TABLES TO {role}",
    ]
    if place.schema != "public":
        found.append(f"ALTER ROLE {role} IN DATABASE {database} SET search_path = {schema}")
    return found if keep_public else [*found, *_taken_from_public(place)]


def _taken_from_public(place: Place) -> Iterator[str]:
    """What is every role's, as far as this one may take it; who upgrades keeps what that needs."""
    owner, schema, database = map(_quoted, (place.owner, place.schema, place.database))
    if place.owns_database:
        yield f"GRANT TEMPORARY ON DATABASE {database} TO {owner}"
        yield f"REVOKE TEMPORARY ON DATABASE {database} FROM PUBLIC"
    if place.owns_schema:
        yield f"GRANT CREATE ON SCHEMA {schema} TO {owner}"
        yield f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC"
    if place.is_superuser and place.large_object_functions:
        listed = ", ".join(place.large_object_functions)
        yield f"REVOKE EXECUTE ON FUNCTION {listed} FROM PUBLIC"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _exists(connection: Connection, name: str) -> bool:
    found = connection.execute(text("SELECT 1 FROM pg_roles WHERE rolname = :name"), {"name": name})
    return found.first() is not None


def _verifier(connection: Connection, name: str, password: str) -> str:
    driver: Any = connection.connection.driver_connection
    digest = driver.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256")
    return str(bytes(digest), "ascii")


def _refuse_more_than_reading(connection: Connection, name: str, place: Place) -> None:
    row = connection.execute(text(_MORE_THAN_READING), {"name": name}).mappings().one()
    owned = connection.execute(text(_OWNED), {"name": name}).scalar()
    everybody = set(_can_still(connection, "public", place))
    own = [each for each in _can_still(connection, name, place) if each not in everybody]
    for reason, holds in (
        ("it is the role that asks", row["is_me"]),
        ("it is a superuser, or may make roles or databases", row["is_powerful"]),
        ("it is a member of another role", row["is_member"]),
        (f"it owns {owned}", owned is not None),
        (f"it was given the right to {own[0] if own else ''}", bool(own)),
    ):
        if holds:
            raise _refused(name, reason)
    _refuse_writing(connection, name, name, place)


def _refuse_writing(connection: Connection, name: str, role: str, place: Place) -> None:
    """Where `role` may write to anything of ours, be it to one column."""
    values = {"name": role, "schema": _quoted(place.schema), "objects": list(OBJECTS)}
    writable = connection.execute(text(_WRITABLE), values).scalar()
    if writable is not None:
        raise _refused(name, f"it may write to {writable}")


def _refused(name: str, reason: str) -> RoleRefusedError:
    return RoleRefusedError(f"the role {name} can do more than read: {reason}; choose another name")


def _can_still(connection: Connection, name: str, place: Place) -> Iterator[str]:
    values = {"name": name, "schema": place.schema}
    row = connection.execute(text(_CAN_STILL), values).mappings().one()
    if row["temporary"]:
        yield "make temporary tables"
    if row["schemas"]:
        yield "make schemas"
    if row["tables"]:
        yield f"make tables in the schema {place.schema}"
    if _functions(connection, name):
        yield "make large objects"


def _url_of(engine: Engine, name: str) -> str:
    url = engine.url.set(username=name, password=None)
    return shown(url.render_as_string(hide_password=True))


def script(
    place: Place, name: str, lines: Sequence[str], *, asks_password: bool = True
) -> Iterable[str]:
    """The statements for an administrator's psql; `\\password` asks for it and sends its digest."""
    yield f"-- in the database {place.database}, as a superuser or as the owner of its tables"
    for line in lines:
        yield f"{line};"
    if asks_password and not place.role_exists:
        yield f"\\password {_quoted(name)}"
