"""Reading, 19 of 19: the config classes, their fields and types, and what `__post_init__` makes of them."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.annotations import annotated, choices, kinds_of
from archspec.deriving.reading.attributes import STILL, seen_field
from archspec.deriving.reading.parts import DICT_METHODS, Parts, dict_given
from archspec.deriving.reading.per_layer import overrides
from archspec.deriving.reading.raw import CONFIG_SKIPPED, VALIDATORS, Raw
from archspec.deriving.reading.resolution import ConfigModel, raw_field, resolve
from archspec.deriving.reading.state import Frame
from archspec.deriving.reading.terms import Facts
from archspec.deriving.reading.values import (
    MISSING,
    UNKNOWN,
    Bound,
    Config,
    Kwargs,
    PerLayer,
    Raised,
    Sym,
    Unsupported,
    witness,
)
from archspec.specs.exported import ALLOWED


class Reader(Parts):
    """The whole machine: it knows the config classes too."""

    def __init__(self) -> None:
        super().__init__()
        self.models: dict[type, ConfigModel] = {}
        self.layers: Any = None  # the fields that some layers have another value of

    def config_attribute(self, config: Config, name: str) -> Any:
        name = getattr(config.cls, "attribute_map", {}).get(name, name)
        if hasattr(config.cls, "set_output_features_output_indices") and name.lstrip("_") in (
            "out_features",
            "out_indices",
        ):
            name = name.lstrip("_")
            if name in config.store:
                return config.store[name]
            return Sym(config.node(name), getattr(config.real, name, MISSING), ("list",))
        if name == "per_layer_config":
            return PerLayer(config)
        if self.undecided(config) and name in DICT_METHODS:
            return self.dict_attribute(config, name)
        seen = seen_field(config.real, name)
        if isinstance(seen, dict) and name not in config.store and name not in STILL:
            made = self.model(config.cls, config.real).fixed.get(name)
            if isinstance(made, ast.Dict) and all(isinstance(key, ast.Constant) for key in made.keys):
                return self.made_dict(config, made, seen)
        return super().config_attribute(config, name)

    def made_dict(self, config: Config, made: ast.Dict, seen: dict[Any, Any]) -> dict[Any, Any]:
        """A dict that `__post_init__` makes of other fields: its items are known by their keys."""
        found: dict[Any, Any] = {}
        for key, node in zip(made.keys, made.values, strict=True):
            assert isinstance(key, ast.Constant)
            value = seen.get(key.value, UNKNOWN)
            types = self.config_types(config, node.id) if isinstance(node, ast.Name) else None
            found[key.value] = (
                Sym(None, value)
                if self.elsewhere(config, node)
                else self.placed(config, Sym(node, value, types or ()))
            )
        return found

    def layer_config(self, config: Config, index: Any) -> Any:
        table = self.model(config.cls, config.real).fixed.get("per_layer_config")
        if table is None and not seen_field(config.real, "is_heterogeneous"):
            return config
        if table is None or isinstance(index, str) or self.elsewhere(config, table):
            raise Unsupported("a config whose layers differ in a way that is not known")
        made = config.copy()
        first = self.seen(lambda layers: layers[0], seen_field(config.real, "per_layer_config"))
        made.real = config.real if first is UNKNOWN else first
        placed = self.placed(config, Sym(table, UNKNOWN)).node
        for field, (test, value) in overrides(placed or table, self.node(index), self.at).items():
            types = self.config_types(config, field) or ()
            made.store[field] = Sym(
                terms.conditional(test, value, config.node(field)), seen_field(made.real, field), types
            )
        return made

    def elsewhere(self, config: Config, node: ast.expr) -> bool:
        """Whether an expression asks what a config gives that is not the one at hand."""
        here = self.scope is not None and self.scope.path == config.path
        return not here and any(
            isinstance(part, ast.expr) and terms.is_given(part) for part in ast.walk(node)
        )

    def placed(self, config: Config, value: Sym) -> Sym:
        """A value in terms of a config's own fields, as those around it call them."""
        assert value.node is not None
        prefix = ".".join(config.path) + "." if config.path else ""
        own = {
            name: terms.name(prefix + name)
            for name in terms.variables(value.node)
            if not name.startswith("$")
        }
        return Sym(terms.substitute(value.node, own), value.value, value.types)

    def child(self, config: Config, name: str, seen: Any) -> Config:
        made = super().child(config, name, seen)
        if not isinstance(config.real, Raw):
            for field, value in (
                self.models[config.cls].parts.get(name, {}) if config.cls in self.models else {}
            ).items():
                made.store[field] = (
                    self.placed(config, value) if isinstance(value, Sym) and value.node is not None else value
                )
        return made

    def config_types(self, config: Config, field: str) -> tuple[str, ...] | None:
        model = self.model(config.cls, config.real)
        if field in model.fixed:
            fixed = model.types.get(field, ())
            given = seen_field(config.real, field) not in (None, MISSING)
            return tuple(kind for kind in fixed if kind != "None") if given else fixed
        types = model.types.get(field)
        if types is not None and field in model.computed:
            return tuple(kind for kind in types if kind != "None")
        return types

    def extra(self, config: Config, field: str, default: Any) -> Any:
        """A field that the class does not declare, with the default of who reads it first; for others as the
        config gives it."""
        own = self.own_default(config, default)
        if own is MISSING:
            return default
        types = (
            default.types
            if isinstance(default, Sym)
            else ("int" if default is None else type(default).__name__,)
        )
        types = (*types, "None") if types else ()
        if own is not UNKNOWN and not self.another_default(config, field, default):
            self.model(config.cls, config.real).extras.setdefault(field, own)
            return Sym(config.node(field), witness(default), types)
        if self.scope is None or config.path != self.scope.path:
            return default
        absent = [] if default is None else [self.node(default)]
        return Sym(terms.call("given", ast.Constant(field), *absent), witness(default), types)

    def another_default(self, config: Config, field: str, default: Any) -> bool:
        """Whether a field that the class does not declare has been read with another default."""
        known = self.model(config.cls, config.real).extras.get(field, MISSING)
        own = self.own_default(config, default)
        if isinstance(known, ast.expr):
            return not isinstance(own, ast.expr) or terms.text(own) != terms.text(known)
        return known is not MISSING and (type(known) is not type(own) or known != own)

    def own_default(self, config: Config, default: Any) -> Any:
        """A default as a config's own field would say it; UNKNOWN where it reads other names, MISSING for no
        plain value."""
        if isinstance(default, Sym) and default.node is not None:
            own = self.in_own_terms(config, default.node)
            return UNKNOWN if own is None else own
        return default if isinstance(default, bool | int | float | str | None) else MISSING

    def in_own_terms(self, config: Config, node: ast.expr) -> ast.expr | None:
        """An expression as a config itself says it; None for one that reads something else."""
        prefix = ".".join((*config.path, ""))
        read = terms.variables(node)
        if not all(name.startswith(prefix) and name[0] != "$" for name in read):
            return None
        return terms.substitute(node, {name: terms.name(name.removeprefix(prefix)) for name in read})

    def composed(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Name):
            return True
        scope = self.classes.get(tuple(node.id.split(".")[:-1])) or (self.scope.cls if self.scope else None)
        model = self.models.get(scope) if scope is not None else None
        return model is not None and node.id.split(".")[-1] in model.fixed

    def settled(self, config: Config, field: str) -> bool:
        model = self.models.get(config.cls)
        return model is not None and (field in model.fixed or field in model.computed)

    def declares(self, config: Config, field: str) -> bool:
        return dataclasses.is_dataclass(config.cls) and field in {
            part.name for part in dataclasses.fields(config.cls)
        }

    def extra_known(self, config: Config, field: str) -> Any:
        model = self.model(config.cls, config.real)
        default = model.extras.get(field, MISSING)
        if isinstance(default, ast.expr):
            return Sym(config.node(field), UNKNOWN)
        return default if default is MISSING else self.extra(config, field, default)

    def class_at(self, scope: Config | None, path: tuple[str, ...]) -> Any:
        """The class of the config object at an absolute path."""
        return self.classes.get(path)

    def model(self, cls: type, real: Any) -> ConfigModel:
        """Reads a config class once.  Fields of a plain class are what its object has."""
        if cls in self.models:
            return self.models[cls]
        before, unread = (self.dicts_read, self.dicts_asked, self.dicts_open), self.unread
        self.dicts_read, self.dicts_asked = True, False
        try:
            found = self.modelled(cls, real)
            if self.dicts_asked and self.unread > unread:  # as if sub-configs were no dicts, as before
                self.dicts_read, self.unread = False, unread
                found = self.modelled(cls, real)
        finally:
            self.dicts_read, self.dicts_asked, self.dicts_open = before
        return found

    def modelled(self, cls: type, real: Any) -> ConfigModel:
        if real is None:
            real = cls()
        found = self.models[cls] = ConfigModel(cls, real)
        if dataclasses.is_dataclass(cls):
            for field in dataclasses.fields(cls):
                default: Any = field.default
                factory: Any = field.default_factory
                if default is dataclasses.MISSING:
                    default = MISSING if factory is dataclasses.MISSING else factory()
                kinds = annotated(field.type)
                untold = (
                    default is None and kinds and not hasattr(cls, "__validators__")
                )  # `size: int = None`
                found.types[field.name] = (*dict.fromkeys((*kinds, "None")),) if untold else kinds
                found.defaults[field.name] = default
        for name, value in vars(real).items():
            if not name.startswith("_") and name not in found.types:
                found.types[name] = kinds_of(value)
                found.defaults[name] = value
        if hasattr(cls, "__post_init__") and (hasattr(cls, "model_type") or dataclasses.is_dataclass(cls)):
            self.post_init(found)
        return found

    def post_init(self, model: ConfigModel) -> None:
        raw = Config(model.cls, (), Raw(model))
        before = self.log, self.facts, self.scope, getattr(self, "early", None), self.layers
        declared = ConfigModel(model.cls, model.real)
        declared.types, declared.defaults, declared.made = dict(model.types), model.defaults, model.made
        self.models[model.cls] = declared
        self.log, self.facts, self.scope = [], Facts(), raw
        frame = Frame()
        self.frames.append(frame)
        try:
            self.early: dict[str, Any] | None = None
            self.layers = None
            self.dicts_open = self.dicts_read
            self.effects(raw, "__post_init__", model)
            self.dicts_open = False
            values = dict(raw.store)
            for part, child in raw.children.items():
                if isinstance(child, Config) and child.store:
                    model.parts[part] = dict(child.store)
            for name in dir(model.cls):
                if name.startswith("validate_") and name not in VALIDATORS:
                    self.effects(raw, name, model)
        finally:
            self.frames.pop()
            early, self.early = self.early, before[3]
            layers, self.layers = self.layers, before[4]
            self.log, self.facts, self.scope = before[:3]
            self.models[model.cls] = model
        values |= (early or {}) | ({} if layers is None else {"per_layer_config": layers})
        model.early = set(early or ())
        model.extras |= declared.extras
        model.require = list(frame.require.values())
        model.soft = list(frame.soft.values())
        model.notes += list(frame.notes)
        finals = {}
        for name, value in values.items():
            if (name in STILL and name != "per_layer_config") or name == "num_labels":
                continue
            try:
                node, seen = self.node(value), getattr(value, "value", value)
                if seen is UNKNOWN and isinstance(node, ast.BinOp):
                    seen = seen_field(
                        model.real, name
                    )  # the sum of what is not known before is a number all the same
                finals[name] = (node, self.types(value) or kinds_of(seen))
            except Unsupported:
                model.notes.append(f"what {name} becomes was not read")
        resolve(model, finals)
        model.require += self.general(model, Config(model.cls, (), model.real))
        for field in dataclasses.fields(model.cls):
            strict = field.name in getattr(
                model.cls, "__validators__", ()
            )  # a plain dataclass holds its fields to nothing
            if strict and (allowed := choices(field.type)):
                model.checks[field.name] = [
                    terms.compare(terms.name(field.name), ast.In, terms.constant(allowed))
                ]
            for validator in field.metadata.get("validator", ()):
                model.checks.setdefault(field.name, []).extend(self.checks(model, field.name, validator))

    def checks(self, model: ConfigModel, field: str, validator: Any) -> list[ast.expr]:
        """What the validator of one field demands of its value."""
        frame, before = Frame(), (self.log, self.facts)
        self.log, self.facts = [], Facts()
        self.frames.append(frame)
        try:
            seen = getattr(model.real, field, UNKNOWN)
            self.run_function(validator, [Sym(terms.name(field), seen, model.types.get(field, ()))], {})
        except (Raised, Unsupported) as error:
            model.notes.append(f"what {field} must be was not read: {error}")
        finally:
            self.frames.pop()
            self.log, self.facts = before
        return list(frame.require.values())

    def general(self, model: ConfigModel, raw: Config) -> list[ast.expr]:
        """What PreTrainedConfig itself demands: an even rotary dimension, frequencies for each kind
        of layer."""
        found = []
        rope = getattr(model.real, "rope_parameters", None)
        if isinstance(rope, dict) and rope and "per_layer_config" not in model.fixed:
            inner = [part for part in rope.values() if isinstance(part, dict)] or [rope]
            if any(part.get("partial_rotary_factor", 1.0) == 1 for part in inner):
                none: ast.expr = ast.Constant(False)
                try:
                    size = self.node(self.attribute(raw, "head_dim"))
                except Raised:  # no field of the class, but the code may read it all the same
                    size = terms.name("head_dim")
                    none = terms.compare(
                        terms.call("given", ast.Constant("head_dim")), ast.Is, ast.Constant(None)
                    )
                except Unsupported:
                    size = terms.constant(None)
                if not terms.is_constant(size):
                    even = terms.compare(
                        terms.binary(ast.Mod, size, terms.constant(2)), ast.Eq, terms.constant(0)
                    )
                    kinds = self.config_types(raw, "head_dim")
                    loose = (kinds is not None and "None" in kinds) or (
                        "head_dim" in model.early and "head_dim" in model.computed
                    )
                    none = terms.compare(size, ast.Is, ast.Constant(None)) if loose else none
                    found.append(terms.either([none, even, terms.compare(size, ast.LtE, terms.constant(4))]))
        by_kind = isinstance(rope, dict) and rope and rope.keys() <= {*ALLOWED["layer_types"]}
        listed = self.attribute(raw, "layer_types") if by_kind and "layer_types" in model.types else None
        if isinstance(rope, dict) and isinstance(listed, Sym) and listed.node is not None:
            named = sorted({*rope, *(model.real.layer_types or ())})
            known = ast.parse(f"all(kind in {named} for kind in {terms.text(listed.node)})", mode="eval").body
            found.append(
                terms.either([self.none_test(listed.node), known]) if "None" in listed.types else known
            )
        return found

    def declared_by(self, cls: type) -> set[str]:
        return self.models[cls].declared

    def effects(self, raw: Config, name: str, model: ConfigModel) -> None:
        for base in model.cls.__mro__:
            if name in vars(base):
                function = vars(base)[name]
                inherited = (
                    base.__module__.startswith("transformers.configuration_utils")
                    and name != "validate_architecture"
                )
                if inherited or not inspect.isfunction(inspect.unwrap(function)):
                    return
                try:
                    takes = inspect.signature(function).parameters.values()
                    more = any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes)
                    self.run_function(function, [raw], {"$kwargs": Kwargs()} if more else {}, base)
                except Raised as error:
                    self.unread += 1
                    model.notes.append(f"{name} was not followed: {error}")
                except Unsupported as error:
                    self.unread += 1
                    model.notes.append(f"{name} was not read to its end: {error}")
                return

    def super_attribute(self, value: Any, name: str) -> Any:
        if name in ("__post_init__",) and isinstance(value.owner, Config):
            order = value.owner.cls.__mro__
            base = next((b for b in order[order.index(value.cls) + 1 :] if name in vars(b)), None)
            if base is None or base.__module__.startswith("transformers.configuration_utils"):
                if self.early is None:
                    self.early = {}
                    self.before_aliases(value.owner)
                    for name in set(value.owner.store) - self.declared_by(value.owner.cls):
                        self.early[name] = value.owner.store[name]
                        kept = value.owner.store[name]
                        value.owner.store[name] = Sym(
                            terms.name(name), getattr(kept, "value", kept), self.types(kept)
                        )
                return Bound(value.owner, "$defaults")
            return Bound(value.owner, "$super", vars(base)[name], base)
        found = super().super_attribute(value, name)
        if isinstance(found, Bound) and isinstance(found.owner, Config):
            return Bound(found.owner, "$super", found.function, found.cls)
        return found

    def before_aliases(self, config: Config) -> None:
        """What a field is under another name, PreTrainedConfig's `__post_init__` sets: until then, it has its
        own default."""
        model = self.models[config.cls]
        targets = set(getattr(config.cls, "attribute_map", {}).values())

        def before(name: str, value: Any) -> Any:
            if isinstance(value, dict):
                return {key: before(name, item) for key, item in value.items()}
            if not isinstance(value, Sym) or value.node is None:
                return value
            late = {other: raw_field(model, other) for other in (terms.names(value.node) & targets) - {name}}
            known = {other: node for other, node in late.items() if node is not None}
            return Sym(terms.substitute(value.node, known), value.value, value.types)

        for name, value in config.store.items():
            config.store[name] = before(name, value)

    def call(self, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        raw = self.scope
        named = getattr(function, "__qualname__", "") == "SubConfigSpec.create_subconfig"
        if named and raw is not None and isinstance(raw.real, Raw) and isinstance(arguments[0], str):
            return self.created(raw, arguments[0]), keywords.get("$kwargs", Kwargs())
        return super().call(function, arguments, keywords)

    def created(self, raw: Config, part: str) -> Any:
        """A sub-config that `__post_init__` makes where it is null, from what its class says of it by
        default."""
        path = terms.both(self.frames[-1].path)
        if not any(
            terms.is_given(node) for node in ast.walk(path) if isinstance(node, ast.expr)
        ):  # else by an old name
            self.models[raw.cls].made.setdefault(part, []).append(path)
        self.facts.learn(terms.compare(terms.name(part), ast.Is, ast.Constant(None)), False)
        return self.attribute(raw, part)

    def config_method(
        self, config: Config, name: str, function: Any, arguments: list[Any], keywords: dict[str, Any]
    ) -> Any:
        if name == "$get":
            return self.scalar_method(dict_given(config), "get", arguments)
        if name == "$super":
            return self.run_function(function, [config, *arguments], keywords)
        if (
            name == "$defaults"
        ):  # PreTrainedConfig's own: what of it matters is known, but for the layers' own fields
            self.dicts_open = False
            self.layers = keywords.get("$kwargs", {}).get("per_layer_config")
            return None
        if name == "set_output_features_output_indices" and not isinstance(config.real, Raw):
            self.stages_set(config, keywords)
        if name in CONFIG_SKIPPED:
            return keywords.get("$kwargs", Kwargs()) if name == "convert_rope_params_to_dict" else None
        return super().config_method(config, name, function, arguments, keywords)
