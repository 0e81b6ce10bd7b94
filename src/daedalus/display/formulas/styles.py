"""The three styles of formulas: plain text for print, LaTeX for papers, MathML for pages that open offline."""

from __future__ import annotations

import html
import re
import unicodedata

from daedalus.display.formulas.latex_width import latex_width
from daedalus.model.names import split_derivative, split_index

_GREEK = [
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu"),
    *("xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
    *("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega"),
]
_LETTERS = {
    name: unicodedata.lookup(f"GREEK {'SMALL' if name[0].islower() else 'CAPITAL'} LETTER "
                             f"{'LAMDA' if name.lower() == 'lambda' else name.upper()}")
    for name in _GREEK
}  # fmt: skip
_FROM_LETTER = {letter: f"\\{name}" for name, letter in _LETTERS.items()}
# Script letters, which a derivation uses where the model has the plain one.
_FROM_LETTER |= {letter: f"\\mathcal{{{plain}}}" for letter, plain in zip("ℒ𝒯𝒱𝒟ℰ𝒜ℬ𝒞ℳ𝒢", "LTVDEABCMG")} | {"𝒷": "b"}
_ACCENTS = ("", "\\dot", "\\ddot", "\\dddot", "\\ddddot")
_FUNCTIONS = {
    "sin": "\\sin", "cos": "\\cos", "tan": "\\tan", "exp": "\\exp", "log": "\\ln", "sinh": "\\sinh", "cosh": "\\cosh",
    "tanh": "\\tanh", "asin": "\\arcsin", "acos": "\\arccos", "atan": "\\arctan", "fmin": "\\min", "fmax": "\\max",
    "fabs": "\\operatorname{abs}",
}  # fmt: skip
_WORDS = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "fmin": "min", "fmax": "max", "log": "ln",
          "fabs": "abs"}  # fmt: skip


def number_text(value: float, digits: int = 12) -> str:
    """A number as one writes it: no trailing zeros, and no more digits than it has."""
    return f"{value:.{digits}g}"


def name_pieces(label: str) -> tuple[str, list[str], int]:
    """The letter or word of a name, what is written below it, and how often it is differentiated.

    Example
    -------
    >>> name_pieces("left.L_0[1]"), name_pieces("omega_dot"), name_pieces("cart_mass")
    (('L', ['0', 'left', '1'], 0), ('omega', [], 1), ('cart_mass', [], 0))
    """
    stem, index = split_index(label)
    name, order = split_derivative(stem)
    *owners, own = name.split(".")
    below = []
    head, _, tail = own.partition("_")
    if tail and (len(head) == 1 or head in _LETTERS):
        own, below = head, [tail]
    below += [".".join(owners)] if owners else []
    below += [",".join(map(str, index))] if index is not None else []
    return own, below, order


def is_word_rate(label: str) -> bool:
    """Whether a name is the derivative of a word, which is written d/dt: dots are for single letters.

    Example
    -------
    >>> is_word_rate("position_dot"), is_word_rate("theta_dot[0]"), is_word_rate("position")
    (True, False, False)
    """
    own, _, order = name_pieces(label)
    return bool(order) and not (len(own) == 1 or own in _LETTERS)


# amsmath sets matrices of so many columns (MaxMatrixCols); arrays have no limit.
WIDEST_MATRIX = 10
# Points of a matrix that has room on a page beside its name.
WIDEST_ROW = 440.0


