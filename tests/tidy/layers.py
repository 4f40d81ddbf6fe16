"""What may import what. The table is the one in docs/architecture.md; a package imports only what stands before it."""

from tests.tidy.imports import imports_of

# Bottom to top; packages on one line are siblings and never import each other.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("core.base",),
    ("core.sasl",),
    ("core.sealing",),
    ("core.wire",),
    ("core.records",),
    ("core.log",),
    ("core.peer",),
    ("core.rsm",),
    (
        "core.raft",
        "core.partition",
        "core.metadata",
        "core.groups",
        "core.transactions",
        "core.share_state",
        "core.sharing",
        "core.schemas",
        "core.access",
        "core.quotas",
        "core.delivery",
    ),
    ("core.node",),
    ("core.apis",),
    ("tls", "oauth", "schemas"),
    ("shell",),
    ("client",),
    ("api",),
    ("services",),
    ("spark",),
    ("sim",),
    ("testing",),
    ("cli",),
)
LEVEL_OF = {package: level for level, packages in enumerate(LAYERS) for package in packages}

# Exceptions from "everything before", each for a reason of its own.
FORBIDDEN: dict[str, frozenset[str]] = {
    # A client is not a part of the server, and must work where no server is.
    "client": frozenset({"core.node", "core.apis", "shell"}),
    "api": frozenset({"core.node", "core.apis", "shell"}),
    # The simulator replaces the shell; what needs the real world cannot run in it.
    "sim": frozenset({"shell", "services", "spark"}),
    # Spark is optional: everybody must work without it.
    "testing": frozenset({"spark"}),
    "cli": frozenset({"spark"}),
    "spark": frozenset({"core.node", "core.apis", "shell"}),
}

# The packages that installing Penstock brings, and where they may be used.
CODECS = frozenset({"crc32c", "cramjam"})
THIRD_PARTY: dict[str, frozenset[str]] = {
    "core": CODECS,
    "sim": CODECS,
    # What reads the files of `penstock apply`; an extra.
    "client": CODECS | {"yaml"},
    # The library only where files are sealed.
    "shell": CODECS | {"uvloop", "cryptography"},
    # Only for PKCS12, and to make certificates.
    "tls": frozenset({"cryptography"}),
    # What checks the signatures of tokens; the same extra.
    "oauth": frozenset({"jwt"}),
    # What reads schemas of each format; an extra.
    "schemas": frozenset({"avro", "fastavro", "google", "jsonschema_rs", "proto_schema_parser", "antlr4"}),
    "testing": frozenset({"pytest"}),
    # Reading as a member of a group is left to a client that has been doing it for years.
    "cli": frozenset({"typer", "rich", "click", "confluent_kafka", "obstore", "duckdb", "pyarrow", "deltalake"}),
    "spark": frozenset(
        {"pyspark", "pyarrow", "numpy", "pandas", "confluent_kafka", "typer", "rich", "fastavro", "google", "deltalake"}
    ),
    "api": frozenset({"confluent_kafka"}),
    "services": frozenset({"confluent_kafka", "uvicorn", "starlette", "jinja2"}),
}


def package_of(module: str) -> str | None:
    """`penstock.core.log.segment` belongs to `core.log`; `penstock` itself belongs to nobody."""
    parts = module.split(".")[1:]
    depth = 2 if parts[:1] == ["core"] else 1
    return ".".join(parts[:depth]) if len(parts) >= depth else None


def direction_complaints(module: str, source: str) -> list[str]:
    """Imports that point upwards, sideways or at something forbidden."""
    importer = package_of(module)
    if importer is None:
        return []
    if importer not in LEVEL_OF:
        return [f"{module}: the package `{importer}` has no place in the table of layers"]
    complaints = []
    for found in imports_of(source):
        # `from penstock.core import log` names the package in its second half.
        target = package_of(f"{found.module}.{found.name}") or package_of(found.module)
        if found.module.split(".")[0] == "penstock" and target in LEVEL_OF and not _allowed(importer, target):
            complaints.append(f"{module}:{found.line}: `{importer}` must not import `{target}`")
    return complaints


def third_party_complaints(module: str, source: str, standard_library: frozenset[str]) -> list[str]:
    house = module.split(".")[1] if "." in module else ""
    allowed = THIRD_PARTY.get(house, frozenset()) | standard_library | {"penstock"}
    return [
        f"{module}:{found.line}: `{house or 'penstock'}` must not import `{found.module}`"
        for found in imports_of(source)
        if found.module.split(".")[0] not in allowed
    ]


def _allowed(importer: str, target: str) -> bool:
    if importer == target:
        return True
    return LEVEL_OF[target] < LEVEL_OF[importer] and target not in FORBIDDEN.get(importer, frozenset())
