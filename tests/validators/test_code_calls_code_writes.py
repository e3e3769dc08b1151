"""Calls that change something outside the program."""

import ast

import pytest

from gatewright.validators.code_calls import write_violation
from gatewright.validators.code_names import Names


def writes(call: str) -> bool:
    tree = ast.parse(f"import os, gzip\nfrom os import truncate as cut\n{call}")
    node = tree.body[-1]
    assert isinstance(node, ast.Expr)
    assert isinstance(node.value, ast.Call)
    return bool(list(write_violation(node.value, Names(ast.walk(tree)))))


@pytest.mark.parametrize(
    "call",
    [
        "open(f)",
        "open(f, 'r')",
        "open(f, 'rb')",
        "open(f, mode='rt', encoding='utf-8')",
        "p.open()",
        "p.open('r')",
        "gzip.open(f, 'rt')",
        "p.read_text()",
        "'a'.replace('b', 'c')",
        "x.append(1)",
        "client.get(url)",
        "client.x(method='GET')",
        "frame.sort(inplace=False)",
        "print(x)",
        "client.request('GET', url)",
        "sys.stdout.write('x')",
        "r.urlopen(url)",
        "r.urlopen(url, timeout=3)",
        "sys.stderr.writelines(x)",
        "client.request('head', url)",
        "p.replace(a, b)",
        "z.ZipFile(f, mode='r')",
        "open(f, 'r', -1)",
        "f('w')",
        "frame.drop(inplace=0)",
        "zlib.open(f)",
    ],
)
def test_calls_that_only_read_pass(call: str) -> None:
    """MGP-7.2-4"""
    assert not writes(call)


@pytest.mark.parametrize(
    "call",
    [
        "open(f, 'w')",
        "open(f, 'a')",
        "open(f, 'x')",
        "open(f, 'r+')",
        "open(f, mode='wb')",
        "open(f, m)",
        "open(f, mode=m)",
        "open(f, **k)",
        "open(*a)",
        "open(f, opener=o)",
        "p.open('w')",
        "os.open(f, os.O_RDWR)",
        "gzip.open(f, flags=x)",
        "sys.log.write('x')",
        "client.request(verb, url)",
        "p.open(mode='a')",
        "gzip.open(f, 'wt')",
        "z.ZipFile(f, 'w')",
        "p.write_text('x')",
        "p.unlink()",
        "p.replace(q)",
        "p.mkdir()",
        "f.write('x')",
        "cut(f, 0)",
        "client.post(url)",
        "client.delete(url)",
        "client.request('POST', url)",
        "client.x(method='PUT')",
        "client.x(method=m)",
        "frame.drop(inplace=True)",
        "frame.drop(inplace=b)",
        "frame.to_csv(f)",
        "c.commit()",
        "client.stream('PATCH', url)",
        "self.f.write('x')",
        "r.urlopen(url, data)",
        "r.urlopen(url, data=d)",
    ],
)
def test_calls_that_write_are_refused(call: str) -> None:
    """MGP-7.2-4"""
    assert writes(call)
