"""The shape of the house: imports go one way, and importing costs nothing."""

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from enum import Enum
from functools import cache
from pathlib import Path

import pytest

import simonides

SOURCE = Path(simonides.__file__).parent
TESTS = Path(__file__).parent

# Each room may import from itself and from rooms before it. Catalogues join the two papers' lists.
ROOMS = [
    "foundations",
    "theory",
    "signal",
    "signal.paper.scales",
    "planner",
    "problems",
    "certificate",
    "solvers",
    "experiments",
    "memory",
    "editing",
    "curves.table",
    "figures",
    "curves",
    "reproduction",
    "signal.paper",
    "curves.catalogue",
    "reproduction.catalogue",
    "report",
    "reproduction.run",
    "cli",
    "signal.commands",
    "cli.app",
]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def room(module: str) -> int:
    """Return the place of a module's room: the longest name that the module's begins with."""
    parts = module.split(".")[1:]
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next((ROOMS.index(name) for name in names if name in ROOMS), 0)


def imports(path: Path) -> set[str]:
    modules = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the direction"
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in modules if name.split(".")[0] == "simonides"}


def wrong_way(path: Path, package: Path) -> list[str]:
    # The facade alone may name every room, lazily; the program starts in the last one.
    if path.relative_to(package).as_posix() in ("__init__.py", "__main__.py", "cli/__init__.py"):
        return []
    own = "simonides." + ".".join(path.relative_to(package).with_suffix("").parts)
    return sorted(name for name in imports(path) if room(name) > room(own))


def test_imports_go_one_way():
    offences = {path: wrong_way(path, SOURCE) for path in SOURCE.rglob("*.py")}
    assert not {path.name: names for path, names in offences.items() if names}


def test_the_import_check_sees_an_offence(tmp_path):
    (tmp_path / "theory").mkdir()
    path = tmp_path / "theory" / "bad.py"
    path.write_text("from simonides.cli import output\n")
    assert wrong_way(path, tmp_path) == ["simonides.cli.output"]


def test_signal_stands_apart_from_storage():
    outside = {"problems", "certificate", "solvers"}
    for path in SOURCE.rglob("*.py"):
        own = "simonides." + ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        inner = ROOMS[room(own)]
        rooms = {ROOMS[room(name)] for name in imports(path)}
        if inner == "signal":
            assert rooms <= {"foundations", "theory", "signal"}, path
        elif inner in outside:
            assert "signal" not in rooms, path


def test_theory_does_not_draw_print_or_read():
    for path in (SOURCE / "theory").glob("*.py"):
        text = path.read_text()
        assert "matplotlib" not in text, path
        assert "print(" not in text.replace(">>> print(", ""), path
        assert "open(" not in text, path


def test_no_file_has_grown_past_one_mind():
    files = [*SOURCE.rglob("*.py"), *TESTS.rglob("*.py")]
    assert not [path for path in files if len(path.read_text().splitlines()) > 400]


