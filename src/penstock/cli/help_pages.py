"""What `--help` shows of each command besides what its declaration says: an example, and words for its values."""

from collections.abc import Iterator
from typing import Any, Final

EXAMPLES: Final = {
    "up": "penstock up --nodes 3 --data-dir three",
    "down": "penstock down --data-dir three",
    "status": "penstock status --data-dir three --output json",
    "reset": "penstock reset --data-dir three --yes",
    "node": "penstock node --config server.properties --set log.retention.hours=24",
    "registry": "penstock registry -b 127.0.0.1:9092 --port 8081",
    "console": "penstock console -b 127.0.0.1:9092 --port 8080",
    "produce": "echo 'k1:hello' | penstock produce greetings --key-separator :",
    "consume": "penstock consume orders --from 15m --follow --format '{offset} {key}: {value}'",
    "query": "penstock query 'select city, count(*) from orders group by 1' --from 1h",
    "apply": "penstock apply -f cluster.yaml --dry-run",
    "doctor": "penstock doctor --window 10",
    "top": "penstock top --once -o json",
    "export": "penstock export --only topics --only acls",
    "bench produce": "penstock bench produce --records 1000000 --record-bytes 1000 --property compression.type=lz4",
    "bench consume": "penstock bench consume orders",
    "bench latency": "penstock bench latency --rate 100 --property acks=1",
    "generate dashboards": "penstock generate dashboards --dir dashboards",
    "generate rules": "penstock generate rules --file penstock-rules.yml",
    "generate scrape": "penstock generate scrape --target 127.0.0.1:11092 --file prometheus.yml",
    "generate compose": "penstock generate compose --nodes 3 --file compose.yaml",
    "generate containerfile": "penstock generate containerfile --file Containerfile",
    "generate systemd": "penstock generate systemd --exec /usr/bin/penstock --file penstock@.service",
    "sim": "penstock sim --seeds 0-9 --nodes 3",
    "topic create": "penstock topic create orders --partitions 6 --config retention.ms=86400000",
    "topic list": "penstock topic list",
    "topic describe": "penstock topic describe orders",
    "topic alter": "penstock topic alter orders --config cleanup.policy=compact",
    "topic delete": "penstock topic delete orders --execute",
    "topic offsets": "penstock topic offsets orders --at 2026-01-31T12:00",
    "topic delete-records": "penstock topic delete-records orders:0,1 --before -1000 --execute",
    "group list": "penstock group list",
    "group describe": "penstock group describe billing",
    "group reset": "penstock group reset billing --topic orders --to 2h --execute",
    "group delete": "penstock group delete billing --execute",
    "token create": "penstock token create --renewer scheduler --lifetime 3d",
    "token list": "penstock token list --owner alice",
    "token renew": "penstock token renew ID --for 12h",
    "token expire": "penstock token expire ID --execute",
    "audit run": "penstock audit run orders payments --book audit.db --html audit.html",
    "audit report": "penstock audit report --book audit.db -o json",
    "audit trail": "penstock audit trail --since 1h --event refused",
    "quota list": "penstock quota list",
    "quota set": "penstock quota set --user alice --produce 10M --fetch 20M",
    "quota delete": "penstock quota delete --user alice --only produce",
    "tenant create": "penstock tenant create shop --prefix shop. --produce 10M --fetch 20M --partitions 200",
    "tenant list": "penstock tenant list",
    "tenant describe": "penstock tenant describe shop",
    "tenant delete": "penstock tenant delete shop --execute",
    "txn list": "penstock txn list --state ongoing --longer-than 1m",
    "txn describe": "penstock txn describe shop-1",
    "txn hanging": "penstock txn hanging --topic orders --longer-than 15m",
    "txn abort": "penstock txn abort orders:0 --start 4711 --execute",
    "dlq list": "penstock dlq list",
    "dlq show": "penstock dlq show orders.dlq 0:15",
    "dlq redrive": "penstock dlq redrive orders.dlq --reason ValueError --from 2h --rate 500 --execute",
    "dlq purge": "penstock dlq purge orders.dlq --before 30d --execute",
    "acl list": "penstock acl list --topic orders",
    "acl add": "penstock acl add --principal ann --operation read --topic orders",
    "acl remove": "penstock acl remove --principal ann --execute",
    "user list": "penstock user list",
    "user add": "penstock user add alice --generate",
    "user password": "penstock user password alice --generate",
    "user delete": "penstock user delete alice --execute",
    "schema check": "penstock schema check order-1.avsc order-2.avsc --compatibility FULL",
    "schema list": "penstock schema list --registry http://127.0.0.1:8081",
    "schema get": "penstock schema get orders-value --version 2",
    "schema register": "penstock schema register orders-value order.avsc",
    "schema delete": "penstock schema delete orders-value --version 1 --execute",
    "schema diff": "penstock schema diff order-1.avsc order-2.avsc",
    "cert ca": "penstock cert ca --dir certs",
    "cert issue": "penstock cert issue node-1 --host localhost --host host1 --dir certs",
    "cluster info": "penstock cluster info",
    "cluster api-versions": "penstock cluster api-versions --diff kafka-4.3",
    "cluster health": "penstock cluster health --wait --timeout 60",
    "cluster quorum": "penstock cluster quorum",
    "cluster add-voter": "penstock cluster add-voter 4 host4:9093",
    "cluster remove-voter": "penstock cluster remove-voter 2 --execute",
    "cluster features": "penstock cluster features --set kraft.version=1 --dry-run",
    "cluster reassign": "penstock cluster reassign --topic orders:0 --to 2,3 --throttle 10M --execute",
    "cluster balance": "penstock cluster balance --execute",
    "cluster decommission": "penstock cluster decommission 3 --dry-run",
    "cluster drain": "penstock cluster drain 2",
    "cluster undrain": "penstock cluster undrain 2",
    "config check": "penstock config check server.properties",
    "config describe": "penstock config describe --topic orders --all",
    "config alter": "penstock config alter --broker default --set log.retention.ms=86400000",
    "storage import": "penstock storage import --kafka-log-dir kafka-logs --data-dir penstock-data --dry-run",
    "storage verify": "penstock storage verify orders-0 --data-dir three",
    "storage repair": "penstock storage repair orders-0 --data-dir three",
    "storage dump": "penstock storage dump __consumer_offsets-0 --show records --data-dir three",
    "storage keys": "penstock storage keys --data-dir three",
    "storage rekey": "penstock storage rekey --config server.properties",
    "backup create": "penstock backup create backups --topic 'orders*'",
    "backup list": "penstock backup list s3://backups/shop",
    "backup verify": "penstock backup verify backups 20260131T120000Z",
    "backup restore": "penstock backup restore backups 20260131T120000Z --data-dir restored --nodes 3",
    "debug bundle": "penstock debug bundle --data-dir three --file bundle.tar.gz",
    "storage format": "penstock storage format --config server.properties --standalone",
    "storage info": "penstock storage info --config server.properties",
    "storage random-uuid": "penstock storage random-uuid",
    "storage stray list": "penstock storage stray list --data-dir three",
    "storage stray restore": "penstock storage stray restore --all --data-dir three",
    "storage stray purge": "penstock storage stray purge --all --data-dir three --execute",
    "pipeline list": "penstock pipeline list --from pipelines.py",
    "pipeline show": "penstock pipeline show payments --from pipelines.py",
    "pipeline explain": "penstock pipeline explain payments --from pipelines.py",
    "pipeline run": "penstock pipeline run payments billing --from pipelines.py --once",
    "pipeline lake": "penstock pipeline lake orders --to lake/orders --by day",
    "pipeline stop": "penstock pipeline stop payments",
    "pipeline status": "penstock pipeline status",
    "pipeline verify": "penstock pipeline verify payments --from pipelines.py",
}

# By the name that the parser gives to a type; a text is called what the parameter is called.
_WORDS: Final = {"integer": "N", "int": "N", "path": "FILE", "file": "FILE", "text": "", "str": ""}
_BY_NAME: Final = {
    "config": "FILE",
    "data_dir": "DIR",
    "files": "FILE...",
    "format_": "TEMPLATE",
    "kafka_log_dir": "DIR",
    "names": "NAME...",
    "shift_by": "N",
    "to": "WHERE",
}


def commands_of(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """All commands that do something, with the words that call them."""
    for name, command in group.commands.items():
        words = f"{path} {name}".strip()
        if hasattr(command, "commands"):
            yield from commands_of(command, words)
        else:
            yield words, command


def complete_help(root: Any) -> None:
    """Let the help of each command end with its example, and name values as people do, not as the parser's types."""
    for words, command in commands_of(root):
        if words in EXAMPLES:
            # A bracket would begin a markup.
            command.epilog = f"Example: {EXAMPLES[words]}".replace("[", "\\[")
        for parameter in command.params:
            if parameter.metavar is None and parameter.type.name in _WORDS:
                parameter.metavar = (
                    _BY_NAME.get(parameter.name) or _WORDS[parameter.type.name] or parameter.name.upper()
                )
