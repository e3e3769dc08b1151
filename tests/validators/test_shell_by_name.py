"""Tools that run commands, known by their name."""

import pytest

from gatewright.validators.shell_by_name import runs_commands


@pytest.mark.parametrize(
    "name",
    [
        "execute_command",
        "executeCommand",
        "ExecuteCommand",
        "run_command",
        "run_shell_command",
        "run-shell-command",
        "shell",
        "bash",
        "sh",
        "cmd",
        "powershell",
        "terminal",
        "exec",
        "shell.exec",
        "shell_tool",
        "run_in_terminal",
        "execute_command_in_terminal",
        "start_process",
        "run_process_async",
        "tool.terminal.execute_command",
        "RUN_COMMAND",
        "system_exec",
    ],
)
def test_a_tool_that_is_named_after_running_commands_is_one(name: str) -> None:
    """MGP-8.2-1"""
    assert runs_commands(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "echo",
        "add",
        "execute_sql",
        "run_query",
        "run_python_code",
        "list_processes",
        "process",
        "system",
        "get_system_info",
        "read_terminal",
        "seashell_catalogue",
        "fishing",
        "fish",
        "console",
        "command_palette_search",
        "execute",
        "run",
        "send_input",
        "日本語",
    ],
)
def test_a_name_that_only_resembles_one_is_none(name: str) -> None:
    assert not runs_commands(name)
