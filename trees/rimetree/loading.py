"""Names whose modules are loaded when they are used (PEP 562): a command pays for what it needs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType


def when_used(
    module: str, names: Mapping[str, str], modules: tuple[str, ...] = (), otherwise: ModuleType | None = None
) -> tuple[Callable, Callable]:
    """`__getattr__` and `__dir__` of a module, or of a package.

    `names` are {module: names that it gives}, each module as an import from the package writes it after its first dot;
    `modules` are names of modules in the package; `otherwise` is asked for all others. No module may be called as
    something that another gives: where it is imported it hides that.
    """
    module_of = {name: module for module, given in names.items() for name in given.split()}
    own = vars(sys.modules[module])
    package = own["__package__"]

    def get(name: str):
        if name in module_of:
            value = getattr(importlib.import_module(f".{module_of[name]}", package), name)
        elif name in modules:
            value = importlib.import_module(f".{name}", package)
        elif otherwise is not None:
            return getattr(otherwise, name)
        else:
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        own[name] = value
        return value

    def names_of() -> list[str]:
        return sorted({*own, *module_of, *modules})

    return get, names_of