class Text:
    """Plain text, as Python is read: `m*v_dot = F - k*x`; the other styles write the same pieces.

    name: a variable. number: one that is not negative. sign: an operator between two texts, + − = < ≤ ≠ and or.
    cases: texts with their conditions; the last condition may be empty, for all else. together: a row of pieces as one.
    """

    # Whether the derivative of a word takes more than one sign, so that a power of it needs brackets.
    splits_rates = False
    comma = ", "
    breaks_cases = False

    def width(self, text: str) -> float:
        """How wide a text is set: letters in print and on pages, points in LaTeX."""
        return len(text)

    def name(self, label: str) -> str:
        """The name itself."""
        return label

    def number(self, value: float) -> str:
        """The number."""
        return number_text(value)

    def brackets(self, text: str) -> str:
        """In brackets."""
        return f"({text})"

    def product(self, factors: list[str]) -> str:
        """With stars between."""
        return "*".join(factors)

    def fraction(self, above: str, below: str) -> str:
        """With a stroke between."""
        return f"{_tight(above, ' +-')}/{_tight(below, ' +-*/')}"

    def power(self, base: str, exponent: str) -> str:
        """With a hat."""
        return f"{base}^{_tight(exponent, ' +-*/')}"

    def root(self, text: str) -> str:
        """sqrt."""
        return f"sqrt({text})"

    def call(self, function: str, arguments: list[str]) -> str:
        """A function."""
        return f"{function}({', '.join(arguments)})"

    def function_name(self, function: str) -> str:
        """The name of a function."""
        return function

    def power_of_call(self, function: str, arguments: list[str], exponent: str) -> str:
        """A power of a function's value: sin²(x)."""
        return f"{self.call(function, arguments)}^{exponent}"

    def sign(self, sign: str) -> str:
        """With spaces around; a leading minus is put right by `together`."""
        return f" {sign} "

    def cases(self, cases: list[tuple[str, str]]) -> str:
        """As Python's conditional expression."""
        (value, condition), (other, _) = cases
        return f"({value} if {condition} else {other})"

    def matrix(self, rows: list[list[str]]) -> str:
        """Rows with semicolons between."""
        return f"[{'; '.join(', '.join(row) for row in rows)}]"

    def large_matrix(self, rows: int, columns: int, entries: int) -> str:
        """A matrix that no page has room for: its size, and how many of its entries are not zero."""
        return f"[{rows} x {columns} matrix with {entries} nonzero entries]"

    def partial(self, of: str, by: str) -> str:
        """A partial derivative."""
        return f"d{of}/d{by}"

    def time_derivative(self, of: str) -> str:
        """A derivative by time."""
        return f"d/dt {of}"

    def juxtaposed(self, pieces: list[str]) -> str:
        """Matrices and columns one after another."""
        return " ".join(piece.strip() for piece in pieces)

    def words(self, text: str) -> str:
        """Words between formulas."""
        return f" {text} "

    def bracketed(self, pieces: list[str], closing: str) -> list[str]:
        """Pieces of a broken sum with brackets that stay at the first and the last of them."""
        opened = [f"{self.sign('(')}{self.grouped(pieces[0])}", *pieces[1:]]
        return [*opened[:-1], f"{opened[-1]}{closing}"]

    def grouped(self, text: str) -> str:
        """A piece behind an opening bracket."""
        return text

    def together(self, parts: list[str]) -> str:
        """In a row; a minus in front stands close."""
        text = "".join(parts)
        return "-" + text[3:] if text.startswith(" - ") else text


def _tight(text: str, breaking: str) -> str:
    """In brackets where one of some signs stands outside of brackets."""
    depth = 0
    for letter in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if depth == 0 and letter in breaking:
            return f"({text})"
    return text


