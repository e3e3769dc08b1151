"""Which variables say more than a value."""

from __future__ import annotations

import pytest

from gatewright.config.variable_risks import is_ours, loads_code, moves_traffic

CODE = """LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES PYTHONPATH PYTHONSTARTUP PYTHONHOME NODE_OPTIONS
NODE_PATH PATH BASH_ENV ENV PERL5OPT PERL5LIB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS CLASSPATH
DOTNET_STARTUP_HOOKS GIT_SSH_COMMAND GIT_CONFIG_GLOBAL NPM_CONFIG_REGISTRY npm_config_prefix UV_INDEX_URL PIP_INDEX_URL
GLIBC_TUNABLES OPENSSL_CONF AWS_CONFIG_FILE PUPPETEER_EXECUTABLE_PATH PLAYWRIGHT_CHROMIUM_EXECUTABLE_PATH CHROME_PATH SVN_SSH RSYNC_RSH CVS_RSH HGRCPATH
GIO_MODULE_DIR GST_PLUGIN_PATH ERL_FLAGS TCLLIBPATH MONO_PATH ANSIBLE_CONFIG TF_CLI_CONFIG_FILE PKG_CONFIG_PATH KRB5_CONFIG LESSOPEN BROWSER EDITOR SHELL HOME DOCKER_HOST KUBECONFIG ld_preload Path""".split()
TRAFFIC = "HTTP_PROXY https_proxy ALL_PROXY SSL_CERT_FILE NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED OPENAI_BASE_URL".split()
PLAIN = (
    "TOKEN API_KEY PORT DEBUG LOG_LEVEL TZ LANG ROOT_PATH MY_PATH GITHUB_TOKEN DATABASE_URL".split()
)


@pytest.mark.parametrize("name", CODE)
def test_what_chooses_programs_and_modules_is_known(name: str) -> None:
    assert loads_code(name)


@pytest.mark.parametrize("name", TRAFFIC)
def test_what_says_where_connections_go_is_known(name: str) -> None:
    assert moves_traffic(name)


@pytest.mark.parametrize("name", PLAIN)
def test_an_ordinary_variable_is_neither(name: str) -> None:
    assert not loads_code(name)
    assert not moves_traffic(name)
    assert not is_ours(name)


@pytest.mark.parametrize("name", ["GATEWRIGHT_KEY", "GATEWRIGHT_STATE", "MGP_CONFIG_PATH"])
def test_the_gateways_own_variables_are_known(name: str) -> None:
    assert is_ours(name)
