"""Tables of numbers in the notations of many programs, and their values."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

DELIMITERS = {"tab": "\t", "comma": ",", "semicolon": ";", "space": " "}


@dataclass(frozen=True, kw_only=True)
class Notation:
    """Notation of a table.

    Attributes
    ----------
    delimiter, decimal
        The characters.
    quotes
        Whether text stands in quotes.
    header
        `label` (a label above the names), `short` (none), `blank` (an empty field), or `absent`.
    end
        End of a line.
    mark
        Whether a byte order mark begins the file.
    trailing
        Delimiters behind the last field of every line.
    """

    delimiter: str
    decimal: str
    quotes: bool
    header: str
    end: str
    mark: bool
    trailing: int

    def number(self, value: float) -> str:
        """Return a number in this notation."""
        return repr(value).replace(".", self.decimal)

    def text(self, words: str) -> str:
        """Return a name in this notation."""
        return f'"{words}"' if self.quotes else words

    def line(self, fields: list[str]) -> str:
        """Join fields to a line."""
        return self.delimiter.join([*fields, *[""] * self.trailing]) + self.end

    def file(self, lines: list[list[str]]) -> bytes:
        """Join lines to a file."""
        text = ("\ufeff" if self.mark else "") + "".join(map(self.line, lines))
        return text.encode()


@st.composite
def notations(draw: st.DrawFn, headers: tuple[str, ...]) -> Notation:
    """Draw any notation that programs write; a decimal comma never between commas."""
    delimiter = draw(st.sampled_from(sorted(DELIMITERS.values())))
    decimal = "." if delimiter == "," else draw(st.sampled_from(".,"))
    trailing = 0 if delimiter == " " else draw(st.sampled_from([0, 0, 1, 3]))
    return Notation(
        delimiter=delimiter,
        decimal=decimal,
        quotes=draw(st.booleans()),
        header=draw(st.sampled_from(headers)),
        end=draw(st.sampled_from(["\n", "\r\n", "\r"])),
        mark=draw(st.booleans()),
        trailing=trailing,
    )


NUMBERS = st.one_of(
    st.floats(-1e3, 1e3).map(lambda value: round(value, 3)),
    st.integers(-20, 2000).map(float),
    st.sampled_from([1e-7, 2.5e300, 1.0, 0.0]),
)
"""Numbers; integers are written with a fraction, as pandas and R do for columns of floats."""