def test_importing_loads_nothing_heavy():
    code = (
        "import sys, simonides\n"
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'typer') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_is_imported_before_the_program_minds_interrupts():
    code = (
        "import sys\nbefore = {*sys.modules}\nimport simonides.cli\n"
        "print(sorted({*sys.modules} - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['__future__', 'simonides', 'simonides.cli']"


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom simonides.cli.app import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('numpy', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_the_front_door_names_what_it_exports():
    for name in simonides.__all__:
        assert getattr(simonides, name) is not None
    assert set(simonides.__all__) <= set(dir(simonides))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = simonides.nothing


@pytest.mark.parametrize("name", sorted(simonides.__all__))
def test_a_docstring_is_one_that_a_user_can_work_from(name):
    item = getattr(simonides, name)
    text = inspect.getdoc(item) or ""
    assert len(text.split("\n")[0]) > 20
    sections = set(re.findall(r"^(\w+)\n-{4,}$", text, flags=re.MULTILINE))
    assert "Examples" in sections
    if inspect.isfunction(item):
        assert {"Parameters", "Returns", "Raises"} <= sections
    elif inspect.isclass(item) and not issubclass(item, (BaseException, Enum)):
        assert sections & {"Parameters", "Attributes"}


def test_the_front_door_is_listed_in_the_reference():
    page = (TESTS.parent / "docs" / "api" / "index.md").read_text()
    listed = {
        path.split(".")[-1] for path in re.findall(r"^.. auto\w+:: (\S+)$", page, re.MULTILINE)
    }
    registries = {name for name in ("ensembles", "methods") if f"`simonides.{name}`" in page}
    assert set(simonides.__all__) == listed | registries


def test_the_drawing_names_files_that_there_are():
    picture = (TESTS.parent / "docs" / "architecture.md").read_text()
    files = {path.name for path in SOURCE.rglob("*.py")}
    assert set(re.findall(r"\b\w+\.py\b", picture)) <= files


def test_every_file_is_in_the_drawing_or_its_folder_is():
    page = (TESTS.parent / "docs" / "architecture.md").read_text()
    drawn = set(re.findall(r"\b\w+\.py\b", page.split("```")[1]))
    folders = {"cli", "claims", "planner", "signal"}
    assert {folder for folder in folders if f"{folder}/" in page} == folders
    files = {path.relative_to(SOURCE) for path in SOURCE.rglob("[!_]*.py")}
    listed = {path for path in files if not folders & set(path.parts)}
    assert sorted(path.as_posix() for path in listed if path.name not in drawn) == []


def test_no_two_public_classes_share_a_name():
    homes: dict[str, list[Path]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(path)
    assert not {name: paths for name, paths in homes.items() if len(paths) > 1}


def test_no_function_has_grown_past_one_look():
    long = [
        f"{path.name}: {node.name}"
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef) and code_lines(node) > 80
    ]
    assert not long


def code_lines(node: ast.FunctionDef) -> int:
    """Lines of a function, its docstring not counted."""
    words = node.body[0]
    documented = isinstance(words, ast.Expr) and isinstance(words.value, ast.Constant)
    return node.end_lineno - node.lineno + 1 - (documented and words.end_lineno - words.lineno + 1)


def nouns(path: Path) -> set[str]:
    """Return the names of parameters and local variables."""
    functions = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.FunctionDef)]
    parts = [part for function in functions for part in ast.walk(function)]
    return {part.arg for part in parts if isinstance(part, ast.arg)} | {
        part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }


@pytest.mark.parametrize("room", [SOURCE, TESTS.parent / "benchmarks", TESTS.parent / "examples"])
def test_variables_are_nouns_of_the_subject(room):
    files = [*room.rglob("*.py")]
    assert files
    assert not [path for path in files if nouns(path) & {"found", "one", "asked"}]


def test_every_extra_that_a_remedy_names_is_there_to_install():
    named = {
        extra
        for path in SOURCE.rglob("*.py")
        for extra in re.findall(r"""arguments\.install\("(\w+)"\)""", path.read_text())
    }
    project = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["project"]
    assert {"dask", "hf", "torch"} <= named <= set(project["optional-dependencies"])


def test_no_remedy_asks_an_index_for_the_package():
    assert not [path for path in SOURCE.rglob("*.py") if "simonides[" in path.read_text()]


def test_files_are_written_by_the_one_writer():
    """Elsewhere a file that a fault cuts short would be left half written."""
    others = [path for path in SOURCE.rglob("*.py") if path.name != "writing.py"]
    code = {path: re.sub(r"^ *>>>.*$", "", path.read_text(), flags=re.MULTILINE) for path in others}
    assert not [path for path, text in code.items() if re.search(r"\.write_(bytes|text)\(", text)]


def test_typed_package_is_marked():
    assert (SOURCE / "py.typed").exists()


PAGES = [*sorted((TESTS.parent / "docs").glob("*.md")), *sorted(TESTS.parent.glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_what_a_page_shows_and_links_to_exists(page):
    """All but the pictures that are drawn when the pages are built."""
    text = re.sub(r"^```(?!\{).*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    shown = re.findall(r"\{(?:include|literalinclude|image)\} (\S+)", text)
    linked = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    wanted = [name for name in shown + linked if "://" not in name and "_generated/" not in name]
    assert [name for name in wanted if not (page.parent / name).exists()] == []
