"""Tables of `code_safety`: blocked and allowed imports, builtins, attributes and patterns.

Names of modules are dotted; a rule for `os` covers `os.path`, too. The lists of MGP §7.3 are the beginning of
the blocked ones; the rest is what leads to the same places by another way.
"""

from __future__ import annotations

import sys

__all__ = [
    "ALLOWED_IMPORTS",
    "BLOCKED_ATTRIBUTES",
    "BLOCKED_BUILTINS",
    "BLOCKED_IMPORTS",
    "BLOCKED_MEMBERS",
    "BLOCKED_PATTERNS",
    "HARMLESS_DUNDERS",
    "HIDDEN_MODULES",
    "MODULES",
    "NETWORK",
    "OBJECTS",
    "ONLY_MEMBERS",
    "STARS",
    "SUBMODULES",
    "WATCHED",
    "WRITING_ATTRIBUTES",
    "WRITING_MEMBERS",
]

BLOCKED_IMPORTS = tuple(
    """
    subprocess shutil socket ctypes multiprocessing importlib builtins imp pty tty termios fcntl
    pickle marshal shelve dbm code codeop runpy pdb bdb trace profile cProfile timeit doctest pydoc webbrowser
    antigravity cgitb socketserver http.server xmlrpc.server telnetlib ftplib smtplib poplib imaplib nntplib
    zipimport zipapp pkgutil gc posix nt posixpath ntpath resource mmap crypt readline rlcompleter idlelib
    lib2to3 test distutils setuptools pip ensurepip venv site sitecustomize usercustomize pipes commands popen2
    symtable dis opcode mailcap spwd   logging.config
    asyncio.subprocess asyncio.unix_events winreg msvcrt winsound msilib turtle tkinter curses
    cffi pexpect ptyprocess paramiko fabric invoke sh plumbum  pwn impacket scapy nmap docker ansible_runner
    dill cloudpickle joblib jsonpickle win32api win32com pywintypes pynput pyautogui keyboard execnet rpyc
    numpy.f2py numpy.distutils numpy.ctypeslib concurrent.futures.process modulefinder compileall asyncore asynchat
    wsgiref.simple_server netrc IPython gevent.subprocess billiard multiprocess loky pathos asyncssh salt wmi
    tornado.process twisted.internet.utils papermill cppyy pyximport js2py execjs lupa rpy2 jpype jnius clr mako
    langchain_experimental torch.hub torch.utils.cpp_extension sympy.parsing sympy.core.sympify
    sympy.utilities.lambdify pickle5 cPickle hickle stevedore annotationlib interpreters concurrent.interpreters
    """.split()
)
BLOCKED_PATTERNS = ("eval(", "exec(", "__import__(", "os.system")
ALLOWED_IMPORTS = tuple(
    """
    asyncio json httpx os datetime typing math cmath re collections itertools functools operator dataclasses enum
    decimal fractions statistics random string textwrap time calendar zoneinfo uuid hashlib hmac secrets base64
    binascii heapq bisect array copy abc contextlib numbers pprint unicodedata difflib html csv struct zlib
    queue graphlib types warnings logging urllib.parse ipaddress typing_extensions __future__ keyword colorsys
    pathlib io locale gettext stringprep numpy pandas
    """.split()
)
"""The default of the levels `strict` and `readonly`. `os`, `asyncio` and others only in parts, see below."""

