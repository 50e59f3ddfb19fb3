"""Keywords that apply subschemas: to the same value, or to its members [JSON Schema 2020-12 core §10].

One function per keyword, in the order of the standard, references first. `here.sub` returns the check of a subschema,
or None if it allows everything; then there is nothing to check. The functions that collect what a keyword *evaluates*,
for the unevaluated keywords, are in `keywords` under the same names.
"""

from typing import Any, Callable, Dict, List, Optional

from .compiler import Here, all_of, refuse
from .errors import LONG, Check, Found, KeywordFault, Run, Violation, accept, brief, brief_list, count, cut
from .refs import ARRAY

MOST_EXPLAINED = 5  # alternatives of anyOf and oneOf whose failure a message explains
LONGEST_REASON = 120


# core §8.2.3 References


def ref(value: Any, here: Here) -> Check:
    """Check `$ref`: the schema in another place, as if it stood here [JSON Schema 2020-12 core §8.2.3.1]."""
    return _through(value, here, dynamic=False)


def dynamic_ref(value: Any, here: Here) -> Check:
    """Check `$dynamicRef`, which a schema that extends this one may redirect [JSON Schema 2020-12 core §8.2.3.2]."""
    return _through(value, here, dynamic=True)


def _through(value: str, here: Here, dynamic: bool) -> Check:
    link, levels = here.link(value, dynamic), here.depth

    def check(instance: Any, run: Run) -> Found:
        run.enter(levels)
        found = link.check(instance, run)
        run.leave(levels)
        return found

    return check


# §10.2.1 Logic


def subs(here: Here, number: int) -> List[Check]:
    """Return the checks of an array of subschemas."""
    return [here.sub(here.keyword, index) or accept for index in range(number)]


def all_of_(value: Any, here: Here) -> Optional[Check]:
    """Check `allOf`: every subschema must accept."""
    checks = [check for check in subs(here, len(value)) if check is not accept]
    return all_of(checks) if checks else None


def any_of(value: Any, here: Here) -> Optional[Check]:
    """Check `anyOf`: at least one subschema must accept; failures of the others are not reported."""
    checks = subs(here, len(value))
    if accept in checks:
        return None

    fault = here.fault(lambda reasons: "matches none of %s: %s" % (count(len(value), "alternative"), reasons))

    def check(instance: Any, run: Run) -> Found:
        for one in checks:
            if run.passes(one, instance):
                return None
        return _none_matches(checks, instance, run, fault)

    return check


def one_of(value: Any, here: Here) -> Check:
    """Check `oneOf`: exactly one subschema must accept; the check stops at the second that does."""
    checks = subs(here, len(value))
    nothing = here.fault(lambda reasons: "matches none of %s: %s" % (count(len(value), "alternative"), reasons))
    several = here.fault(lambda both: "must match only one alternative, matches numbers %s" % brief_list(both, "and"))

    def check(instance: Any, run: Run) -> Found:
        matching: List[int] = []
        for index, one in enumerate(checks):
            if run.passes(one, instance):
                matching.append(index + 1)
                if len(matching) == 2:
                    return run.fail(several, matching)
        return None if matching else _none_matches(checks, instance, run, nothing)

    return check


def _none_matches(checks: List[Check], instance: Any, run: Run, fault: KeywordFault) -> List[Violation]:
    """Return the violation that says of each alternative why it does not fit; briefly, because alternatives may
    nest."""
    if run.quiet:
        return run.fail(fault, "")
    reasons = []
    for number, check in enumerate(checks[:MOST_EXPLAINED], 1):
        found = check(instance, run)
        if found:
            reason = (found[0].where[1:] + ": " if found[0].path else "") + found[0].message
            reasons.append("(%d) %s" % (number, cut(reason, LONGEST_REASON)))
    return run.fail(fault, "; ".join(reasons) + (" ..." if len(checks) > MOST_EXPLAINED else ""))


def not_(value: Any, here: Here) -> Check:
    """Check `not`: the subschema must refuse."""
    inner = here.sub("not") or accept
    fault = here.fault(lambda instance: 'must not match the schema in "not", got %s' % brief(instance))

    def check(instance: Any, run: Run) -> Found:
        return run.fail(fault, instance) if run.passes(inner, instance) else None

    return check


# §10.2.2 Conditions


def if_(value: Any, here: Here) -> Optional[Check]:
    """`then` and `else` do nothing of their own; without either, `if` asserts nothing."""
    condition = here.sub("if") or accept
    then = _optional_sub(here, "then")
    otherwise = _optional_sub(here, "else")
    if then is None and otherwise is None:
        return None

    def check(instance: Any, run: Run) -> Found:
        branch = then if run.passes(condition, instance) else otherwise
        return None if branch is None else branch(instance, run)

    return check


def _optional_sub(here: Here, keyword: str) -> Optional[Check]:
    return None if here.value(keyword) is None else here.sub(keyword)


def dependent_schemas(value: Any, here: Here) -> Optional[Check]:
    """The subschema of a name counts, for the whole object, when the property is there."""
    branches = by_name(here, value)

    def check(instance: Any, run: Run) -> Found:
        found: Found = None
        if isinstance(instance, dict):
            for name, branch in branches.items():
                if name in instance:
                    new = branch(instance, run)
                    if new is not None:
                        found = new if found is None else found + new
                        if run.enough(found):
                            break
        return found

    return check if branches else None


def by_name(here: Here, names: Any) -> Dict[str, Check]:
    """Subschemas by name, without those that allow everything."""
    found = ((name, here.sub(here.keyword, name)) for name in names)
    return {name: check for name, check in found if check is not None}