class Latex(Text):
    """LaTeX without packages beyond amsmath."""

    splits_rates = True
    breaks_cases = True

    def width(self, text: str) -> float:
        """Points."""
        return latex_width(text)

    def name(self, label: str) -> str:
        """A letter, a Greek letter or a word, with dots above and what belongs to it below."""
        if label == "…":
            return "\\dots"
        own, below, order = name_pieces(label)
        if own in _LETTERS:
            text = f"\\{own}"
        elif own in _FROM_LETTER:
            text = _FROM_LETTER[own]
        else:
            text = own if len(own) == 1 else f"\\mathrm{{{_escaped(own)}}}"
        before = ""
        if is_word_rate(label):
            raised = f"^{{{order}}}" if order > 1 else ""
            before, order = f"\\frac{{\\mathrm{{d}}{raised}}}{{\\mathrm{{d}}t{raised}}} ", 0
        text = (
            f"{_ACCENTS[order]}{{{text}}}" if 0 < order < len(_ACCENTS) else f"{text}^{{({order})}}" if order else text
        )
        words = [_latex_index(word) for word in below]
        return before + (f"{text}_{{{','.join(words)}}}" if words else text)

    def number(self, value: float) -> str:
        """With a power of ten where it is needed."""
        digits, _, exponent = number_text(value).partition("e")
        return f"{digits} \\cdot 10^{{{int(exponent)}}}" if exponent else digits

    def brackets(self, text: str) -> str:
        """Brackets that grow."""
        return f"\\left({text}\\right)"

    def product(self, factors: list[str]) -> str:
        """A thin gap between; a dot between numbers."""
        parts = factors[:1]
        for factor in factors[1:]:
            parts.append(f"\\cdot {factor}" if factor[0].isdigit() else f"\\, {factor}")
        return " ".join(parts)

    def fraction(self, above: str, below: str) -> str:
        """One over the other."""
        return f"\\frac{{{above}}}{{{below}}}"

    def power(self, base: str, exponent: str) -> str:
        """Raised, above the index of a name; braces keep it apart from an exponent that is there."""
        return f"{{{base}}}^{{{exponent}}}" if "^" in base else f"{base}^{{{exponent}}}"

    def root(self, text: str) -> str:
        """The root sign."""
        return f"\\sqrt{{{text}}}"

    def call(self, function: str, arguments: list[str]) -> str:
        """Upright names of functions."""
        if function == "fabs":
            return f"\\left|{arguments[0]}\\right|"
        return f"{self.function_name(function)}\\left({', '.join(arguments)}\\right)"

    def function_name(self, function: str) -> str:
        """Upright."""
        return _FUNCTIONS.get(function, f"\\operatorname{{{function}}}")

    def power_of_call(self, function: str, arguments: list[str], exponent: str) -> str:
        """The exponent behind the name of the function."""
        return f"{self.function_name(function)}^{{{exponent}}}\\left({', '.join(arguments)}\\right)"

    def sign(self, sign: str) -> str:
        """The sign; brackets that are closed in another row do not grow."""
        return {
            "(": "\\bigl(",
            ")": "\\bigr)",
            "[": "\\bigl[",
            "]": "\\bigr]",
            "/": " / ",
            "≤": " \\leq ",
            "≠": " \\neq ",
            "and": " \\land ",
            "or": " \\lor ",
        }.get(sign, f" {sign} ")

    def words(self, text: str) -> str:
        """Words between formulas."""
        return f" \\text{{{' ' * (text[0] != ',')}{text} }} "

    def cases(self, cases: list[tuple[str, str]]) -> str:
        """The cases environment."""
        otherwise = "\\text{otherwise}"
        rows = " \\\\ ".join(f"{value} & {condition or otherwise}" for value, condition in cases)
        return f"\\begin{{cases}} {rows} \\end{{cases}}"

    def matrix(self, rows: list[list[str]]) -> str:
        """In square brackets; rows with fractions stand apart; in small print where it would leave the page."""
        apart = "[4pt]" if any("\\frac" in entry for row in rows for entry in row) else ""
        inside = f" \\\\{apart} ".join(" & ".join(row) for row in rows)
        columns = max(map(len, rows), default=0)
        text = f"\\begin{{bmatrix}} {inside} \\end{{bmatrix}}"
        if columns > WIDEST_MATRIX:
            text = f"\\left[\\begin{{array}}{{{'c' * columns}}} {inside} \\end{{array}}\\right]"
        if latex_width(text) <= WIDEST_ROW:
            return text
        return f"\\left[\\begin{{smallmatrix}} {inside} \\end{{smallmatrix}}\\right]"

    def large_matrix(self, rows: int, columns: int, entries: int) -> str:
        """Its size, and how many of its entries are not zero."""
        return f"\\left[\\text{{{rows}}} \\times \\text{{{columns} matrix with {entries} nonzero entries}}\\right]"

    def partial(self, of: str, by: str) -> str:
        """A partial derivative."""
        return f"\\frac{{\\partial {of}}}{{\\partial {by}}}"

    def time_derivative(self, of: str) -> str:
        """A derivative by time."""
        return f"\\frac{{\\mathrm{{d}}}}{{\\mathrm{{d}} t}} {of}"

    def together(self, parts: list[str]) -> str:
        """In a row."""
        return "".join(parts).strip()


def _escaped(word: str) -> str:
    return word.replace("_", "\\_")


def _latex_index(word: str) -> str:
    """What is written below a name: numbers and letters as they are, Greek letters as letters, words upright."""
    if word in _LETTERS:
        return f"\\{word}"
    return word if word.replace(",", "").isdigit() or len(word) == 1 else f"\\mathrm{{{_escaped(word)}}}"


