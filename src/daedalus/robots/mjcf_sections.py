"""The sections of an MJCF file that rule the others: included files, compiler, options and defaults by class.

Sections that appear several times, as with included files, are read one after the other: what a later one writes
replaces what an earlier one wrote, and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from daedalus.errors import InputError
from daedalus.model.names import did_you_mean
from daedalus.robots.file_elements import Element, numbers, parsed
from daedalus.robots.links_and_joints import FileDrive, FileTendon, RobotDescription
from daedalus.robots.mjcf_actuator_words import LAW_WORDS, ActuatorWords
from daedalus.robots.mjcf_poses import AT_ORIGIN, Pose, check_order, pose_of

# Far above files that are known, far below what a file can ask for.
MOST_INCLUDES = 100
# Words of the compiler that change no motion here: files, pictures, and how MuJoCo itself computes.
QUIET_COMPILER = {
    "angle", "eulerseq", "inertiafromgeom", "autolimits", "coordinate", "inertiagrouprange", "balanceinertia",
    "boundmass", "boundinertia", "settotalmass", "assetdir", "meshdir", "texturedir", "strippath", "discardvisual",
    "fusestatic", "fitaabb", "convexhull", "usethread", "saveinertial", "savecanonical", "savecompiled",
}  # fmt: skip
QUIET_OPTIONS = {"gravity", "timestep", "integrator", "iterations", "solver", "tolerance", "jacobian", "apirate"}
TRUE = ("true", "1")


@dataclass
class MjcfRules:
    """What the compiler of a file says of its numbers."""

    degrees: bool = True
    order: str = "xyz"  # of Euler angles
    inertia_from_geom: str = "auto"
    autolimits: bool = True
    groups: tuple[int, int] = (0, 5)  # of the geoms that count for inertias
    balance: bool = False
    masses: dict[str, float] = field(
        default_factory=lambda: {"boundmass": 0.0, "boundinertia": 0.0, "settotalmass": -1.0}
    )


@dataclass
class _ClassWords:
    """What a class gives to elements by their names, and to actuators."""

    elements: dict[str, dict[str, str]] = field(default_factory=dict)
    actuators: ActuatorWords = field(default_factory=ActuatorWords)


class MjcfDefaults:
    """Attributes that classes give to elements."""

    def __init__(self) -> None:
        self._classes = {"main": _ClassWords()}

    def read(self, element: Element) -> None:
        """Take in a <default> of the file itself: it adds to the class of all."""
        self._read(element, "main", self._classes["main"])

    def _read(self, element: Element, name: str, own: _ClassWords) -> None:
        for child in element:
            if child.tag != "default":
                words = {k: v for k, v in child.attrib.items() if k != "class"}
                if child.tag in LAW_WORDS:
                    own.actuators = own.actuators.with_default(child.tag, words)
                else:
                    own.elements.setdefault(child.tag, {}).update(words)
        self._classes[name] = own
        for child in element.findall("default"):
            inner = child.get("class") or ""
            if not inner or inner in self._classes:
                raise InputError(
                    f"The default class {inner!r} is there twice." if inner else "A default class has no name.",
                    f"inside {name!r}",
                    because="elements find their class by its name.",
                    remedy='<default class="...">, each name once',
                )
            copied = {tag: dict(words) for tag, words in own.elements.items()}
            self._read(child, inner, _ClassWords(copied, own.actuators.inside()))

    def applied(self, element: Element, inherited: str, kind: str = "") -> Element:
        """An element with the attributes that its class gives it.

        kind: under which defaults are written for it, its own name by default.
        """
        found = self._of_class(element, inherited)
        if element.tag in LAW_WORDS:
            return type(element)(element.tag, found.actuators.words(element.tag, element.attrib))
        return type(element)(element.tag, {**found.elements.get(kind or element.tag, {}), **element.attrib})

    def _of_class(self, element: Element, inherited: str) -> _ClassWords:
        name = element.get("class") or inherited
        if name not in self._classes:
            raise InputError(
                f"The default class {name!r} is not in the file.",
                f"<{element.tag}> asks for it; classes: {', '.join(list(self._classes)[:8])}",
                because="its attributes are unknown.",
                remedy=f'<default><default class="{name}"/></default>',
            )
        return self._classes[name]


@dataclass
class MjcfReading:
    """What is known while a file is read: rules, defaults by class, and names with what they belong to."""

    robot: RobotDescription
    rules: MjcfRules = field(default_factory=MjcfRules)
    defaults: MjcfDefaults = field(default_factory=MjcfDefaults)
    taken: set[str] = field(default_factory=set)
    names: dict[str, dict[str, str]] = field(default_factory=lambda: {"body": {"world": ""}, "joint": {}, "site": {}})
    drawn: dict[str, Pose] = field(default_factory=lambda: {"": AT_ORIGIN})  # poses of links as the file draws them
    bodies: int = 0
    drives: list[FileDrive] = field(default_factory=list)
    tendons: dict[str, FileTendon] = field(default_factory=dict)
    between: set[str] = field(default_factory=set)  # links that the compiler's rules for masses leave alone

    def pose(self, element: Element, where: str) -> Pose:
        """The pose of an element by the rules of the file."""
        return pose_of(element, where, self.rules.degrees, self.rules.order)


def named_part(kind: str, given: str, where: str, reading: MjcfReading) -> str:
    """The name in the model of a body, joint or site that an element names."""
    known = reading.names[kind]
    if given not in known:
        raise InputError(
            f"The {kind} {given!r} of {where} is not in the file." if given else f"{where} names no {kind}.",
            because=f"it acts on {'bodies' if kind == 'body' else kind + 's'} of the file.",
            remedy=did_you_mean(given, known, listed=False),
        )
    return known[given]


def read_rules(root: Element, rules: MjcfRules, robot: RobotDescription) -> None:
    """Take in all compilers and options of a file."""
    for compiler in root.findall("compiler"):
        _compiler(compiler, rules, robot)
    for option in root.findall("option"):
        if option.get("gravity") is not None:
            x, y, z = numbers(option, "gravity", 3, [0, 0, -9.81], "the options")
            robot.gravity = (float(x), float(y), float(z))
        list_words(option, QUIET_OPTIONS, "option {word}", robot)
        for word, state in ((w, s) for flag in option.findall("flag") for w, s in flag.attrib.items()):
            if word == "gravity" and state == "disable":
                robot.gravity = (0.0, 0.0, 0.0)
            else:
                robot.unsupported.append(f"option flag {word}")


def _compiler(compiler: Element, rules: MjcfRules, robot: RobotDescription) -> None:
    where = "the compiler"
    if compiler.get("angle") is not None:
        rules.degrees = compiler.get("angle") != "radian"
    if compiler.get("eulerseq") is not None:
        rules.order = check_order(str(compiler.get("eulerseq")))
    rules.inertia_from_geom = compiler.get("inertiafromgeom", rules.inertia_from_geom)
    if compiler.get("autolimits") is not None:
        rules.autolimits = compiler.get("autolimits") in TRUE
    if compiler.get("balanceinertia") is not None:
        rules.balance = compiler.get("balanceinertia") in TRUE
    low, high = numbers(compiler, "inertiagrouprange", 2, rules.groups, where)
    rules.groups = (int(low), int(high))
    if compiler.get("coordinate", "local") != "local":
        raise InputError(
            "The file has global coordinates.", because="poses are read in local ones.", remedy='coordinate="local"'
        )
    for word in rules.masses:
        rules.masses[word] = float(numbers(compiler, word, 1, [rules.masses[word]], where)[0])
    list_words(compiler, QUIET_COMPILER, "compiler {word}", robot)


def list_words(element: Element, known: Collection[str], text: str, robot: RobotDescription) -> None:
    """List the attributes of an element that are written and have no effect here."""
    for word in element.attrib:
        told = text.format(word=word)
        if word not in known and told not in robot.unsupported:
            robot.unsupported.append(told)


# -- included files --------------------------------------------------------------------------------------------


def included(root: Element, folder: Path | None) -> Element:
    """The file with what it includes in the place of each <include>, below one folder only, bounded."""
    count = 0

    def read(parent: Element, seen: tuple[Path, ...]) -> None:
        nonlocal count
        for k, child in reversed(list(enumerate(parent))):
            if child.tag != "include":
                read(child, seen)
                continue
            count += 1
            path = _allowed(child.get("file") or "", folder)
            if path in seen or count > MOST_INCLUDES:
                raise InputError(
                    f"{path.name} includes itself, or more than {MOST_INCLUDES} files are included.",
                    because="files that include each other form an endless loop.",
                    remedy="each file once",
                )
            part = parsed(path.read_text(encoding="utf-8"), path.name, "MJCF")
            read(part, (*seen, path))
            parent.remove(child)
            for offset, element in enumerate(part):
                parent.insert(k + offset, element)

    read(root, ())
    return root


def _allowed(name: str, folder: Path | None) -> Path:
    """A file to include: below the folder of the file that was asked for."""
    if folder is None:
        raise InputError(
            f"The text includes the file {name!r}.",
            because="text has no folder to read from.",
            remedy="dd.read_mjcf with the path of the file",
        )
    path = (folder / name).resolve()
    if not path.is_relative_to(folder) or not path.is_file():
        outside = not path.is_relative_to(folder)
        raise InputError(
            f"The file {name!r} is {'outside the folder of the robot' if outside else 'not there'}.",
            because="files are read below the folder of the robot only." if outside else "it is included.",
            remedy=f"a copy of it in {folder.name!r}",
        )
    return path
