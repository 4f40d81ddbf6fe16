"""`penstock storage keys` and `rekey`: which keys a data folder asks for, and to ask for others."""

from collections import defaultdict
from contextlib import suppress
from typing import Annotated

import typer

from penstock.cli.output import Output, bytes_text, print_rows
from penstock.cli.plain import DATA_DIR
from penstock.cli.session import OutputOption
from penstock.cli.storage_repair import Config, DataDir
from penstock.cli.talk import Refused, say

PLAIN = "none"


def keys(config: Config = None, data_dir: DataDir = DATA_DIR, output: OutputOption = Output.TABLE) -> None:
    """Show under which keys the files of data folders are encrypted that hold records, and how many are under none. It
    asks for no key, and may be used while nodes run."""
    from penstock.cli.data_folders import data_folders, metadata_folders

    rows = []
    for folder in dict.fromkeys(data_folders(config, data_dir) + metadata_folders(config, data_dir)):
        rows += [(folder, key, len(sizes), sum(sizes)) for key, sizes in sorted(_by_key(folder).items())]
    print_rows(output, ("folder", "key", "files", "bytes"), rows)


def rekey(
    config: Config = None,
    data_dir: DataDir = DATA_DIR,
    plain: Annotated[bool, typer.Option("--plain", help="Under no key: for Kafka, or to go on without.")] = False,
) -> None:
    """Write all files of a node that is stopped anew, as far as they are under another key than the newest one. Then no
    older key is needed any more."""
    from penstock.cli.data_folders import data_folders, held, metadata_folders
    from penstock.cli.sealed_folders import sealings
    from penstock.shell.resealing import reseal
    from penstock.shell.sealed_folder import sealable_in
    from penstock.shell.sealed_mark import mark

    folders = list(dict.fromkeys(data_folders(config, data_dir) + metadata_folders(config, data_dir)))
    with held(folders):
        for folder, sealing in sealings(config, data_dir).items():
            if sealing is None:
                raise Refused(f"the settings of {folder} name no keys", "set penstock.encryption.keys.file in them")
            mark(folder)
            written = [reseal(path, sealing(), is_plain=plain) for path in sealable_in(folder)]
            sizes = [size for size in written if size is not None]
            key = "no key" if plain else f"the key {sealing().ring.newest.id}"
            say(f"{folder}: {len(sizes)} files written anew under {key} ({bytes_text(sum(sizes))})")


def _by_key(folder: str) -> dict[str, list[int]]:
    """The sizes of files, as they are on the disk."""
    import os

    from penstock.shell.sealed_folder import head_of, sealable_in

    found: dict[str, list[int]] = defaultdict(list)
    for path in sealable_in(folder):
        # A node that runs may remove it just now.
        with suppress(FileNotFoundError):
            head = head_of(path)
            size = os.path.getsize(path)
            if size:
                found[PLAIN if head is None else head.key_id].append(size)
    return found
