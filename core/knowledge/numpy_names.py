"""Names that NumPy had and gave up: what asks for one was written for an older NumPy, however new it may be itself.

Source: numpy/__init__.py (__former_attrs__) and numpy/_expired_attrs_2_0.py of NumPy 2.2.6; the aliases that end with 0 or 8: numpy/__init__.py
of 1.26.4 (_type_info), the last one that has them.
"""

from __future__ import annotations

from core.knowledge.modules import GivenUp

_SINCE_1_24 = frozenset(("int", "float", "complex", "object", "str"))
_CAME_BACK = "bool"
"""Gone from 1.24 to 1.26; another thing since 2.0."""
_GONE_IN_2_0 = (
    "geterrobj seterrobj cast source lookfor who fastCopyAndTranspose set_numeric_ops NINF PINF NZERO PZERO "
    "add_newdoc add_docstring add_newdoc_ufunc compat safe_eval format_parser float_ complex_ longfloat "
    "singlecomplex cfloat longcomplex clongfloat string_ unicode_ Inf Infinity NaN infty issctype maximum_sctype "
    "obj2sctype sctype2char sctypes issubsctype set_string_function asfarray issubclass_ tracemalloc_domain mat "
    "recfromcsv recfromtxt deprecate deprecate_with_doc disp find_common_type round_ get_array_wrap DataSource "
    "nbytes byte_bounds compare_chararrays asscalar product cumproduct sometrue alltrue bool8 int0 uint0 object0 str0 bytes0 void0"
)
_SINCE_2_0 = frozenset(_GONE_IN_2_0.split())


def is_given_up(name: str, version: str) -> bool:
    """Whether this release of NumPy has given a name up."""
    first, second = (int(n) if n.isdigit() else 0 for n in (*version.split(".")[:2], "", "")[:2])
    return ((first, second) >= (1, 24) and name in _SINCE_1_24) or (first >= 2 and name in _SINCE_2_0)


def is_pythons_own(name: str) -> bool:
    """Whether NumPy's name was an alias of a built-in type of Python: numpy.float is float (NumPy 1.20's release notes)."""
    return name in _SINCE_1_24


def row_of(name: str) -> GivenUp | None:
    """Return what is known of a name of NumPy's ("numpy.float"); None where it gave up no such name."""
    module, _dot, part = name.rpartition(".")
    if module != "numpy" or part not in {*_SINCE_1_24, *_SINCE_2_0, _CAME_BACK}:
        return None
    own = part in {*_SINCE_1_24, _CAME_BACK}
    return GivenUp(name=name, last="numpy<1.24" if own else "numpy<2", now=part if own else "", source=__doc__ or "")
