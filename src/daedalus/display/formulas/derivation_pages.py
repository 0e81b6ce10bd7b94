"""Derivations as plain text, LaTeX, Markdown and HTML."""

from __future__ import annotations

import html
import re
import textwrap
from pathlib import Path

import casadi as ca

from daedalus.derivations.derivation import Derivation, DerivationStep
from daedalus.derivations.formula.line import FormulaLine
from daedalus.derivations.formula.notation import Juxtaposed, Matrix, Side
from daedalus.display.cards.card import card
from daedalus.display.formulas.fitted_rows import ARTICLE, PAGE
from daedalus.display.formulas.sides import LARGEST_MATRIX, SideWriter, line_latex, lines_latex
from daedalus.display.formulas.styles import Latex, MathML, Text

# Lines that are printed of one step; files have all of them.
MOST_LINES = 40
# Letters of a row of print.
WIDEST_TEXT = 100
# Letters of a sentence that fits one row of an article.
ONE_ROW = 70
# Brackets inside which a long term is broken.
DEEPEST = 2
PARTS = {
    "lagrange": "Equations of motion by Lagrange",
    "bodies": "Newton and Euler, body by body",
    "parts": "Parts and their connections",
    "reduce": "Index reduction",
    "start": "Consistent start values",
    "linearise": "Linearisation",
    "first_order": "First-order form",
}
_PREAMBLE = """\\documentclass{article}
\\usepackage{amsmath}
\\usepackage[margin=2cm]{geometry}
\\allowdisplaybreaks
\\setlength{\\parindent}{0pt}
\\begin{document}
"""


# -- text ------------------------------------------------------------------------------------------------------


def step_text(step: DerivationStep) -> str:
    """A step as plain text."""
    lines = [step.text.replace("`", "")]
    lines += [f"    {row}".rstrip() for row in _printed(shown_lines(step), "")]
    lines += [f"    {row}".rstrip() for row in _printed(step.where, "where ")]
    return "\n".join(lines)


def shown_lines(step: DerivationStep) -> tuple[FormulaLine, ...]:
    """What a step leads to, behind the law that it follows where that is written in signs: d/dt ∂L/∂q̇ − ∂L/∂q = Q."""
    law = [line for line in step.before if not isinstance(line.left, ca.SX) and not isinstance(line.right, Matrix)]
    law = [line for line in law if not isinstance(line.right, ca.SX) or line.right.is_zero()]
    return (*law, *step.after)


def wrapped_formula(text: str, widest: int = WIDEST_TEXT) -> list[str]:
    """A formula in rows of print, broken before signs between terms; what has no such place stays whole.

    Example
    -------
    >>> wrapped_formula("y = a + b*(c - d) + e", 20)
    ['y = a + b*(c - d)', '    + e']
    """
    rows, row = [], ""
    pieces = _terms_of(text, 0)
    for depth in range(1, DEEPEST + 1):
        pieces = [part for own in pieces for part in ([own] if len(own) < widest - 4 else _terms_of(own, depth))]
    for piece in pieces:
        if row and len(row) + len(piece) > widest:
            rows.append(row.rstrip())
            row = f"    {piece.lstrip()}"
        else:
            row += piece
    return [*rows, row.rstrip()]


