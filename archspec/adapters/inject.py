"""Adapters in a model: the tensors that peft adds, freezes and copies.

Source: peft/tuners/lora/model.py and layer.py, peft/tuners/tuners_utils.py, peft/utils/other.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from archspec.adapters.modules import ADAPTER, ADAPTERS, BASE, KINDS, LINEAR, LISTS, Module, Weight, facts
from archspec.adapters.options import Options
from archspec.adapters.prompts import PROMPTS, SAVED, add_prompt
from archspec.adapters.targets import expand, has_name, is_target, resolve
from archspec.adapters.vectors import Shapes, projections, vector_shapes
from archspec.configs.scope import Scope
from archspec.errors import ArchspecError
from archspec.tree.node import Node
from archspec.tree.tensors import join_path

_PREFIX = "base_model.model"
_HEADS = {
    **dict.fromkeys(("SEQ_CLS", "TOKEN_CLS"), ("classifier", "score")),
    "QUESTION_ANS": ("qa_outputs",),
}
_GENERATES = ("CAUSAL_LM", "SEQ_2_SEQ_LM")
_UNSUPPORTED = {
    "unseen": "its modules were not compared with those of transformers",
    "untied": "peft does not find its input embeddings",
}


def inject(base: Module, root: Node, options: Options, scope: Scope, architecture: str) -> Module:
    """Return the model with an adapter: peft's `get_peft_model`, whose names start with `base_model`.

    Its buffers are the tensors that the adapter's file has and `named_parameters()` does not.

    Errors: :class:`ArchspecError` for what peft rejects, and for layers that are not supported.
    """
    for reason, message in _UNSUPPORTED.items():
        if architecture in facts()[reason]:
            raise ArchspecError(f"adapters of {architecture} are not supported: {message}")
    heads = _HEADS.get(options.task_type or "", ())
    saved = (*options.modules_to_save, *heads)
    if options.task_type == "SEQ_CLS":  # others add their heads after the targets are chosen
        options = options._replace(modules_to_save=saved)
    if options.task_type in _GENERATES and architecture not in facts()["generative"]:
        message = f"{architecture} does not generate text, which task_type={options.task_type} needs"
        raise ArchspecError(message, help="use another task_type, or leave it out")
    if options.peft_type in PROMPTS:
        top = add_prompt(base, options, scope, architecture)
        _save_modules(base, options.modules_to_save)
    else:
        top = _adapt(base, root, options, scope.spec.model_type)
    if heads:
        _save_modules(top, saved)
    return top


def _adapt(base: Module, root: Node, options: Options, model_type: str) -> Module:
    """Return the model with adapters around its targets."""
    options = resolve(options, base, root, model_type)
    if options.layer_replication:
        _replicate_layers(base, options.layer_replication)
    options = expand(options, base, root)
    shared = projections(base, options) if options.peft_type == "VERA" else {}
    if not _Injection(base, options, model_type).run():
        message = "no module matches the targets: target_modules, exclude_modules and modules_to_save"
        linear = dict.fromkeys(path.rpartition(".")[2] for path, one in base.walk() if one.kind in LINEAR)
        named = f"; its linear layers: {', '.join(linear)}" if linear else ""
        raise ArchspecError(message, help=f"run archspec tree to list the modules of the model{named}")
    _set_trained(base, options.bias)
    _save_modules(base, options.modules_to_save)
    top = Module(children={"base_model": Module(children={"model": base})})
    top.buffers = shared if options.save_projection else {}
    return top


def _replicate_layers(base: Module, pairs: Iterable[tuple[int, int]]) -> None:
    """Replace the list of layers by copies of some of them, which share their parameters."""
    model = base
    while "model" in model.children:
        model = model.children["model"]
    model = model.children.get("bert", model)
    places = [(model, "layers"), (model.children.get("encoder", Module()), "layer"), (model, "h")]
    holder, name = next((one for one in places if one[1] in one[0].children), places[-1])
    layers = holder.children.get(name, Module())
    if layers.kind != "ModuleList":
        raise ArchspecError("layer_replication: the model has no list of layers that peft finds")
    chosen = [index for start, end in pairs for index in range(start, end)]
    if not all(-len(layers.children) <= index < len(layers.children) for index in chosen):
        message = f"layer_replication: the model has {len(layers.children)} layers"
        raise ArchspecError(message, help="use indices of these layers")
    found = [[*layers.children.values()][index] for index in chosen]
    shared = {id(weight): weight for _, weight in layers.named_weights()}
    copies = {str(index): one.copy(shared) for index, one in enumerate(found)}
    holder.children[name] = Module("ModuleList", copies)


class _Injection:
    """The wrapping of targets, in the order of the model's modules."""

    def __init__(self, base: Module, options: Options, model_type: str) -> None:
        self.base, self.options = base, options
        self.fan_in_fan_out = options.fan_in_fan_out
        self.incompatible = frozenset[str]()
        if options.peft_type == "LORA" and model_type in facts()["mamba"]["mamba_model_types"]:
            self.incompatible = frozenset(facts()["mamba"]["incompatible_modules"])

    def run(self) -> bool:
        """Wrap all targets; return False if nothing matches."""
        targets = [path for path, _ in self.base.walk() if path and is_target(self.options, path)]
        for path in targets:
            outer, _, name = path.rpartition(".")
            self._check_name(path)
            parent = self.base.find(outer)
            if parent.role:
                raise ArchspecError(f"{outer} and {path} are both targets", help="target one of them")
            parent.children[name] = self.wrap(parent.children[name], path)
        return bool([*targets, *self._wrap_parameters()])

    def _check_name(self, path: str) -> None:
        if (name := path.rpartition(".")[2]) in self.incompatible:
            raise ArchspecError(f"peft does not adapt {path} of Mamba layers", help=f"do not target {name}")

    def wrap(self, module: Module, path: str) -> Module:
        """Return the wrapper of a layer with the tensors of its adapter."""
        if module.differs or module.kind not in KINDS[self.options.peft_type]:
            kind = module.cls or module.kind or "module"
            raise ArchspecError(
                f"{path} ({kind}) is a target, but not a layer that adapters support",
                help=f"target layers of these classes only: {', '.join(KINDS[self.options.peft_type])}",
            )
        rank = self._rank(path)
        if self.options.peft_type != "LORA":
            return _make_wrapper(module, "lora", vector_shapes(module, self.options, path))
        if module.kind == "MultiheadAttention":
            if self.options.use_dora or "in_proj_weight" not in module.weights:
                what = "DoRA" if self.options.use_dora else "inputs of several widths"
                raise ArchspecError(f"{path}: peft does not adapt MultiheadAttention with {what}")
            projection = module.children["out_proj"]
            module.children["out_proj"] = self._wrapper(projection, rank, join_path(path, "out_proj"))
        self.fan_in_fan_out = self.fan_in_fan_out or module.kind == "Conv1D"
        return self._wrapper(module, rank, path)

    def _rank(self, name: str) -> int:
        rank = self.options.rank_of(name)
        if rank <= 0:
            raise ArchspecError(f"the rank of {name} is {rank}", help="pass a rank of at least 1")
        return rank

    def _wrapper(self, module: Module, rank: int, path: str) -> Module:
        if self.options.lora_bias and module.kind == "Embedding":
            raise ArchspecError(f"{path}: peft does not support lora_bias for embeddings")
        if rank % module.groups:
            message = f"{path} has {module.groups} groups, which do not divide the rank {rank}"
            raise ArchspecError(message, help="use another rank, or do not target this convolution")
        shapes = adapter_shapes(module, rank)
        return _make_wrapper(module, "lora", shapes, self.options.use_dora, self.options.lora_bias)

    def _wrap_parameters(self) -> list[str]:
        """Wrap the modules of `target_parameters`, once for each parameter; return their names."""
        names, found = self.options.target_parameters or (), list[str]()
        for path, module in self.base.walk() if names else ():
            name_of_module = path.replace(f".{BASE}", "")
            for name in [*module.weights]:
                key = f"{name_of_module}.{name}"
                if has_name(key, names):
                    self._wrap_parameter(path, name_of_module, name, key)
                    found.append(key)
        return found

    def _wrap_parameter(self, path: str, module_name: str, name: str, key: str) -> None:
        options, (outer, _, last) = self.options, path.rpartition(".")
        if not path or self.base.find(module_name).role == "lora":
            raise ArchspecError(
                f"peft cannot adapt the parameter {key}: its module is a target, or the model"
            )
        if options.lora_dropout or self.fan_in_fan_out or options.lora_bias or options.use_dora:
            message = (
                "target_parameters cannot be combined with dropout, fan_in_fan_out, lora_bias or use_dora"
            )
            raise ArchspecError(f"{key}: {message}", help="leave out these options")
        self._check_name(path)
        parent = self.base.find(outer)
        wrapped, owner = parent.children[last], parent.children[last].base
        shape = owner.weights[name].shape
        if len(shape) not in (2, 3):
            raise ArchspecError(f"{key} has {len(shape)} dimensions; peft adapts parameters with 2 or 3")
        experts = shape[0] if len(shape) == 3 else 1
        is_transposed = len(shape) == 3 and owner.cls in facts()["transposed"]
        out, into = shape[-2:] if not is_transposed else shape[:-3:-1]
        rank = self._rank(key) * experts
        shapes: Shapes = {"lora_A": (rank, into), "lora_B": (out, rank)}
        parent.children[last] = _make_wrapper(wrapped, "parameter", shapes)
        parent.children[last].parameter = name


