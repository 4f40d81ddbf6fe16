"""`penstock generate`: the files of what runs beside a cluster, or runs it: a beginning, to be kept and changed."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.generating.dashboards import as_json, boards
from penstock.cli.generating.templating import filled
from penstock.cli.talk import Refused, say

app = typer.Typer(help="Write dashboards, alert rules, and files that start nodes.", no_args_is_help=True)

NODES_MAX = 99
PORT, METRICS_PORT, CONTROLLER_PORT, INSIDE_PORT = 9092, 11092, 19093, 19092
REPLICAS_MAX = 3
DASHBOARDS = Path("dashboards")
EXECUTABLE = "/usr/local/bin/penstock"
NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*")
INTERVAL = re.compile(r"[1-9][0-9]*(ms|s|m)")
TARGET = re.compile(r"[a-zA-Z0-9_.\[\]:-]+:[0-9]+")

JobOption = Annotated[str, typer.Option("--job", metavar="NAME", help="What Prometheus calls the cluster.")]
FileOption = Annotated[
    Path | None, typer.Option("--file", "-f", metavar="FILE", help="Where to write it; without it, to stdout.")
]


class Detail(StrEnum):
    """How much is scraped."""

    SMALL = "small"
    FULL = "full"


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def _check_nodes(nodes: int) -> int:
    if not 0 < nodes <= NODES_MAX:
        raise typer.BadParameter(f"{nodes} is not from 1 to {NODES_MAX}")
    return nodes


@app.command()
def dashboards(
    folder: Annotated[Path, typer.Option("--dir", "-d", metavar="DIR", help="Where to write them.")] = DASHBOARDS,
) -> None:
    """Dashboards for Grafana: the cluster, topics and producers, consumer groups."""
    folder.mkdir(parents=True, exist_ok=True)
    made = boards()
    for board in made:
        (folder / f"{board.uid}.json").write_text(as_json(board) + "\n")
    say(f"{len(made)} dashboards are in {folder}: import them into Grafana")


@app.command()
def rules(job: JobOption = "penstock", file: FileOption = None) -> None:
    """Alert rules for Prometheus; each names its page in docs/runbooks."""
    _write(filled("rules.yaml", job=_checked(NAME, job, "a name")), file)


@app.command()
def scrape(
    target: Annotated[
        list[str] | None,
        typer.Option("--target", "-t", metavar="HOST:PORT", help="Where a node tells its metrics; repeatable."),
    ] = None,
    job: JobOption = "penstock",
    interval: Annotated[str, typer.Option(metavar="TIME", help="How often.")] = "15s",
    detail: Annotated[Detail, typer.Option(help="With a line for each partition, or without.")] = Detail.FULL,
    rules_file: Annotated[str, typer.Option("--rules", metavar="FILE", help="The alert rules.")] = "penstock-rules.yml",
    user: Annotated[str | None, typer.Option(help="The nodes' penstock.metrics.user.")] = None,
    password_file: Annotated[str | None, typer.Option(metavar="FILE", help="Holds that user's password.")] = None,
    ca: Annotated[str | None, typer.Option(metavar="FILE", help="Speak TLS, and trust the authorities in it.")] = None,
    file: FileOption = None,
) -> None:
    """The configuration of Prometheus, with the labels that public dashboards for Kafka go by."""
    targets = target or [f"127.0.0.1:{METRICS_PORT}"]
    if (user is None) != (password_file is None):
        raise typer.BadParameter("--user and --password-file belong together")
    text = filled(
        "scrape.yaml",
        job=_checked(NAME, job, "a name"),
        interval=_checked(INTERVAL, interval, "a time such as 15s"),
        path="/metrics/full" if detail is Detail.FULL else "/metrics",
        rules=rules_file,
        scheme="http" if ca is None else "https",
        access=_access(user, password_file, ca),
        targets="\n".join(_target(job, number, each) for number, each in enumerate(targets, 1)),
    )
    _write(text, file)


@app.command()
def compose(
    nodes: Annotated[int, typer.Option("--nodes", "-n", callback=_check_nodes, help="How many nodes.")] = 3,
    cluster: Annotated[str, typer.Option(metavar="NAME", help="What the cluster is called.")] = "penstock",
    file: FileOption = None,
) -> None:
    """A cluster for Docker Compose or Podman; clients of this machine reach node I at port 9091 + I."""
    named = _checked(NAME, cluster, "a name")
    text = filled(
        "compose.yaml",
        cluster=named,
        metrics_port=str(METRICS_PORT),
        nodes="\n".join(map(_service, range(1, nodes + 1))),
        settings="\n".join(_settings(number, nodes) for number in range(1, nodes + 1)),
        volumes="\n".join(f"  node-{number}: {{}}" for number in range(1, nodes + 1)),
    )
    _write(text, file)


@app.command()
def containerfile(file: FileOption = None) -> None:
    """How the image of a node is built; it runs without root."""
    _write(filled("Containerfile"), file)


@app.command()
def systemd(
    executable: Annotated[str, typer.Option("--exec", metavar="PATH", help="Where penstock is.")] = EXECUTABLE,
    user: Annotated[str, typer.Option(help="As whom nodes run.")] = "penstock",
    log_format: Annotated[LogFormat, typer.Option(help="How the journal gets the log.")] = LogFormat.TEXT,
    file: FileOption = None,
) -> None:
    """The unit penstock@.service: one node for each settings file, ready when it serves."""
    if not executable.startswith("/"):
        raise typer.BadParameter(f"{executable} is no absolute path, which systemd wants")
    named = _checked(NAME, user, "a user")
    _write(filled("penstock@.service", exec=executable, user=named, log_format=log_format.value), file)


def _write(text: str, file: Path | None) -> None:
    if file is None:
        typer.echo(text, nl=False)
        return
    if file.exists():
        raise Refused(f"{file} exists", "move it away, or choose another --file")
    file.write_text(text)
    say(f"written to {file}")


def _checked(pattern: re.Pattern[str], value: str, what: str) -> str:
    if not pattern.fullmatch(value):
        raise typer.BadParameter(f"{value!r} is not {what}")
    return value


def _target(job: str, number: int, target: str) -> str:
    """Strimzi's dashboards choose by these labels."""
    _checked(TARGET, target, "a host and a port")
    own = {"namespace": job, "strimzi_io_cluster": job, "strimzi_io_name": f"{job}-kafka"}
    shown = "".join(f"          {name}: {value}\n" for name, value in own.items())
    pod = f"          kubernetes_pod_name: {job}-kafka-{number}"
    return f'      - targets: ["{target}"]\n        labels:\n{shown}{pod}'