class MathML(Text):
    """MathML, which browsers typeset without any script."""

    splits_rates = True
    comma = "<mo>,</mo>"

    def width(self, text: str) -> float:
        """Letters that are seen: tags do not count."""
        return len(re.sub(r"<[^>]*>", "", text))

    def name(self, label: str) -> str:
        """A letter or a word, with dots above and what belongs to it below."""
        own, below, order = name_pieces(label)
        letter = html.escape(_LETTERS.get(own, own))
        text = f"<mi>{letter}</mi>" if len(letter) == 1 else f'<mi mathvariant="normal">{letter}</mi>'
        before = ""
        if is_word_rate(label):
            d = '<mi mathvariant="normal">d</mi>'
            above = d if order == 1 else f"<msup>{d}<mn>{order}</mn></msup>"
            below_line = "<mi>t</mi>" if order == 1 else f"<msup><mi>t</mi><mn>{order}</mn></msup>"
            before = f"<mfrac><mrow>{above}</mrow><mrow>{d}{below_line}</mrow></mfrac>"
        elif order:
            dots = "˙" if order == 1 else "¨" if order == 2 else "." * order
            text = f'<mover accent="true">{text}<mo>{dots}</mo></mover>'
        words = "".join(f"<mtext>{'' if k == 0 else ','}{html.escape(_LETTERS.get(word, word))}</mtext>"
                        for k, word in enumerate(below))  # fmt: skip
        text = f"<msub>{text}<mrow>{words}</mrow></msub>" if words else text
        return f"<mrow>{before}{text}</mrow>" if before else text

    def number(self, value: float) -> str:
        """With a power of ten where it is needed."""
        digits, _, exponent = number_text(value, 6).partition("e")
        if not exponent:
            return f"<mn>{digits}</mn>"
        return f"<mrow><mn>{digits}</mn><mo>·</mo><msup><mn>10</mn><mn>{int(exponent)}</mn></msup></mrow>"

    def brackets(self, text: str) -> str:
        """Brackets that grow."""
        return f"<mrow><mo>(</mo>{text}<mo>)</mo></mrow>"

    def product(self, factors: list[str]) -> str:
        """A thin gap between; a dot before numbers."""
        parts = factors[:1]
        for factor in factors[1:]:
            parts += ["<mo>·</mo>" if factor.startswith("<mn") else '<mspace width="0.17em"/>', factor]
        return f"<mrow>{''.join(parts)}</mrow>"

    def fraction(self, above: str, below: str) -> str:
        """One over the other."""
        return f"<mfrac><mrow>{above}</mrow><mrow>{below}</mrow></mfrac>"

    def power(self, base: str, exponent: str) -> str:
        """Raised, above the index of a name."""
        if base.startswith("<msub>") and base.endswith("</msub>") and base.count("<msub>") == 1:
            return f"<msubsup>{base[6:-7]}<mrow>{exponent}</mrow></msubsup>"
        return f"<msup><mrow>{base}</mrow><mrow>{exponent}</mrow></msup>"

    def root(self, text: str) -> str:
        """The root sign."""
        return f"<msqrt>{text}</msqrt>"

    def call(self, function: str, arguments: list[str]) -> str:
        """Upright names of functions."""
        inside = self.comma.join(arguments)
        if function == "fabs":
            return f"<mrow><mo>|</mo>{inside}<mo>|</mo></mrow>"
        return f"<mrow>{self.function_name(function)}<mo>(</mo>{inside}<mo>)</mo></mrow>"

    def function_name(self, function: str) -> str:
        """Upright."""
        return f"<mi>{html.escape(_WORDS.get(function, function))}</mi>"

    def power_of_call(self, function: str, arguments: list[str], exponent: str) -> str:
        """The exponent behind the name of the function."""
        name = f"<msup>{self.function_name(function)}<mrow>{exponent}</mrow></msup>"
        return f"<mrow>{name}<mo>(</mo>{self.comma.join(arguments)}<mo>)</mo></mrow>"

    def sign(self, sign: str) -> str:
        """The operator."""
        return f"<mo>{html.escape({'-': '−'}.get(sign, sign))}</mo>"

    def cases(self, cases: list[tuple[str, str]]) -> str:
        """A table behind a brace."""
        rows = "".join(
            f"<mtr><mtd>{value}</mtd><mtd><mtext>{'if ' if condition else 'otherwise'}</mtext>{condition}</mtd></mtr>"
            for value, condition in cases
        )
        return f'<mrow><mo>{{</mo><mtable columnalign="left left">{rows}</mtable></mrow>'

    def matrix(self, rows: list[list[str]]) -> str:
        """A table in square brackets."""
        inside = "".join(f"<mtr>{''.join(f'<mtd>{entry}</mtd>' for entry in row)}</mtr>" for row in rows)
        return f"<mrow><mo>[</mo><mtable>{inside}</mtable><mo>]</mo></mrow>"

    def large_matrix(self, rows: int, columns: int, entries: int) -> str:
        """Its size, and how many of its entries are not zero."""
        return f"<mtext>[{rows} × {columns} matrix with {entries} nonzero entries]</mtext>"

    def partial(self, of: str, by: str) -> str:
        """A partial derivative."""
        return f"<mfrac><mrow><mo>∂</mo>{of}</mrow><mrow><mo>∂</mo>{by}</mrow></mfrac>"

    def time_derivative(self, of: str) -> str:
        """A derivative by time."""
        return f"<mrow><mfrac><mi>d</mi><mrow><mi>d</mi><mi>t</mi></mrow></mfrac>{of}</mrow>"

    def juxtaposed(self, pieces: list[str]) -> str:
        """Matrices and columns one after another."""
        return f"<mrow>{''.join(pieces)}</mrow>"

    def grouped(self, text: str) -> str:
        """A row of its own, in which a minus stands close to what follows."""
        return f"<mrow>{text}</mrow>"

    def together(self, parts: list[str]) -> str:
        """In a row."""
        return f"<mrow>{''.join(parts)}</mrow>"
