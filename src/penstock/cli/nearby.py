"""Where the cluster of the working folder listens, for whoever has asked for one elsewhere."""

from penstock.cli.folder import ClusterFolder
from penstock.cli.node_settings import address_of
from penstock.cli.plain import DATA_DIR
from penstock.cli.talk import Refused
from penstock.client.errors import ClientError, Unreachable


def where_instead(failure: ClientError) -> str | None:
    """What to say to somebody whom nobody answered, while a cluster runs here on other ports, or with other nodes."""
    if not isinstance(failure, Unreachable):
        return None
    try:
        addresses = [address_of(node.text()) for node in ClusterFolder(DATA_DIR).nodes() if node.pid_file.holder()]
    except (OSError, Refused):
        # Whatever is wrong with the folder, it is not what was asked about.
        return None
    others = [address for address in addresses if address and address not in failure.address]
    if not others:
        return None
    return f"the cluster of {DATA_DIR} listens at {','.join(others)}: name it with --bootstrap (or PENSTOCK_BOOTSTRAP)"
