"""What the keys and values of a YAML file may be, for readers that pass over what they do not know."""
import re


def slips(value, allowed, at="file"):
    """What in the value is not allowed, one line each. allowed is a type, a tuple of values, a compiled pattern,
    [of each item] or {key: of its value}; a key that ends in `!` has to be there."""
    if isinstance(allowed, dict):
        return of_mapping(value, allowed, at) if isinstance(value, dict) else [f"{at}: not a mapping: {value!r}"]
    if isinstance(allowed, list):
        if not isinstance(value, list):
            return [f"{at}: not a list: {value!r}"]
        return [slip for i, item in enumerate(value) for slip in slips(item, allowed[0], f"{at}[{i}]")]
    if isinstance(allowed, re.Pattern):
        fits = isinstance(value, str) and allowed.fullmatch(value)
    elif isinstance(allowed, tuple):
        fits = any(type(value) is type(choice) and value == choice for choice in allowed)
    else:
        fits = allowed is object or type(value) is allowed
    return [] if fits else [f"{at}: {value!r}"]


def of_mapping(value, allowed, at):
    rules = {key.rstrip("!"): rule for key, rule in allowed.items()}
    found = [f"{at}: unknown key {key!r}" for key in value if key not in rules]
    found += [f"{at}: no {key.rstrip('!')}" for key in allowed if key.endswith("!") and key.rstrip("!") not in value]
    for key in rules.keys() & value.keys():
        found += slips(value[key], rules[key], f"{at}.{key}")
    return found
