"""Every request that is answered: its path, its handler, the right that it needs, and whether it changes anything."""

from __future__ import annotations

from typing import Final

from penstock.services.registry import checking, deleting, registering, schemas, settings
from penstock.services.registry.asked import Asked, Right, Route
from penstock.services.registry.errors import RestError

_VERSIONS: Final = "/subjects/*/versions"
_VERSION: Final = f"{_VERSIONS}/*"
_BY_ID: Final = "/schemas/ids/*"
_COMPATIBILITY: Final = "/compatibility/subjects/*/versions"
_READ, _WRITE, _DELETE = Right.READ, Right.WRITE, Right.DELETE
_SEE, _ALTER = Right.DESCRIBE_CONFIG, Right.ALTER_CONFIG

ROUTES: Final = (
    # The first ones are asked most.
    Route("GET", _BY_ID, schemas.by_id, Right.NOTHING),
    Route("GET", _VERSION, schemas.version, _READ),
    Route("POST", "/subjects/*", registering.look_up, _READ),
    Route("POST", _VERSIONS, registering.register, _WRITE, changes=True),
    Route("GET", f"{_BY_ID}/schema", schemas.text_by_id, Right.NOTHING),
    Route("GET", f"{_BY_ID}/subjects", schemas.subjects_by_id, Right.NOTHING),
    Route("GET", f"{_BY_ID}/versions", schemas.versions_by_id, Right.NOTHING),
    Route("GET", "/schemas/guids/*", schemas.by_guid, Right.NOTHING),
    Route("GET", "/schemas/guids/*/ids", schemas.ids_by_guid, Right.NOTHING),
    Route("GET", "/schemas/types", schemas.types, Right.NOTHING),
    Route("GET", "/schemas", schemas.all_schemas, Right.NOTHING),
    Route("GET", "/subjects", schemas.subjects, Right.NOTHING),
    Route("GET", _VERSIONS, schemas.versions, _READ),
    Route("GET", f"{_VERSION}/schema", schemas.text_of_version, _READ),
    Route("GET", f"{_VERSION}/referencedby", schemas.referenced_by, _READ),
    Route("GET", "/subjects/*/metadata", schemas.latest_with_metadata, _READ),
    Route("DELETE", _VERSION, deleting.delete_version, _DELETE, changes=True),
    Route("DELETE", "/subjects/*", deleting.delete_subject, _DELETE, changes=True),
    Route("POST", _COMPATIBILITY, checking.check_all, _READ),
    Route("POST", f"{_COMPATIBILITY}/*", checking.check_version, _READ),
    Route("GET", "/config", settings.config, _SEE),
    Route("GET", "/config/*", settings.config, _SEE),
    Route("PUT", "/config", settings.set_config, _ALTER, changes=True),
    Route("PUT", "/config/*", settings.set_config, _ALTER, changes=True),
    Route("DELETE", "/config", settings.delete_config, _ALTER, changes=True),
    Route("DELETE", "/config/*", settings.delete_config, _ALTER, changes=True),
    Route("GET", "/mode", settings.mode, _SEE),
    Route("GET", "/mode/*", settings.mode, _SEE),
    Route("PUT", "/mode", settings.set_mode, _ALTER, changes=True),
    Route("PUT", "/mode/*", settings.set_mode, _ALTER, changes=True),
    Route("DELETE", "/mode", settings.delete_mode, _ALTER, changes=True),
    Route("DELETE", "/mode/*", settings.delete_mode, _ALTER, changes=True),
    Route("GET", "/contexts", schemas.contexts, Right.NOTHING),
    Route("DELETE", "/contexts/*", deleting.delete_context, _DELETE, changes=True),
    Route("GET", "/v1/metadata/id", schemas.cluster, Right.NOTHING),
    Route("GET", "/v1/metadata/version", schemas.release, Right.NOTHING),
    Route("GET", "/", schemas.root, Right.NOTHING),
    Route("POST", "/", schemas.root, Right.NOTHING),
)


def route_of(asked: Asked) -> Route:
    segments = asked.segments or ("",)
    for route in ROUTES:
        if route.fits(asked.method, segments):
            return route
    if any(route.fits(each, segments) for each in ("GET", "POST", "PUT", "DELETE") for route in ROUTES):
        raise RestError(405, "HTTP 405 Method Not Allowed")
    raise RestError(404, "HTTP 404 Not Found")


def about(asked: Asked) -> str | None:
    """The subject that a request is about; empty where it is about all of them, None where about none."""
    first, segments = (asked.segments or ("",))[0], asked.segments
    place = {"subjects": 1, "config": 1, "mode": 1, "compatibility": 2, "contexts": 1}.get(first)
    if place is None:
        return None
    return segments[place] if len(segments) > place else ""
