"""YAML that people write is read as they mean it, what is wrong is pointed at, and what is written is read again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.declared.marked import Entries, FileError, Items, Mark, Node, Scalar
from penstock.client.declared.yaml_text import read_yaml, write_yaml

TEXTS = st.one_of(
    st.sampled_from(["", "no", "~", "- a", "a: b", "#x", "it's", '"', "*", "|", "a\nb\n", "\n", "x\n  y\n\nz\n"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
VALUES = st.recursive(
    TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=12
)


def plain(node: Node) -> object:
    if isinstance(node, Scalar):
        return node.text
    if isinstance(node, Items):
        return [plain(each) for each in node.items]
    return {key.text: plain(value) for key, value in node.entries}


@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4))
def test_what_is_written_is_read_again(value: dict[str, object]) -> None:
    assert plain(read_yaml(write_yaml(value))) == value  # type: ignore[arg-type]  # Its texts nest as Value does.


def test_what_people_write() -> None:
    text = """
--- # a comment
topics:
  orders:   # another
    settings: {cleanup.policy: compact, 'it''s': "tab\\t\\u00e9"}
    list: [a b,
      c#d, "e, f"]
acls:
- principal: User:ann
  operations:
    - read
    - http://x:80/y # z
-   - nested
    - {}
text: |
  one
    two

  three
kept: |+
  a

folded: >-
  one
  two

  three
nothing:
no: 012
"""
    assert plain(read_yaml(text)) == {
        "topics": {
            "orders": {
                "settings": {"cleanup.policy": "compact", "it's": "tab\té"},
                "list": ["a b", "c#d", "e, f"],
            }
        },
        "acls": [
            {"principal": "User:ann", "operations": ["read", "http://x:80/y"]},
            ["nested", {}],
        ],
        "text": "one\n  two\n\nthree\n",
        "kept": "a\n\n",
        "folded": "one two\nthree",
        "nothing": "",
        "no": "012",
    }


def test_each_thing_has_its_place() -> None:
    document = read_yaml("a:\n  - b: 1\n    c:   two\r\n")
    assert isinstance(document, Entries)
    ((_, inner),) = document.entries
    assert isinstance(inner, Items)
    (item,) = inner.items
    assert isinstance(item, Entries)
    assert [(key.mark, value.mark) for key, value in item.entries] == [
        (Mark(2, 5), Mark(2, 8)),
        (Mark(3, 5), Mark(3, 10)),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a:\n\tb: 1", "2:1: "),
        ("a: 1\na: 2", "2:1: a is there already, in line 1"),
        ("{a: 1, a: 2}", "1:8: a is there already"),
        ("a: b: c", "1:5: "),
        ("a: [b", "1:6: "),
        ('a: "b\\q"', "1:7: "),
        ("a: &b 1\nc: *b", "2:4: aliases are not read here"),
        ("a: !b c", "1:4: tags are not read here"),
        ("{[a]: b}", "1:2: a name is expected"),
        ("a: 1\n---\nb: 2", "2:1: "),
        ("a: 1\nb: \x01", "2:4: YAML has no character 0x1"),
        ("[" * 2000 + "]" * 2000, "1:1: there are too many levels"),
    ],
)
def test_what_is_wrong_is_pointed_at(text: str, said: str) -> None:
    with pytest.raises(FileError) as failed:
        read_yaml(text)
    assert said in str(failed.value)


@given(st.text(st.sampled_from("ab:-#[]{}'\"|> \n,&*\\"), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    marks = []
    try:
        read_yaml(text)
    except FileError as wrong:
        marks.append(wrong.mark)
    assert all(1 <= mark.line <= text.count("\n") + 2 for mark in marks)
