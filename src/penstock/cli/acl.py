"""`penstock acl`: access rules are shown, added and removed."""

from enum import StrEnum
from typing import Annotated

import typer

from penstock.cli import completion
from penstock.cli.output import Output, print_rows
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, Execute, OutputOption, Timeout, connect
from penstock.cli.talk import say
from penstock.client.acls import Acls, Filter, Rule
from penstock.core.access.words import (
    ANY,
    CLUSTER_NAME,
    KNOWN,
    MATCH,
    WILDCARD,
    Operation,
    PatternType,
    Permission,
    Resource,
)

app = typer.Typer(help="Say who may do what: access rules (ACLs).", no_args_is_help=True)

COLUMNS = ("principal", "permission", "operation", "resource", "name", "pattern", "host")


class Can(StrEnum):
    """What `--operation` takes."""

    ALL = "all"
    READ = "read"
    WRITE = "write"
    CREATE = "create"
    DELETE = "delete"
    ALTER = "alter"
    DESCRIBE = "describe"
    CLUSTER_ACTION = "cluster-action"
    DESCRIBE_CONFIGS = "describe-configs"
    ALTER_CONFIGS = "alter-configs"
    IDEMPOTENT_WRITE = "idempotent-write"
    CREATE_TOKENS = "create-tokens"
    DESCRIBE_TOKENS = "describe-tokens"
    TWO_PHASE_COMMIT = "two-phase-commit"

    @property
    def operation(self) -> Operation:
        return Operation[self.name]


Topic = Annotated[
    str | None,
    typer.Option("--topic", "-t", metavar="NAME", help="About this topic; * is all.", autocompletion=completion.topics),
]
Group = Annotated[
    str | None,
    typer.Option("--group", "-g", metavar="NAME", help="About this group; * is all.", autocompletion=completion.groups),
]
Transaction = Annotated[
    str | None,
    typer.Option(
        "--transactional-id",
        metavar="ID",
        help="About this transactional id; * is all.",
        autocompletion=completion.transactions,
    ),
]
Cluster = Annotated[bool, typer.Option("--cluster", help="About the cluster itself.")]
Token = Annotated[str | None, typer.Option("--delegation-token", metavar="ID", help="About this token; * is all.")]
User = Annotated[str | None, typer.Option("--user", metavar="PRINCIPAL", help="About tokens of this user; * is all.")]
Prefixed = Annotated[bool, typer.Option("--prefixed", help="The name is the beginning of names.")]
Principal = Annotated[
    str | None, typer.Option("--principal", "-p", metavar="NAME", help="For this one: ann, User:ann; * is everybody.")
]
Host = Annotated[str | None, typer.Option("--host", metavar="ADDRESS", help="From this address only.")]


@app.command("list")
def list_(
    principal: Principal = None,
    topic: Topic = None,
    group: Group = None,
    transactional_id: Transaction = None,
    cluster: Cluster = False,
    token: Token = None,
    user: User = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Only rules of just this name, not all that apply to it.")
    ] = False,
    operation: Annotated[Can | None, typer.Option(case_sensitive=False, help="Only about this operation.")] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """List rules: all, or those of a principal, or those that apply to a name (prefixes and * too)."""
    resource, name = _about(topic, group, transactional_id, cluster, token, user)
    wanted = Filter(
        principal=_principal(principal),
        operation=None if operation is None else operation.operation,
        resource=resource,
        name=name,
        pattern=ANY if exact or name is None else MATCH,
    )
    with connect(bootstrap, timeout) as client:
        rules = Acls(client).find(wanted)
    if not rules and output is Output.TABLE:
        say("there are no such rules")
    _print(output, rules)