BLOCKED_BUILTINS = frozenset(
    "eval exec compile __import__ breakpoint globals locals __builtins__ __loader__ __spec__ __build_class__ get_ipython".split()
)
_EXECUTE = "execl execle execlp execlpe execv execve execvp execvpe"
_SPAWN = "spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe posix_spawn posix_spawnp"
BLOCKED_MEMBERS: dict[str, frozenset[str]] = {
    "os": frozenset(
        f"""
        system popen startfile fork forkpty kill killpg abort _exit dup dup2 openpty login_tty setuid setgid
        seteuid setegid setreuid setregid setresuid setresgid setgroups initgroups chroot mknod pidfd_open
        memfd_create eventfd unshare setns plock pipe pipe2 {_EXECUTE} {_SPAWN} sys st abc
        """.split()
    ),
    "sys": frozenset(
        """
        modules meta_path path_hooks path_importer_cache settrace setprofile gettrace getprofile addaudithook
        breakpointhook __breakpointhook__ displayhook excepthook unraisablehook call_tracing activate_stack_trampoline
        set_asyncgen_hooks set_coroutine_origin_tracking_depth monitoring remote_exec exc_info last_traceback
        """.split()
    ),
    "asyncio": frozenset("open_connection open_unix_connection start_server start_unix_server create_subprocess_shell create_subprocess_exec subprocess base_subprocess events".split()),
    "types": frozenset(
        "CodeType FunctionType LambdaType ModuleType FrameType new_class prepare_class CellType ".split()
    ),
    "inspect": frozenset(
        "getmembers getmembers_static getclosurevars getgeneratorlocals currentframe stack trace getouterframes getinnerframes getframeinfo getmodule get_annotations "
        "getattr_static unwrap sys os importlib builtins".split()
    ),
    "typing": frozenset("get_type_hints ForwardRef sys types".split()),
    "typing_extensions": frozenset("get_type_hints get_annotations ForwardRef".split()),
    "operator": frozenset({"methodcaller"}),
    "platform": frozenset("popen os subprocess sys".split()),
    "threading": frozenset("settrace setprofile settrace_all_threads setprofile_all_threads".split()),
    "yaml": frozenset("unsafe_load unsafe_load_all full_load full_load_all UnsafeLoader FullLoader Loader CLoader load load_all".split()),
    "pandas": frozenset("eval read_pickle".split()),
    "torch": frozenset({"load"}),
    "numpy": frozenset({"f2py", "distutils", "load", "ctypeslib"}),
    "concurrent.futures": frozenset({"ProcessPoolExecutor"}),
    "sympy": frozenset({"sympify", "parse_expr", "lambdify"}),
    "string": frozenset({"Formatter"}),
    "warnings": frozenset({"sys"}),
    "sqlite3": frozenset({"enable_callback_tracebacks"}),
    "urllib.request": frozenset({"FileHandler", "FTPHandler"}),
    "tempfile": frozenset({"mktemp"}),
    "io": frozenset({"open_code"}),
    "git": frozenset("Git cmd".split()),
    "anyio": frozenset("run_process open_process to_process".split()),
    "trio": frozenset("run_process open_process lowlevel".split()),
    "numexpr": frozenset({"evaluate"}),
    "hydra.utils": frozenset("instantiate call get_method get_class get_object".split()),
    "pkg_resources": frozenset("EntryPoint iter_entry_points load_entry_point run_script".split()),
    "pydantic": frozenset({"ImportString"}),
}  # fmt: skip
ONLY_MEMBERS: dict[str, frozenset[str]] = {
    "os": frozenset(
        """
        path environ getenv getcwd listdir scandir walk stat lstat sep linesep altsep pathsep curdir pardir name
        cpu_count getpid getppid urandom fspath fsencode fsdecode PathLike DirEntry access F_OK R_OK X_OK W_OK
        get_terminal_size uname getlogin times readlink environb error devnull extsep stat_result
        """.split()
    ),
    "asyncio": frozenset(
        """
        run gather sleep wait wait_for create_task Task Future Lock Event Condition Semaphore BoundedSemaphore Queue
        PriorityQueue LifoQueue QueueEmpty QueueFull TimeoutError CancelledError InvalidStateError timeout timeout_at
        TaskGroup Barrier shield as_completed current_task all_tasks to_thread iscoroutine iscoroutinefunction
        FIRST_COMPLETED FIRST_EXCEPTION ALL_COMPLETED Runner ensure_future isfuture
        """.split()
    ),
    "sys": frozenset(
        """
        argv stdin stdout stderr version version_info platform maxsize byteorder float_info int_info getsizeof
        exit getrecursionlimit executable flags implementation hexversion getdefaultencoding intern maxunicode
        """.split()
    ),
    "logging": frozenset(
        """
        getLogger Logger LoggerAdapter basicConfig debug info warning error exception critical log DEBUG INFO WARNING
        ERROR CRITICAL NOTSET Formatter Handler StreamHandler NullHandler LogRecord Filter getLevelName disable
        """.split()
    ),
    "types": frozenset(
        "SimpleNamespace MappingProxyType NoneType EllipsisType GenericAlias UnionType DynamicClassAttribute "
        "coroutine AsyncGeneratorType CoroutineType GeneratorType BuiltinFunctionType".split()
    ),
    "io": frozenset("StringIO BytesIO TextIOBase BufferedIOBase RawIOBase IOBase SEEK_SET SEEK_CUR SEEK_END open TextIOWrapper".split()),
}  # fmt: skip
"""At `strict` and above: of these modules nothing but this."""

