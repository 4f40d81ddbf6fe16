"""`penstock storage repair __cluster_metadata-0`: a person accepts that the end of a node's metadata is lost."""

import os
import shutil

from penstock.cli.talk import Refused, say
from penstock.core.log.names import METADATA_DIR


def repair_metadata(folders: list[str], *, yes: bool) -> None:
    """The next start cuts the log where it is damaged, and names what was lost; all of it is kept in a copy."""
    from penstock.core.node.quorum.synced_note import Noted, write
    from penstock.shell.blocking import run_blocking

    if len(folders) != 1:
        raise Refused(
            f"{', '.join(folders)} are voters of one cluster",
            "start them: one gets it all from the others",
        )
    folder = f"{folders[0]}/{METADATA_DIR}"
    if not os.path.isdir(folder):
        raise Refused(
            f"there is no {folder}", "this node keeps its metadata elsewhere: name its settings with --config"
        )
    if not yes:
        raise Refused(
            f"all that follows the damage in {folder} is given up, topics that were created later included",
            "say that you mean it with --yes",
        )
    number = next(number for number in range(1, 1 << 20) if not os.path.exists(f"{folder}-damaged.{number}"))
    shutil.copytree(folder, f"{folder}-damaged.{number}")
    run_blocking(write(folder, Noted(0)))
    say(f"the next start cuts the metadata log where it is damaged; all of it is kept in {folder}-damaged.{number}")