@app.command("add")
def add(
    principal: Annotated[
        list[str],
        typer.Option("--principal", "-p", metavar="NAME", help="For whom: ann, User:ann; * is everybody. Repeatable."),
    ],
    operation: Annotated[list[Can], typer.Option("--operation", case_sensitive=False, help="What; may be repeated.")],
    topic: Topic = None,
    group: Group = None,
    transactional_id: Transaction = None,
    cluster: Cluster = False,
    token: Token = None,
    user: User = None,
    prefixed: Prefixed = False,
    deny: Annotated[bool, typer.Option("--deny", help="Deny it; that wins over all that allow it.")] = False,
    host: Host = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Allow somebody something, or deny it."""
    resource, name = _about(topic, group, transactional_id, cluster, token, user)
    if resource is None or name is None:
        raise typer.BadParameter("say about what: --topic, --group, --transactional-id, --cluster")
    for each in operation:
        _check_known(resource, each)
    rules = [
        Rule(
            _principal(who) or WILDCARD,
            Permission.DENY if deny else Permission.ALLOW,
            each.operation,
            resource,
            name,
            PatternType.PREFIXED if prefixed else PatternType.LITERAL,
            host or WILDCARD,
        )
        for who in dict.fromkeys(principal)
        for each in dict.fromkeys(operation)
    ]
    with connect(bootstrap, timeout) as client:
        Acls(client).add(rules)
    _print(output, rules)
    say("the rule is in force" if len(rules) == 1 else f"{len(rules)} rules are in force")


@app.command("remove")
def remove(
    principal: Principal = None,
    topic: Topic = None,
    group: Group = None,
    transactional_id: Transaction = None,
    cluster: Cluster = False,
    token: Token = None,
    user: User = None,
    prefixed: Prefixed = False,
    operation: Annotated[Can | None, typer.Option(case_sensitive=False, help="Only about this operation.")] = None,
    host: Host = None,
    all_: Annotated[bool, typer.Option("--all", help="All rules of the cluster.")] = False,
    execute: Execute = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Remove rules of just this name, or of a principal: shows them unless --execute is given."""
    resource, name = _about(topic, group, transactional_id, cluster, token, user)
    pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    wanted = Filter(
        _principal(principal),
        None,
        None if operation is None else operation.operation,
        resource,
        name,
        ANY if name is None and not prefixed else pattern,
        host,
    )
    if (wanted == Filter()) != all_:
        raise typer.BadParameter("say which rules, such as --principal ann or --topic orders; --all takes all of them")
    with connect(bootstrap, timeout) as client:
        rules = Acls(client).remove(wanted) if execute else Acls(client).find(wanted)
    _print(output, rules)
    if not rules:
        say("there are no such rules")
    else:
        count = "1 rule" if len(rules) == 1 else f"{len(rules)} rules"
        say(f"{count} removed" if execute else f"nothing is removed yet ({count}): add --execute to do it")


def _about(
    topic: str | None,
    group: str | None,
    transactional_id: str | None,
    cluster: bool,
    token: str | None,
    user: str | None,
) -> tuple[Resource | None, str | None]:
    """The one thing that is named."""
    named = {
        Resource.TOPIC: topic,
        Resource.GROUP: group,
        Resource.TRANSACTIONAL_ID: transactional_id,
        Resource.CLUSTER: CLUSTER_NAME if cluster else None,
        Resource.DELEGATION_TOKEN: token,
        Resource.USER: user if user == WILDCARD else _principal(user),
    }
    found = [(resource, name) for resource, name in named.items() if name is not None]
    if len(found) > 1:
        raise typer.BadParameter("a rule is about one thing: name one")
    if not found:
        return None, None
    resource, name = found[0]
    if not name:
        raise typer.BadParameter("a name is not empty; * is all of them")
    return resource, name


def _principal(name: str | None) -> str | None:
    """Whoever is named without a type is a user."""
    if name == "":
        raise typer.BadParameter("a principal has a name, such as ann or User:ann", param_hint="--principal")
    return name if name is None or ":" in name else f"User:{name}"


def _check_known(resource: Resource, asked: Can) -> None:
    """A rule that nobody ever asks for would be a slip."""
    if asked is not Can.ALL and asked.operation not in KNOWN[resource]:
        words = sorted(Can[each.name].value for each in KNOWN[resource])
        what = resource.name.lower().replace("_", " ")
        raise typer.BadParameter(
            f"nobody can {asked.value} a {what}: there are {', '.join(words)} and all", param_hint="--operation"
        )


def _print(output: Output, rules: list[Rule]) -> None:
    print_rows(output, COLUMNS, [_row(each) for each in rules])


def _row(rule: Rule) -> tuple[str, ...]:
    words = (rule.permission, rule.operation, rule.resource)
    permission, operation, resource = (each.name.lower().replace("_", "-") for each in words)
    return rule.principal, permission, operation, resource, rule.name, rule.pattern.name.lower(), rule.host
