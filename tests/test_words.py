"""Words of README, docs, the command line, public docstrings and errors: phrases that nobody says, and bookkeeping."""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import daedalus as dd

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "daedalus"
# The page about the source documents, and that of their mistakes, may number them.
ABOUT_DOCUMENTS = {"audit.md", "corrections.md"}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "methods").glob("*.md"))]
COMMANDS = [PACKAGE / name for name in ("command_line.py", "demo.py")]
SCRIPTS = sorted(script for script in (PACKAGE / "display").rglob("*.js") if "three" not in script.parts)
GALLERY = sorted((ROOT / "examples" / "gallery").glob("*.py"))
ERRORS = {
    *("DaedalusError", "ModelError", "InputError", "SolverError", "SingularModelError", "InconsistentStartError"),
}
DOMAINS = ("electrical", "rotational", "translational", "hydraulic", "thermal", "signals", "machines")

PHRASES = {
    r"block on this page runs in the tests": "bookkeeping",
    r"of the time allowed": "bookkeeping",
    r"\bMostly: do not": "say what the default is",
    r"\bWho wants\b": "To ..., call ...",
    r"\bwithout end\b": "runaway, endless",
    r"\brefuses strangers\b": "accepts authenticated requests only",
    r"\b(?:a|one) (?:line|panel|row|column|curve|colour|picture|slider|value|entry|dimension|step) an? \w+": "one per",
    r"what is too much(?:,| or) ": "over- and under-determined",
    r"\bNothing of\b": "has no ...",
    r"(?<!here )\bis no (?!longer|more|other|less|need|way|news)\w+": "is not a ...",
    r"\b(?:of )?one's own\b": "your own",
    r"\bverbs?\b": "functions",
    r"\bdoor [1-4]\b": "equations, energies, bodies, components",
    r"\bon lanes\b": "on SIMD kernels",
    r"\bledger\b": "energy balance",
    r"\banew\b": "again",
    r"\bmeans nothing\b": "is not valid",
    r"\bfolded to\b": "simplified to",
    r"\bmethods? of momenta\b": "symplectic method",
    r"\bdo(?:es)? not arrive\b": "does not converge",
    r"\bas one likes\b": "as you like",
    r"\bwhere somebody looks\b": "on a terminal",
    r"\bWhat can go wrong:": "Raises ...",
    r"\bcalls? add up\b(?<!everal calls add up)": "Several calls add up",
    r"\bWhat was is\b": "delayed values are",
    r"\bdraws? themselves\b": "are drawn automatically",
    r"\bby the shortest way\b": "projected onto",
    r"\bhas the last word\b": "wins",
    r"\bwithout a word\b": "without a warning",
    r"\b(?:does|do) not go (?:with|on|through|together)\b": "cannot be used with, be continued, be computed through",
    r"\bis another than\b": "differs from",
    r"\bstands? still\b": "is at rest",
    r"\bto be had\b": "available",
    r"\bone (?:likes|wants)\b": "you want",
    r"\bsomebody\b": "you",
    r"\bwhatever the values are\b": "for all values",
    r"\bsay the same\b": "are equivalent",
    r"\bstands before\b": "the coefficient of",
    r"\bsymbols of its own\b|\bkeywords of its own\b": "its own symbols",
    r"\bis another one in\b": "differs from case to case",
    r"\bare no (?:seeds|numbers|names|times)\b": "is not valid, are not ...",
    r"\bWhat lies\b": "name it",
    r"\bgoes its way\b": "continues",
    r"\bfor ever\b": "never ends",
    r"\bso many that\b": "as many as",
    r"\bEvery block runs\b": "bookkeeping",
    r"\b(?:goes|went|go) on (?:from|by|with|where)\b": "continues from, starts where",
    r"\bthe way back\b": "converts back",
    r"\bas one writes\b": "as text, as written",
    r"\bgives the matplotlib\b": "returns the matplotlib",
    r"\bsays by how much\b": "name the quantity",
    r"\bbrings `": "has the coordinate, adds",
    r"\bis told of\b": "is notified of",
    r"\bone and the same\b": "the same",
    r"\bbeside the usual\b": "special steps",
    r"\bholds anyway\b": "leave it out",
    r"\bon two ways\b": "by both branches",
    r"(?:^|[.!?] )Behind \w": "After ...",
    r"\bthat (?:nothing|the motion|nobody) (?:else )?feels?\b": "does not influence",
    r"\bwhich stiff systems feel\b": "limits the order on stiff systems",
    r"\bwhichever\.": "any frame",
    r"\bNot carried\b": "not supported",
    r"\bwith the text of ours\b": "with the message of Daedalus",
    r"\bnobody looks at\b": "no page shows",
    r"\bhas not the\b": "does not contain the",
    r"\bonce more, (?:joined|made|written)\b": "built from",
    r"\bclosed in itself\b": "periodic",
    r"\babove all, grows?\b": "mainly of",
    r"\bslightly beside it\b": "slightly off",
    r"\bdamps? in silence\b": "damp motions that they do not resolve",
    r"\bholds more than it can\b": "exceeds its limit",
    r"\bforms? a circle\b": "depend on each other in a circle",
    r"\bbelongs to the one\b": "selects the ... law",
    r"\bwith commas between\b": "separated by commas",
    r"\bbring[s]? .{0,40} along\b": "has, contains",
    r"\bconstrains nothing\b": "does not constrain anything",
}


