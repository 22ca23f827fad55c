"""`extends:` of a spec and of a module: first the parent's parts, then its own."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from archspec.errors import Problem, SpecError, did_you_mean
from archspec.language.expression import Expression, callee, names
from archspec.specs.records import OWN_KEYS, Body, Module, Spec, module_expressions
from archspec.specs.torch_layers import LEAVES
from archspec.typing_light import NoReturn

_HELP = "write Name() or Name(argument) of a module that lists its attributes"
_DEEPEST = 20  # calls that stand for one another's modules
Modules = Mapping[str, Module]


def take_shared(used: Spec, spec: Spec) -> dict[str, Module]:
    """Return a shared part's modules, with the spec's name for the attribute `base_model` of heads."""
    if used.base_model_prefix != "base_model":
        return used.modules
    own, home = {"base_model": spec.base_model_prefix}, spec.model_type
    return {name: _prefix_attributes(m, own)._replace(home=home) for name, m in used.modules.items()}


def inherit(parent: Spec, spec: Spec) -> Spec:
    """Add the parent's fields, and its modules under the child's prefix; ``renames`` has their new names."""
    for group in ("attribute_map", "fields", "fixed", "readonly"):
        getattr(spec, group).update(getattr(parent, group))
    for name, module in parent.modules.items():
        new = name
        if module.home == parent.model_type:
            if name.startswith(parent.prefix):
                new = spec.prefix + name.removeprefix(parent.prefix)
            module = _prefix_attributes(module, {parent.base_model_prefix: spec.base_model_prefix})
            module = module._replace(home=spec.model_type)
        spec.modules[new] = module._replace(name=new)
        if new != name:
            spec.renames[name] = new
    spec.renames.update({old: spec.renames.get(new, new) for old, new in parent.renames.items()})
    architectures = tuple(spec.renames.get(name, name) for name in parent.architectures)
    if parent.model_type == spec.model_type:  # another directory's spec of the same models
        spec = spec._replace(**{key: getattr(parent, key) for key in OWN_KEYS})
    kept = {key: getattr(parent, key) for key in ("require", "flat", "notes", "inputs")}
    return spec._replace(architectures=architectures, **kept)


def _prefix_attributes(module: Module, attributes: dict[str, str]) -> Module:

    def path(text: str) -> str:
        return ".".join(attributes.get(part, part) for part in text.split("."))

    if all(old == new for old, new in attributes.items()) or not isinstance(module.body, dict):
        return module
    body = {attributes.get(name, name): part for name, part in module.body.items()}
    ties = tuple(tie._replace(target=path(tie.target), source=path(tie.source)) for tie in module.ties)
    return module._replace(body=body, ties=ties)


def merge_base(module: Module, own: Modules, inherited: Spec, trail: tuple[str, ...] = ()) -> Module:
    """Return a module with its base merged in. Errors: :class:`SpecError` for a base that does not fit.

    ``own`` are the modules of its file. ``inherited`` has those of parents and used specs, also those that
    the file replaces: a base with the name of the module itself is the parent's.
    """
    call = module.extends
    if call is None or not isinstance(module.body, dict):
        return module
    if module.name in trail:
        _fail(module, call, f"{module.name} extends itself", f"remove {module.name} from extends")
    if _is_layer(call.tree):
        return module._replace(layer=call, extends=None)
    base = _base(module, call, own, inherited, (*trail, module.name))
    assert isinstance(base.body, dict)
    body = {**base.body, **module.body}
    has_cache = module.cache != {} or module.returned
    merged = module._replace(
        body=body,
        where={**{n: v for n, v in base.where.items() if n not in module.parameters}, **module.where},
        require=(*base.require, *module.require),
        ties=tuple({tie.target: tie for tie in (*base.ties, *module.ties)}.values()),
        layer=base.layer,
        output_embeddings=module.output_embeddings or base.output_embeddings,
        runs={**{name: runs for name, runs in base.runs.items() if _is_built(body.get(name))}, **module.runs},
        ops=module.ops or base.ops,
        cache=module.cache if has_cache else base.cache,
        returned=module.returned or (base.returned and not has_cache),
        saves={**base.saves, **module.saves},
        inputs=module.inputs or base.inputs,
        sizes=module.sizes or base.sizes,
        other_sizes=module.other_sizes if module.sizes else base.other_sizes,
        branches=module.branches or tuple(name for name in base.branches if _is_built(body.get(name))),
        after=module.after or base.after,
        placeholders=module.placeholders or base.placeholders,
        needs=module.needs or base.needs,
        extends=None,
    )
    needed = _used_names(merged) | module.where.keys()  # names that only a replaced attribute used go
    return merged._replace(where={name: v for name, v in merged.where.items() if name in needed})


def _base(module: Module, call: Expression, own: Modules, inherited: Spec, trail: tuple[str, ...]) -> Module:
    """Return the base that a call names, with its arguments as local names and a mapping as its body."""
    name = callee(call.tree)
    if not name:
        _fail(module, call, f"{call.text} is not a call of a module", _HELP)
    is_own = name in own and name != module.name
    base = merge_base(own[name], own, inherited, trail) if is_own else inherited.module(name)
    if base is None:
        known = [*own, *inherited.modules, *inherited.renames]
        _fail(module, call, f"{name} is not defined", did_you_mean(name, known) or _HELP)
    where = _arguments(module, base, call)
    if isinstance(base.body, Expression) and len(trail) < _DEEPEST:
        inner = _base(base, base.body, own, inherited, (*trail, base.name))
        require = (*base.require, *inner.require)
        base = inner._replace(where={**inner.where, **base.where}, require=require)
    elif not isinstance(base.body, dict):
        _fail(module, call, f"{base.name} is not a mapping of attributes", _HELP)
    return base._replace(where={**base.where, **where})


def _arguments(module: Module, base: Module, call: Expression) -> dict[str, Expression]:
    """Return the base's parameters as local names, without those that keep their name."""
    tree = call.tree
    assert isinstance(tree, ast.Call)
    help_ = f"pass its parameters: {', '.join(base.parameters)}"
    given = dict(zip(base.parameters, tree.args, strict=False))
    if len(tree.args) > len(base.parameters):
        counts = f"takes {len(base.parameters)} arguments, {len(tree.args)} are given"
        _fail(module, call, f"{base.name} {counts}", help_)
    for keyword in tree.keywords:
        if keyword.arg is None or keyword.arg not in base.parameters or keyword.arg in given:
            _fail(module, call, f"{keyword.arg or '**'} is not a parameter of {base.name}", help_)
        given[keyword.arg] = keyword.value
    where: dict[str, Expression] = {}
    for name, default in base.parameters.items():
        value = call._replace(tree=given[name]) if name in given else default
        if value is None:
            _fail(module, call, f"{base.name} needs {name}", help_)
        if name not in given:
            where[name] = value
        elif not (isinstance(value.tree, ast.Name) and value.tree.id == name):
            where[name] = value
            if name in module.parameters:
                message = f"{name} is a parameter of {module.name}, and another one of {base.name}"
                _fail(module, call, message, f"pass {name}={name}, or rename the parameter")
    return where


def _fail(module: Module, call: Expression, message: str, help_: str) -> NoReturn:
    raise SpecError(Problem(message, call.place, f"{module.name}.extends", help_))


def _is_layer(tree: ast.expr) -> bool:
    while isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute):
        tree = tree.func.value
    return callee(tree) in LEAVES


def _is_built(part: Body | None) -> bool:
    """Return True for an attribute that exists and is not removed by `None`."""
    return part is not None and not (isinstance(part, Expression) and part.text == "None")


def _used_names(module: Module) -> set[str]:
    turns = (tie.turns for tie in module.ties if tie.turns is not None)
    pending = [*module_expressions(module._replace(where={})), *turns]
    found: set[str] = set()
    while pending:
        for name in names(pending.pop().tree) - found:
            found.add(name)
            if name in module.where:
                pending.append(module.where[name])
    return found