def _access(user: str | None, password_file: str | None, ca: str | None) -> str:
    lines = []
    if user is not None:
        lines += ["    basic_auth:", f"      username: {user}", f"      password_file: {password_file}"]
    if ca is not None:
        lines += ["    tls_config:", f"      ca_file: {ca}"]
    return "".join(f"{line}\n" for line in lines)


def _service(number: int) -> str:
    """Clients of the machine come by a port of their own, and are told that address."""
    outside = PORT + number - 1
    return (
        f"  node-{number}:\n    <<: *node\n    hostname: node-{number}\n"
        f'    ports: ["127.0.0.1:{outside}:{outside}", "127.0.0.1:{METRICS_PORT + number - 1}:{METRICS_PORT}"]\n'
        f'    volumes: ["node-{number}:/var/lib/penstock"]\n'
        f"    configs: [{{source: node-{number}, target: /etc/penstock/server.properties}}]"
    )


def _settings(number: int, nodes: int) -> str:
    """What its node reads."""
    outside = PORT + number - 1
    voters = ",".join(f"{each}@node-{each}:{CONTROLLER_PORT}" for each in range(1, nodes + 1))
    replicas = min(nodes, REPLICAS_MAX)
    settings = {
        "node.id": number,
        "process.roles": "broker,controller",
        "listeners": f"INSIDE://:{INSIDE_PORT},OUTSIDE://:{outside},CONTROLLER://:{CONTROLLER_PORT}",
        "advertised.listeners": f"INSIDE://node-{number}:{INSIDE_PORT},OUTSIDE://127.0.0.1:{outside}",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "INSIDE",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": voters,
        "log.dirs": "/var/lib/penstock",
        "default.replication.factor": replicas,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "min.insync.replicas": max(replicas - 1, 1),
        "penstock.metrics.host": "0.0.0.0",
        "penstock.metrics.port": METRICS_PORT,
    }
    lines = "\n".join(f"      {name}={value}" for name, value in settings.items())
    return f"  node-{number}:\n    content: |\n{lines}"