BLOCKED_ATTRIBUTES = frozenset(
    f"""
    gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await ag_frame ag_code ag_await f_globals f_builtins f_locals
    get_original temp_original f_back f_code tb_frame tb_next tb_lasti co_code co_consts co_names func_globals func_code func_closure
    cell_contents mro _getframe _current_frames create_subprocess_shell create_subprocess_exec subprocess_shell
    subprocess_exec Popen check_output getstatusoutput load_module exec_module load_dynamic get_objects
    get_referrers get_referents read_pickle enable_load_extension load_extension builtins _os _sys _subprocess
    posix_spawn posix_spawnp ctypes subprocess importlib open_code run_code run_module run_path
    import_string spawnProcess runstring get_original temp_original loadTestsFromName loadTestsFromNames
    rmtree create_connection create_server create_unix_connection create_unix_server create_datagram_endpoint evaluate_forward_ref _evaluate {_EXECUTE} {_SPAWN}
    """.split()
)
"""Of any object: frames, code objects, and what starts programs under whatever name its module has."""

HARMLESS_DUNDERS = frozenset(
    f"__{name}__"
    for name in """
    init name doc class len str repr iter next enter exit aenter aexit aiter anext eq ne lt le gt ge hash bool
    call class_getitem getitem setitem delitem contains add radd iadd sub rsub isub mul rmul imul truediv rtruediv floordiv
    rfloordiv mod rmod pow rpow and or xor rand ror rxor iand ior ixor neg pos abs invert int float index round
    complex format bytes reversed missing post_init slots annotations qualname module version author all
    members cause context notes setattr new dataclass_fields fields file match_args await length_hint
    ceil floor trunc divmod rdivmod lshift rshift matmul sizeof dir copy deepcopy main suppress_context
    dict pydantic_fields origin args parameters orig_bases required_keys optional_keys total set_name set get delete del
    """.split()
)
WATCHED = frozenset(
    "os sys builtins importlib asyncio types inspect typing io operator platform codecs".split()
)
"""Modules that must not be passed around: what is done with them elsewhere could not be seen."""

STARS = frozenset(
    "typing math cmath collections itertools functools dataclasses enum string decimal fractions".split()
)
"""Modules whose `import *` brings nothing that is refused."""

MODULES = frozenset(sys.stdlib_module_names)
NETWORK = frozenset(
    "httpx requests aiohttp urllib urllib3 http websockets websocket pycurl".split()
)
"""Modules that can send something to somebody."""
HIDDEN_MODULES = frozenset(
    "os sys subprocess builtins importlib shutil socket ctypes pickle".split()
)
"""Modules that are not to be reached through a foreign package that imports them."""
SUBMODULES = frozenset(
    "os.path collections.abc urllib.parse urllib.request urllib.error concurrent.futures xml.etree json.decoder "
    "json.encoder logging.handlers datetime.time http.client email.message email.policy email.parser "
    "xml.dom xml.sax html.parser html.entities zoneinfo.zoneinfo typing.re typing.io asyncio.queues "
    "os.stat sys.platform locale.gettext unicodedata.decimal ast.keyword ast.operator".split()
)
"""Members of modules that are called like modules and are meant to be used, or are none."""

OBJECTS = frozenset(
    "os.environ os.environb sys.argv sys.path sys.stdin sys.stdout sys.stderr datetime.datetime datetime.date".split()
)
"""Members of modules that are no modules: what they have is called like one (`os.environ.copy`) and is none."""

WRITING_ATTRIBUTES = frozenset(
    """
    write writelines write_text write_bytes unlink rmdir mkdir rename touch chmod lchmod chown symlink_to hardlink_to
    link_to truncate makedirs removedirs renames symlink mkfifo post put patch delete request stream send sendall
    sendto sendfile executemany executescript commit to_csv to_excel to_json to_parquet to_pickle to_sql save
    savetxt savez tofile dump write_through extractall extract copyfile copytree move utime putenv unsetenv
    setxattr removexattr mkdtemp mkstemp NamedTemporaryFile TemporaryDirectory TemporaryFile setrlimit
    remove_file FileHandler RotatingFileHandler urlretrieve build_opener
    """.split()
)
"""At `readonly`: what changes something outside the program, by the name of the method."""
WRITING_MEMBERS: dict[str, frozenset[str]] = {
    "os": frozenset("remove replace environb".split()),
    "httpx": frozenset("post put patch delete request stream".split()),
    "logging": frozenset({"basicConfig"}),
}