def _terms_of(text: str, deepest: int) -> list[str]:
    """A formula cut before " + ", " - " and " = ", inside so many brackets at most."""
    pieces, depth, start = [], 0, 0
    for k, letter in enumerate(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if depth <= deepest and text[k : k + 3] in (" + ", " - ", " = ") and k > start:
            pieces.append(text[start:k])
            start = k
    return [*pieces, text[start:]]


def _printed(lines: tuple[FormulaLine, ...], before: str) -> list[str]:
    """Lines in rows of print: matrices as rows below each other, others broken where they are long."""
    rows = []
    for line in lines[:MOST_LINES]:
        rows += matrix_rows(line, WIDEST_TEXT) or wrapped_formula(f"{before}{line}")
    return [*rows, f"… and {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else rows


def derivation_text(derivation: Derivation) -> str:
    """All steps, numbered, with what was checked."""
    lines = [derivation.title]
    part = ""
    for number, step in enumerate(derivation, start=1):
        if step.part != part:
            part = step.part
            lines += ["", PARTS.get(part, part)]
        first, *rest = step_text(step).split("\n")
        sentence = textwrap.wrap(f"{number}. {first}", WIDEST_TEXT, subsequent_indent="   ", break_long_words=False,
                                 break_on_hyphens=False)  # fmt: skip
        lines += [*sentence, *(f"   {line}" for line in rest), f"       {check_text(step)}"]
    return "\n".join(lines)


def check_text(step: DerivationStep) -> str:
    """What the check of a step found."""
    if step.check != step.check:
        return "not checked: no random point where the formulas are defined was found"
    where = "these values" if step.part == "start" else "random points"
    return f"checked: largest residual at {where} {step.check:.1g}" if step.check else "checked: no difference"


# -- LaTeX and Markdown ----------------------------------------------------------------------------------------


def derivation_latex(derivation: Derivation, document: bool) -> str:
    """Paragraphs and aligned blocks."""
    lines = [f"\\section*{{{_escaped(derivation.title)}}}"]
    part, widest = "", PAGE if document else ARTICLE
    for step in derivation:
        if step.part != part:
            part = step.part
            lines.append(f"\\subsection*{{{_escaped(PARTS.get(part, part))}}}")
        lines.append(_sentence_latex(step.text))
        lines += _block(shown_lines(step), widest)
        if step.where:
            lines += ["where", *_block(step.where, widest)]
    text = "\n".join(lines)
    return f"{_PREAMBLE}{text}\n\\end{{document}}\n" if document else text


def _block(lines: tuple[FormulaLine, ...], widest: float) -> list[str]:
    if not lines:
        return []
    rows = " \\\\\n".join(lines_latex(lines, widest))
    return ["\\begin{align*}", rows, "\\end{align*}"]


def _sentence_latex(text: str) -> str:
    """A sentence with its names typeset."""
    pieces = re.split(r"`([^`]*)`", text)
    written = "".join(
        f"${Latex().name(piece)}$" if k % 2 and _is_name(piece) else _escaped(piece) for k, piece in enumerate(pieces)
    )
    # Long names have no hyphens: lists of them need loose lines.
    return f"\\begin{{sloppypar}}\n{written}\n\\end{{sloppypar}}" if len(text) > ONE_ROW else written


def _is_name(piece: str) -> bool:
    return bool(re.fullmatch(r"[^\W\d][\w.]*(\[[\d, ]+\])?", piece))


def _escaped(text: str) -> str:
    for letter in "\\{}$&#%_^~":
        text = text.replace(letter, "" if letter in "\\^~" else f"\\{letter}")
    greek = {"λ": "\\lambda", "α": "\\alpha", "τ": "\\tau", "∂": "\\partial", "²": "^2", "−": "-", "·": "\\cdot",
             "≤": "\\le", "±": "\\pm", "≥": "\\ge", "≠": "\\ne"}  # fmt: skip
    return "".join(f"${greek[letter]}$" if letter in greek else letter for letter in text)


def derivation_markdown(derivation: Derivation) -> str:
    """Headings, sentences and formulas between dollar signs."""
    lines = [f"# {derivation.title}", ""]
    part = ""
    for number, step in enumerate(derivation, start=1):
        if step.part != part:
            part = step.part
            lines += [f"## {PARTS.get(part, part)}", ""]
        lines += [f"{number}. {step.text}", ""]
        for line in shown_lines(step):
            lines += [f"    $${_of_markdown(line)}$$", ""]
        for line in step.where:
            lines += [f"    where $${_of_markdown(line)}$$", ""]
        lines += [f"    *{check_text(step)}*", ""]
    return "\n".join(lines)


def _of_markdown(line: FormulaLine) -> str:
    """A line on one row, or broken in an aligned block."""
    rows = lines_latex([line], PAGE)
    body = " \\\\ ".join(rows)
    return line_latex(line) if len(rows) == 1 else f"\\begin{{aligned}} {body} \\end{{aligned}}"


# -- HTML ------------------------------------------------------------------------------------------------------


def derivation_html(derivation: Derivation, path: object = None) -> str:
    """A card of steps with MathML; written to a file of its own where a path is given."""
    pieces = []
    part = ""
    for number, step in enumerate(derivation, start=1):
        if step.part != part:
            part = step.part
            pieces.append(f"<h5>{html.escape(PARTS.get(part, part))}</h5>")
        pieces.append(f"<p>{number}. {_sentence_html(step.text)}</p>")
        pieces += [line.to_mathml() for line in shown_lines(step)]
        if step.where:
            pieces += ["<p>where</p>", *(line.to_mathml() for line in step.where)]
        pieces.append(f"<p><small>{html.escape(check_text(step))}</small></p>")
    text = card(derivation.title, *pieces)
    if path is not None:
        page = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(derivation.title)}</title>'
        Path(str(path)).write_text(f"{page}<body>{text}</body></html>", encoding="utf-8")
    return text


def _sentence_html(text: str) -> str:
    pieces = re.split(r"`([^`]*)`", text)
    return "".join(
        f"<math>{MathML().name(piece)}</math>" if k % 2 and _is_name(piece) else html.escape(piece)
        for k, piece in enumerate(pieces)
    )


def matrix_rows(line: FormulaLine, widest: int) -> list[str] | None:
    """The rows of a line that has a matrix of several rows; None of other lines, and of wider ones.

    Example
    -------
    >>> import casadi as ca
    >>> from daedalus.derivations.formula.notation import name
    >>> x = ca.SX.sym("x")
    >>> line = FormulaLine(name("A"), Matrix(ca.vertcat(ca.horzcat(0, 1), ca.horzcat(-x, 0))), {})
    >>> print("\\n".join(matrix_rows(line, 80)))
        [  0  1 ]
    A = [ -x  0 ]
    """
    writer = SideWriter(line.labels, Text())
    blocks = [*_blocks(writer, line.left), [Text().sign(line.sign).strip()], *_blocks(writer, line.right)]
    height = max(map(len, blocks))
    if height == 1:
        return None
    rows = [" ".join(row) for row in zip(*(_filled(block, height) for block in blocks))]
    return rows if max(map(len, rows)) <= widest else None


def _blocks(writer: SideWriter, side: Side) -> list[list[str]]:
    """The pieces of a side, each as rows of one width."""
    if isinstance(side, Juxtaposed):
        return [block for piece in side.pieces for block in _blocks(writer, piece)]
    entries = side.entries if isinstance(side, Matrix) else side if isinstance(side, ca.SX) else ca.SX(0)
    if entries.is_scalar() or max(entries.shape) > LARGEST_MATRIX:
        return [[writer.side(side).strip()]]
    dense = ca.densify(entries)
    texts = [
        [writer.side(dense[i, j]) for j in range(dense.shape[1])] for i in range(dense.shape[0])
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*texts)]
    return [[f"[ {'  '.join(text.rjust(width) for text, width in zip(row, widths))} ]" for row in texts]]


def _filled(block: list[str], height: int) -> list[str]:
    """A block with empty rows above and below."""
    width = max(map(len, block))
    above = (height - len(block)) // 2 if len(block) > 1 else height // 2
    rows = [*[""] * above, *block]
    return [row.ljust(width) for row in (*rows, *[""] * (height - len(rows)))]