def saved_name(name: str) -> str:
    """Return the name of a trained parameter in the adapter's file, which omits the adapter's name.

    >>> saved_name("base_model.model.a.lora_A.default.weight")
    'base_model.model.a.lora_A.weight'
    """
    if name.startswith("prompt_encoder."):
        return SAVED
    magnitude = f"lora_magnitude_vector.{ADAPTER}"
    name = name.replace(f"{magnitude}.weight", "lora_magnitude_vector").replace(
        f"modules_to_save.{ADAPTER}.", ""
    )
    return re.sub(rf"(\.(?:lora|ia3|vera)_\w+)\.{ADAPTER}(?=\.|$)", r"\1", name)


def adapter_shapes(module: Module, rank: int) -> Shapes:
    """Return the shapes of an adapter's matrices and of DoRA's magnitude for a supported layer."""
    if module.kind == "MultiheadAttention":
        width = module.weights["in_proj_weight"].shape[1]
        return {"lora_A": (rank, width), "lora_B": (3 * width, rank)}
    first, second, *kernel = module.weight_shape
    if module.kind == "Embedding":
        shapes: Shapes = {"lora_embedding_A": (rank, first), "lora_embedding_B": (second, rank)}
        return {**shapes, "lora_magnitude_vector": (second,)}
    if module.kind == "Conv1D":
        first, second = second, first
    ones = (1,) * len(kernel)
    return {
        "lora_A": (rank, second * module.groups, *kernel),
        "lora_B": (first, rank // module.groups, *ones),
        "lora_magnitude_vector": (1, first, *ones) if kernel else (first,),
    }


def _make_wrapper(
    module: Module, role: str, shapes: Shapes, use_dora: bool = False, has_bias: bool = False
) -> Module:
    """Return peft's LoraLayer around a module; its children have the order of peft's constructor."""
    wrapper = Module(children={BASE: module}, role=role)
    if any(not name.startswith("lora") for name in shapes):  # vectors
        for name, shape in shapes.items():
            wrapper.children[name] = Module("ParameterDict")
            wrapper.children[name].weights = {ADAPTER: Weight(shape)}
        return wrapper
    wrapper.children["lora_dropout"] = Module("ModuleDict", {ADAPTER: Module()})
    for name in ("lora_A", "lora_B", "lora_embedding_A", "lora_embedding_B", "lora_magnitude_vector"):
        is_used = name in shapes and (use_dora or name != "lora_magnitude_vector")
        if "embedding" in name:
            holder = Module("ParameterDict")
            holder.weights = {ADAPTER: Weight(shapes[name])} if is_used else {}
        else:
            layer = Module("Linear")
            layer.weights = {"weight": Weight(shapes[name])} if is_used else {}
            if is_used and has_bias and name == "lora_B":
                layer.weights["bias"] = Weight(shapes[name][:1])
            holder = Module("ModuleDict", {ADAPTER: layer} if is_used else {})
        wrapper.children[name] = holder
    return wrapper


def _set_trained(base: Module, bias: str) -> None:
    """Freeze the parameters of the base model, except biases if the option `bias` trains them."""
    for name, weight in base.named_weights():
        is_bias = name.rpartition(".")[2] == "bias"
        weight.trainable = not weight.origin or (bias == "all" and is_bias)
    for _, module in base.walk() if bias.endswith("_only") else ():
        if module.base is not module and "bias" in module.base.weights:
            module.base.weights["bias"].trainable = True


def _save_modules(top: Module, names: Iterable[str]) -> None:
    """Wrap the modules whose names end in one of ``names``, with a copy to train: `_set_trainable`."""
    for path, _ in [*top.walk()]:
        if not path or not path.endswith((*names,)):
            continue
        outer, _, name = path.rpartition(".")
        parent, target = top.find(outer), top.find(path)
        around = top.find(outer.rpartition(".")[0])
        if around.role in ADAPTERS:
            raise ArchspecError(f"modules_to_save: {path} is a part of an adapter")
        if "saved" in (around.role, target.role):
            _train_copy(around if around.role == "saved" else target)
            continue
        if target.kind in LISTS or target.role:
            kind = target.kind if not target.role else "layer with an adapter"
            message = f"modules_to_save: {path} is a {kind}, which peft does not copy"
            raise ArchspecError(message, help="name other modules, or exclude them from the targets")
        copies = Module("ModuleDict", {ADAPTER: target.copy()})
        saved = Module(children={"original_module": target, "modules_to_save": copies}, role="saved")
        parent.children[name] = saved
        _train_copy(saved)


def _train_copy(saved: Module) -> None:
    """Freeze a module of `modules_to_save` and train its copy."""
    for name in ("original_module", "modules_to_save"):
        for _, weight in saved.children[name].named_weights():
            weight.trainable = name == "modules_to_save"
