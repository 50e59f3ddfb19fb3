"""Options of public calls: defaults that `help` can show, and refusals that name the right word.

``client.call_tool("add", {}, timout=3)`` raises ``TypeError: call_tool() has no option 'timout'; did you mean
'timeout'? (options: arguments, extend_on_progress, ...)``. There are two ways to that:

- Options that several calls share are a family: a TypedDict, and a dict with its defaults, written once. A call takes
  ``**options: "Unpack[CallOptions]"`` (PEP 692), which type checkers and editors read. `takes` shows the family to
  `help`, and the first line of the call, `with_defaults`, refuses what does not belong to it::

      class CallOptions(TypedDict, total=False):
          timeout: Optional[float]
          progress: "Optional[ProgressCallback]"

      CALL: CallOptions = {"timeout": REQUEST_TIMEOUT, "progress": None}
      takes_call_options = takes(CallOptions, CALL)

      @takes_call_options
      def call_tool(self, name, arguments=None, **options: "Unpack[CallOptions]"):
          options = with_defaults(Client.call_tool, CALL, options)

- `strict_options` decorates a function, a method or a class with options of its own. `help`, editors and type checkers
  see its signature; each call goes through a function more, which takes some 0.2 microseconds.
"""

from functools import wraps
from inspect import Parameter, signature
from types import CodeType
from typing import Any, Callable, Iterable, List, Mapping, NoReturn, Tuple, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
Options = TypeVar("Options", bound=Mapping[str, Any])
_SHOWN = 24
"""Options that an error lists; of more it says where they are described."""


class Default:
    """The default of an option that is not given; `help` shows what it stands for."""

    def __init__(self, shown: str) -> None:
        self._shown = shown

    def __repr__(self) -> str:
        return "<%s>" % self._shown


REQUEST_TIMEOUT: Any = Default("request_timeout of the limits")
"""The default of ``timeout``. None would be something else: no timeout but the ceiling of the limits."""


def takes(family: type, defaults: Mapping[str, Any]) -> Callable[[Function], Function]:
    """Return a decorator that shows the members of a family in the signature of a function, in place of ``**options``.

    The function itself is returned. ``family``: a TypedDict; ``defaults``: its members in the order in which they are
    shown.
    """
    hints = family.__annotations__
    members = [Parameter(name, Parameter.KEYWORD_ONLY, default=default,
                         annotation=getattr(hints[name], "__forward_arg__", hints[name]))
               for name, default in defaults.items()]

    def show(function: Function) -> Function:
        found = signature(function)
        own = [each for each in found.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        function.__signature__ = found.replace(parameters=[*own, *members])  # type: ignore[attr-defined]
        return function

    return show


def with_defaults(
    call: Callable[..., Any], defaults: Options, given: Mapping[str, Any], owner: Any = None
) -> Options:
    """Return the options of a family: those that were given, and the defaults of the others.

    Raises TypeError as `refuse` where one was given that the family does not have.
    """
    options = {**defaults, **given}
    if len(options) != len(defaults):
        refuse(call, [name for name in given if name not in defaults], owner)
    return options  # type: ignore[return-value]


def strict_options(call: Function) -> Function:
    """Decorate a function, a method or a class so that it refuses unknown options by `refuse`."""
    if isinstance(call, type):
        call.__init__ = strict_options(call.__init__)  # type: ignore[misc]
        return call
    known = frozenset(_parameters(call))

    @wraps(call)
    def checked(*args: Any, **options: Any) -> Any:
        if not known.issuperset(options):
            refuse(call, [name for name in options if name not in known], args[0] if args else None)
        return call(*args, **options)

    return checked  # type: ignore[return-value]


def refuse(call: Callable[..., Any], unknown: Iterable[str], owner: Any = None) -> NoReturn:
    """Raise TypeError for options that a function or a method does not have.

    The error names the call (for ``__init__`` the class of ``owner``, the object that is made), the first of the
    options, and the one that was meant.
    """
    wrong = next(iter(unknown))
    options = [each.name for each in signature(call).parameters.values()
               if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY) and each.name not in ("self", "cls")]
    name = type(owner).__name__ if call.__name__ == "__init__" and owner is not None else call.__name__
    close = closest(wrong, options)
    meant = "; did you mean %r?" % close if close else ""
    raise TypeError("%s() has no option %r%s%s" % (name, wrong, meant, _listed(name, options)))


def closest(word: str, words: Iterable[str], likeness: float = 0.6) -> str:
    """Return the word that another one was probably meant to be; "" if there is none like it.

    ``likeness``: what counts as like it, up to 1; see `difflib.get_close_matches`.
    """
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(words), 1, likeness)), "")


def _parameters(function: Any) -> Tuple[str, ...]:
    """Return the names by which a function takes arguments."""
    code: CodeType = function.__code__
    return code.co_varnames[code.co_posonlyargcount:code.co_argcount + code.co_kwonlyargcount]


def _listed(name: str, options: List[str]) -> str:
    if not options:
        return ""
    if len(options) > _SHOWN:
        return " (help(%s) lists the options)" % name
    return " (options: %s)" % ", ".join(sorted(options))