# §10.3.1 Arrays


def prefix_items(value: Any, here: Here) -> Optional[Check]:
    """The first schema for the first item, and so on; a shorter array is fine."""
    checks = subs(here, len(value))
    if all(check is accept for check in checks):
        return None

    def check(instance: Any, run: Run) -> Found:
        found: Found = None
        if isinstance(instance, ARRAY):
            for index, (item, one) in enumerate(zip(instance, checks)):
                new = one(item, run)
                if new is not None:
                    found = run.add(found, new, index)
                    if run.enough(found):
                        break
        return found

    return check


def items(value: Any, here: Here) -> Optional[Check]:
    """Every item behind those of `prefixItems`."""
    start = len(here.value("prefixItems") or ())
    return rest_of_items(value, here, start)


def rest_of_items(value: Any, here: Here, start: int) -> Optional[Check]:
    """The keyword's subschema for every item from index `start` on."""
    one = here.sub(here.keyword)
    if one is None:
        return None
    if value is False:
        fault = here.fault(lambda instance: "unexpected item (%s allowed)" % count(start, "item"))
        one = refuse(fault)
    return each_item(one, start)


def each_item(one: Check, start: int) -> Check:
    """A check of every item from index `start` on."""
    def check(instance: Any, run: Run) -> Found:
        found: Found = None
        if isinstance(instance, ARRAY):
            for index in range(start, len(instance)):
                run.fuel -= 1  # `run.spend(1)` without the call: arrays may be long
                if run.fuel < 0:
                    run.look()
                new = one(instance[index], run)
                if new is not None:
                    found = run.add(found, new, index)
                    if run.enough(found):
                        break
        return found

    return check


def contains(value: Any, here: Here) -> Optional[Check]:
    """With minContains 0 and no maximum it only annotates."""
    least = here.value("minContains")
    least = 1 if least is None else least
    most = here.value("maxContains")
    one = here.sub("contains") or accept
    too_few = here.fault(lambda number: 'must have at least %s that match "contains", has %d' % (least, number))
    too_many = here.fault(lambda number: 'must have at most %s that match "contains", has more' % most)

    def check(instance: Any, run: Run) -> Found:
        if not isinstance(instance, ARRAY):
            return None
        number = 0
        for item in instance:
            run.spend(1)
            number += run.passes(one, item)
            if most is None and number >= least:
                return None
            if most is not None and number > most:
                return run.fail(too_many, number)
        return run.fail(too_few, number) if number < least else None

    return check if least or most is not None else None


# §10.3.2 Objects


def properties(value: Any, here: Here) -> Optional[Check]:
    """Check `properties`. The loop is over the instance: schemas often know more names than are used."""
    children = by_name(here, value)
    get = children.get

    def check(instance: Any, run: Run) -> Found:
        found: Found = None
        if isinstance(instance, dict):
            if len(instance) > LONG:
                run.look()
            for name, member in instance.items():
                child = get(name)
                if child is not None:
                    new = child(member, run)
                    if new is not None:
                        found = run.add(found, new, name)
                        if run.enough(found):
                            break
        return found

    return check if children else None


def pattern_properties(value: Any, here: Here) -> Optional[Check]:
    """Check `patternProperties`: a subschema per pattern, for every property whose name the pattern matches."""
    rules = [(here.search(text, text), here.sub("patternProperties", text)) for text in value]
    active = [(search, child) for search, child in rules if child is not None]

    def check(instance: Any, run: Run) -> Found:
        found: Found = None
        if isinstance(instance, dict):
            for name, member in instance.items():
                for search, child in active:
                    run.spend(1)
                    new = child(member, run) if search(name) else None
                    if new is not None:
                        found = run.add(found, new, name)
                if found is not None and run.enough(found):
                    break
        return found

    return check if active else None


def additional_properties(value: Any, here: Here) -> Optional[Check]:
    """Check `additionalProperties`: properties that neither `properties` nor `patternProperties` of this object
    names."""
    one = here.sub(here.keyword)
    if one is None:
        return None
    names = here.value("properties") or {}
    known = frozenset(names)
    if value is False:
        one = refuse(here.fault(unexpected(names)))
    searches = [here.search(text) for text in here.value("patternProperties") or ()]
    child = one

    def check(instance: Any, run: Run) -> Found:
        found: Found = None
        if isinstance(instance, dict):
            if len(instance) > LONG:
                run.look()
            if known.issuperset(instance):
                return None
            for name, member in instance.items():
                run.spend(1)
                if name not in known and not any(search(name) for search in searches):
                    new = child(member, run)
                    if new is not None:
                        found = run.add(found, new, name)
                        if run.enough(found):
                            break
        return found

    return check


def unexpected(names: Any) -> Callable[[Any], str]:
    """Return the function that makes the message for a property that may not be there."""
    allowed = " (known: %s)" % brief_list(names, "and") if names else ""
    return lambda instance: "unexpected property" + allowed


def property_names(value: Any, here: Here) -> Optional[Check]:
    """Check `propertyNames`: a subschema for the names themselves."""
    one = here.sub("propertyNames")
    if one is None:
        return None
    child = one

    def check(instance: Any, run: Run) -> Found:
        found: Found = None
        if isinstance(instance, dict):
            for name in instance:
                run.spend(1)
                new = child(name, run)
                if new is not None:
                    found = (found or []) + [_about_name(violation, name) for violation in new]
                    if run.enough(found):
                        break
        return found

    return check


def _about_name(violation: Violation, name: str) -> Violation:
    """Put the name into the message, because the path cannot point at a name."""
    return violation._replace(message="property name %s: %s" % (brief(name), violation.message))
