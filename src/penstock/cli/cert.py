"""`penstock cert`: an authority and certificates for a laptop or a test; a company has its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.output import Output, print_json
from penstock.cli.session import OutputOption
from penstock.cli.talk import Refused, say
from penstock.tls.authority import DAYS, Issued, as_pkcs12, issue, new_authority

app = typer.Typer(help="Make certificates for a laptop.", no_args_is_help=True)

CA, CA_KEY = "ca.pem", "ca-key.pem"

DAYS_MAX = 3650


def _check_days(days: int) -> int:
    if not 0 < days <= DAYS_MAX:
        raise typer.BadParameter(f"{days} is not from 1 to {DAYS_MAX}")
    return days


Folder = Annotated[Path, typer.Option("--dir", "-d", metavar="DIR", help="Where the files are.")]
Days = Annotated[int, typer.Option("--days", callback=_check_days, help="How long it is good for.")]
HERE = Path("penstock-certs")


@app.command()
def ca(
    name: Annotated[str, typer.Option("--name", help="What the authority is called.")] = "penstock",
    folder: Folder = HERE,
    days: Days = DAYS,
) -> None:
    """Make an authority: ca.pem, which clients trust, and ca-key.pem, which stays secret."""
    if (folder / CA_KEY).exists():
        raise Refused(f"{folder / CA_KEY} is an authority already", "issue from it, or choose another --dir")
    made = new_authority(name, days)
    write_secret(folder / CA_KEY, made.key)
    (folder / CA).write_text(made.certificate)
    say(f"the authority is {folder / CA}; keep {folder / CA_KEY} to yourself")


@app.command("issue")
def issue_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name in it; its principal is User:CN=NAME.")],
    host: Annotated[
        list[str] | None, typer.Option("--host", metavar="HOST", help="Where a server is reached; repeatable.")
    ] = None,
    folder: Folder = HERE,
    days: Days = DAYS,
    pkcs12_password_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write NAME.p12 as well, under the password in this file.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Give somebody a certificate: NAME.pem with its key, for nodes and for clients."""
    if not (folder / CA_KEY).exists():
        raise Refused(f"{folder} has no authority", "make one with `penstock cert ca`")
    authority = Issued((folder / CA).read_text(), (folder / CA_KEY).read_text())
    made = issue(authority, name, host or ("localhost", "127.0.0.1"), days)
    written = {"certificate": folder / f"{name}.pem"}
    write_secret(written["certificate"], made.key + made.certificate)
    if pkcs12_password_file is not None:
        password = pkcs12_password_file.read_text().rstrip("\n")
        written["pkcs12"] = folder / f"{name}.p12"
        write_secret(written["pkcs12"], as_pkcs12(made, authority.certificate, password))
    if output is Output.JSON:
        print_json({kind: str(path) for kind, path in written.items()} | {"ca": str(folder / CA)})
    else:
        say(f"{', '.join(map(str, written.values()))}: trusted by whoever trusts {folder / CA}")


def write_secret(path: Path, content: str | bytes) -> None:
    """A file that only its owner may read, from its first byte on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
