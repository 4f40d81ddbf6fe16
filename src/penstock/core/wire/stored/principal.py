"""A principal as a broker forwards it to the controller."""

from penstock.core.wire.schema import StoredRecord, boolean, string


class DefaultPrincipalData(StoredRecord, versions="0", flexible="0+"):
    type: str = string()
    name: str = string()
    token_authenticated: bool = boolean()
