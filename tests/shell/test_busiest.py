"""Clients by what their sockets carry: counted by the kernel, summed by name, and bounded."""

import socket

from penstock.shell.exposition.busiest import CLIENTS_MAX, NAME_CHARS_MAX, Traffic, busiest_families, socket_bytes


def told(*traffic: Traffic) -> list[str]:
    return [line for family in busiest_families(lambda: traffic) for line in family.lines(False) if line[0] != "#"]


def test_connections_of_one_name_are_summed() -> None:
    assert told(Traffic("a", 1, 2), Traffic("b", 10, 20), Traffic("a", 3, 4)) == [
        'penstock_client_connections{client_id="b"} 1',
        'penstock_client_connections{client_id="a"} 2',
        'penstock_client_received_bytes{client_id="b"} 10',
        'penstock_client_received_bytes{client_id="a"} 4',
        'penstock_client_sent_bytes{client_id="b"} 20',
        'penstock_client_sent_bytes{client_id="a"} 6',
    ]


def test_only_the_busiest_are_named_and_their_names_end() -> None:
    lines = told(*(Traffic(f"{number}".rjust(500, "x"), number, 0) for number in range(2 * CLIENTS_MAX)))
    assert len(lines) == 3
    assert f'"{"x" * NAME_CHARS_MAX}"' in lines[0]
    lines = told(*(Traffic(f"{number}", number, 0) for number in range(2 * CLIENTS_MAX)))
    assert len(lines) == 3 * CLIENTS_MAX
    assert 'client_id="0"' not in "".join(lines)


def test_the_kernel_counts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        with socket.create_connection(listening.getsockname()) as here, listening.accept()[0] as there:
            there.sendall(b"x" * 1000)
            received = 0
            while received < 1000:
                received += len(here.recv(1000))
            assert socket_bytes(here.fileno())[0] == 1000
        assert socket_bytes(here.fileno()) == (0, 0)