def violations(text: str) -> list[tuple[str, str]]:
    """The phrases of the list that a text contains, each with what to say instead."""
    return [(phrase, instead) for phrase, instead in PHRASES.items() if re.search(phrase, text)]


@pytest.mark.parametrize("page", [*PAGES, *COMMANDS, *SCRIPTS, *GALLERY], ids=lambda page: page.name)
def test_pages_are_free_of_phrases_that_nobody_says(page):
    assert violations(page.read_text(encoding="utf-8")) == []


def test_descriptions_of_known_systems_are_free_of_them():
    texts = {name: dd.catalogue.describe(name) for name in dd.catalogue.names()}
    assert {name: found for name, text in texts.items() if (found := violations(text))} == {}


def public_docstrings() -> dict[str, str]:
    """The docstrings of all public names, of the members of public classes, and of the components."""
    found: dict[str, str] = {}
    for name in dd.__all__:
        value = getattr(dd, name)
        found[f"dd.{name}"] = inspect.getdoc(value) or ""
        if inspect.isclass(value):
            for base in value.__mro__:
                for member, thing in vars(base).items() if base.__module__.startswith("daedalus") else ():
                    if not member.startswith("_"):
                        found[f"dd.{name}.{member}"] = inspect.getdoc(thing) or ""
    for domain in DOMAINS:
        for name, value in vars(import_module(f"daedalus.components.{domain}")).items():
            if inspect.isclass(value) and hasattr(value, "keywords"):
                found[f"{domain}.{name}"] = inspect.getdoc(value) or ""
    return found


def test_docstrings_of_public_names_are_free_of_them_too():
    assert {name: found for name, text in public_docstrings().items() if (found := violations(text))} == {}


def error_texts(file: Path) -> list[tuple[int, str]]:
    """All texts in the calls that make an error of the package, with their lines."""
    source = file.read_text(encoding="utf-8")
    # Two files of three make none and need not be parsed.
    if not any(name in source for name in ERRORS):
        return []
    return [
        (part.lineno, part.value)
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ERRORS
        for part in ast.walk(call)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]


@pytest.mark.usefixtures("without_garbage_collection")
def test_errors_are_free_of_them_too():
    found = {
        f"{file.relative_to(PACKAGE)}:{line}": wrong
        for file in sorted(PACKAGE.rglob("*.py"))
        for line, text in error_texts(file)
        if (wrong := violations(text))
    }
    assert found == {}


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in ABOUT_DOCUMENTS], ids=lambda p: p.name)
def test_source_documents_are_numbered_on_their_own_page_alone(page):
    assert not re.search(r"\b[Dd]ocument 00\d", page.read_text(encoding="utf-8"))


def test_public_docstrings_number_no_source_documents():
    assert [name for name, text in public_docstrings().items() if re.search(r"\b[Dd]ocument 00\d", text)] == []


def test_the_readme_is_short_and_counts_right():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 200
    assert f"one of {len(dd.catalogue.names())} known systems" in text
    assert f"{len(dd.methods())} methods, fixed-step and adaptive" in text


def test_the_changelog_says_nothing_twice():
    """Its lines come from many hands; merged line by line, older words of the same news come back."""
    unreleased = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1]
    news = [line for line in unreleased.splitlines() if line.startswith("- ")]
    first_words = [" ".join(line.split()[:12]) for line in news]
    assert [words for words in first_words if first_words.count(words) > 1] == []
