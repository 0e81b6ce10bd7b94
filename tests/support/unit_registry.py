"""Units of a registry that is not the package's own, read once: it takes half a second."""

import pint

UNITS = pint.UnitRegistry()
