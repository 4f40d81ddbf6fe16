"""How a name in a certificate becomes a principal's, by the examples of Kafka's documentation."""

from __future__ import annotations

import pytest

from penstock.core.base.settings import SettingError
from penstock.core.base.settings.principal_rules import mapped, read_principal_rules

NAME = "CN=Duke,OU=ServiceUsers,O=Org,C=US"
ADMIN = "CN=Adm,OU=Admin,O=Org,C=US"
RULES = (
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/, RULE:^CN=(.*?),OU=Admin.*$/$1@$0/U,"
    "RULE:^.*[Cc][Nn]=([a-z.]*).*$/$1/L,DEFAULT"
)


@pytest.mark.parametrize(
    ("rules", "name", "principal"),
    [
        ("DEFAULT", NAME, NAME),
        ("", NAME, NAME),
        (RULES, NAME, "Duke"),
        (RULES, "CN=x.Y,OU=Other", "x."),
        (RULES, "OU=Nobody", "OU=Nobody"),
        ("RULE:^CN=(.*?),OU=Admin.*$/$1@org/U", ADMIN, "ADM@ORG"),
        ("RULE:^CN=(.*?),OU=Admin.*$/$1/", NAME, None),
        ("RULE:^cn=(.*)$/$1/", "cn=a/b", "a/b"),
        ("RULE:^CN=(.*)\\/x$/$1/", "CN=a/x", "a"),
    ],
)
def test_the_first_rule_that_fits(rules: str, name: str, principal: str | None) -> None:
    assert mapped(read_principal_rules(rules), name) == principal


@pytest.mark.parametrize("rules", ["NONE", "RULE:^CN=(.*)$/$1", "DEFAULT,RULE:", "RULE:(/x/", "RULE:^CN=(.*)$/$2/L"])
def test_rules_that_are_none(rules: str) -> None:
    with pytest.raises(SettingError):
        read_principal_rules(rules)
