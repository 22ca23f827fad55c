"""A rank's part of a model with tensor, expert or pipeline parallelism, by transformers' plans.

formulas/plans.json has the plan of each class, and the classes whose shapes on a rank match transformers.
"""

from __future__ import annotations

import re
from math import prod

from archspec.configs.scope import Scope
from archspec.errors import ArchspecError, option
from archspec.specs.files import read_json
from archspec.tree.builder import tree_of
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, join_path
from archspec.typing_light import NamedTuple

PLANS = "plans.json"
KINDS = ("tensor", "expert", "pipeline")  # of ranks with which classes were validated
_WHOLE = (
    *("replicated_with_grad_allreduce", "moe_tp_experts", "mla_kv_a_proj", "all_reduce", "local_params"),
    *("moe_identity_expert", "replicate", "ep_dispatch_experts"),
)
_CUTS = {  # style -> the size that is cut, of a matrix and of a vector
    **dict.fromkeys(("colwise", "colwise_rep", "colwise_gather_output"), (-2, -1)),
    **dict.fromkeys(("rowwise", "rowwise_rep", "rowwise_split_input"), (-1, None)),
    **dict.fromkeys(_WHOLE, (None, None)),
    "packed_colwise": (-2, -1),
    "packed_rowwise": (-1, None),
    "embedding_rowwise": (0, 0),
    "embedding_colwise": (1, 1),
    "grouped_gemm": (0, 0),
}
_EQUAL_PIECES = {"packed_colwise": 2, "packed_rowwise": 2, "grouped_gemm": 1}  # in each part, all of one size
_ATTENTION = re.compile(r"attn|attention")  # in names of modules, whose parts are whole heads
_ON_COLUMNS = ("rowwise", "replicated_with_grad_allreduce")  # layers whose input is a rank's columns
_STATES = "its weights, gradients and optimizer states are supported"
_TIED = "tie_word_embeddings"


class Ranks(NamedTuple):
    """The number of ranks of each kind; ``stage`` is a pipeline stage, from 0."""

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    data: int = 1
    stage: int = 0

    @property
    def cut(self) -> bool:
        """True if tensors are sharded."""
        return self.tensor > 1 or self.expert > 1

    @property
    def hold_whole_model(self) -> bool:
        """True if a rank has the whole model."""
        return not self.cut and self.pipeline == 1


class Plan(NamedTuple):
    """The styles by which parameters are sharded, by patterns of names, for each kind of ranks."""

    tensor: dict[str, str]
    expert: dict[str, str]


class Part(NamedTuple):
    """A rank's part of a tensor; ``expert``: sharded over expert-parallel ranks."""

    tensor: Tensor
    shape: tuple[int, ...]
    expert: bool

    @property
    def numel(self) -> int:
        """Number of elements."""
        return prod(self.shape)


def stages(scope: Scope, architecture: str, tensors: list[Tensor], ranks: Ranks) -> list[list[Part]]:
    """Return the parts of the first rank of each pipeline stage.

    Errors: :class:`ArchspecError` for ranks that were not validated, or sizes that do not divide.
    """
    check_ranks(scope.spec.model_type, architecture, ranks)
    tree = tree_of(scope, architecture)
    return [parts(tree, tensors, ranks._replace(stage=stage)) for stage in range(ranks.pipeline)]


def parts(tree: Node, tensors: list[Tensor], ranks: Ranks) -> list[Part]:
    """Return the parts of unique parameters on one stage; of uneven parts the largest.

    Errors: :class:`ArchspecError` if transformers lacks such a plan, or if it does not fit the sizes.
    """
    plan, stage = _plan(tree, ranks), _Stage(tree, ranks)
    unique = [tensor for tensor in tensors if tensor.kind == "parameter" and not tensor.tied_to]
    return [_part(tensor, plan, ranks) for tensor in unique if stage.has(tensor.name)]


def check_ranks(model_type: str, architecture: str, ranks: Ranks, what: str = "") -> None:
    """Raise :class:`ArchspecError` for a class, or for costs of its step, not validated on such ranks."""
    for kind in KINDS:
        if getattr(ranks, kind) == 1 or (kind, what) == ("pipeline", "FLOPs"):
            continue
        held = read_json(PLANS)["held"].get(f"{kind} {what}".strip(), {})
        if architecture not in held.get(model_type, ()):
            costs = "FLOPs" if what == "FLOPs" else f"activations with {what} attention"
            also = "with" if what == "FLOPs" else "and"
            name = f"{costs} {also} {kind} parallelism are" if what else f"{kind} parallelism is"
            others = f"; supported: {', '.join(held[model_type])}" if held.get(model_type) else ""
            help_ = _STATES if what else f"leave out {option(f'{kind}_parallel')}{others}"
            raise ArchspecError(f"{name} not supported for {architecture} ({model_type})", help=help_)


def _plan(tree: Node, ranks: Ranks) -> Plan:
    if not ranks.cut:
        return Plan({}, {})
    found = Plan({}, {})
    _add_plans(tree, "", ranks.tensor, found)
    tensor, expert = found
    if ranks.expert == 1:
        expert = {}
    elif ranks.pipeline > 1:
        flag, other = option("expert_parallel"), option("pipeline_parallel")
        message = f"{flag} cannot be combined with {other}"
        raise ArchspecError(message, help=f"leave out {flag} or {other}")
    elif "ep_dispatch_experts" not in expert.values():
        message = f"transformers does not have an expert-parallel plan for {tree.cls}"
        raise ArchspecError(message, help=f"leave out {option('expert_parallel')}")
    elif ranks.expert % ranks.tensor or (ranks.data * ranks.tensor) % ranks.expert:
        given = f"{ranks.data} data × {ranks.tensor} tensor ranks"
        data, tensors = option("data_parallel"), option("tensor_parallel")
        help_ = f"choose a divisor of {data} × {tensors} that is a multiple of {tensors}"
        message = f"{option('expert_parallel', ranks.expert)} does not fit {given}"
        raise ArchspecError(message, help=help_)
    if ranks.tensor == 1:
        return Plan({}, expert)
    if not any("*" in name for name in tensor):
        message = f"transformers does not have a tensor-parallel plan for {tree.cls}"
        raise ArchspecError(message, help=f"leave out {option('tensor_parallel')}")
    routed = re.compile(rf"(?:{'|'.join(map(re.escape, expert))})(?:\..+)?")
    return Plan({name: style for name, style in tensor.items() if not routed.fullmatch(name)}, expert)


def _add_plans(node: Node, path: str, ranks: int, found: Plan) -> None:
    if (own := read_json(PLANS)["plans"].get(node.cls)) is None:
        return
    if any(style == "colwise" and _ATTENTION.search(name) for name, style in own[0].items()):
        for name in ("num_attention_heads", "num_key_value_heads"):  # transformers refuses parts of heads
            heads = node.scope.get(name) if node.scope is not None and node.scope.has(name) else None
            if type(heads) is int and heads % ranks:
                message = f"{option('tensor_parallel', ranks)} does not divide {name} = {heads}"
                raise ArchspecError(message, help=f"choose a divisor of {heads}")
    for styles, added in zip(found, own, strict=True):
        styles.update({join_path(path, name): style for name, style in added.items()})
    for name, child in node.children.items():
        _add_plans(child, join_path(path, name), ranks, found)


def _part(tensor: Tensor, plan: Plan, ranks: Ranks) -> Part:
    pattern = _pattern(tensor.name)
    owner = pattern.rpartition(".")[0]
    for styles, number in ((plan.expert, ranks.expert), (plan.tensor, ranks.tensor)):
        style = styles.get(pattern) or styles.get(owner)
        if style is not None:
            shape = _cut(tensor, style, number)
            return Part(tensor, shape, styles is plan.expert and shape != tensor.shape)
    return Part(tensor, tensor.shape, False)


def _cut(tensor: Tensor, style: str, ranks: int) -> tuple[int, ...]:
    if style not in _CUTS:
        raise ArchspecError(f"the style {style} of {tensor.name} is not supported")
    of_matrix, of_vector = _CUTS[style]
    axis = of_vector if len(tensor.shape) == 1 else of_matrix
    if axis is None:
        return tensor.shape
    shape, pieces = [*tensor.shape], ranks * _EQUAL_PIECES.get(style, 1)
    if style in _EQUAL_PIECES and shape[axis] % pieces:
        message = f"{tensor.name} of size {shape[axis]:,} cannot be cut into {pieces} equal parts"
        raise ArchspecError(message, help=f"choose a number of ranks that divides {shape[axis]:,}")
    shape[axis] = -(-shape[axis] // ranks)
    return tuple(shape)


class _Stage:
    """The modules of one pipeline stage in transformers; the first stages take the remainder of layers."""

    def __init__(self, tree: Node, ranks: Ranks) -> None:
        self.last, self.stage = ranks.pipeline - 1, ranks.stage
        if not self.last:
            return
        self.prefix = next((name for name, child in tree.children.items() if "layers" in child.children), "")
        if not self.prefix or "lm_head" not in tree.children:
            name = option("pipeline_parallel")
            message = f"{name} is not supported for {tree.cls}, which does not have layers and an lm_head"
            raise ArchspecError(message, help=f"leave out {name}")
        layers = len(tree.children[self.prefix].children["layers"].children)
        if layers < ranks.pipeline:
            message = f"{option('pipeline_parallel', ranks.pipeline)} is more than the {layers} layers"
            raise ArchspecError(message, help=f"choose at most {layers}")
        each, remainder = divmod(layers, ranks.pipeline)  # PipelineStage.layer_range_for_rank
        first = self.stage * each + min(self.stage, remainder)
        self.layers = range(first, first + each + (self.stage < remainder))
        scope = tree.scope  # transformers goes by the config, whatever the class ties
        self.tied = scope is not None and scope.has(_TIED) and bool(scope.get(_TIED))

    def has(self, name: str) -> bool:
        """Return True if the stage has a module or a tensor."""
        path = name.split(".")
        if not self.last or (path[0] != "lm_head" and (path[0] != self.prefix or len(path) == 1)):
            return True
        if path[0] == "lm_head" or path[1] == "norm":
            return self.stage == self.last
        if path[1] == "embed_tokens":
            return self.stage == 0 or (self.tied and self.stage == self.last)
        return path[1] != "layers" or int(path[2]) in self.layers


class Shares:
    """The share of FLOPs and activations of the first rank of a stage.

    Between a column-parallel and a row-parallel layer a rank works on its columns only; all other modules do
    the same on every tensor-parallel rank.

    Errors: :class:`ArchspecError` if ranks have different numbers of columns, or shard experts.
    """

    def __init__(self, tree: Node, tensors: list[Tensor], ranks: Ranks) -> None:
        if ranks.expert > 1:
            message = "FLOPs and activations of expert-parallel ranks are not supported"
            raise ArchspecError(message, help=_STATES)
        self.ranks, self.shapes = ranks, {tensor.name: tensor for tensor in tensors}
        self.plan, self.here = _plan(tree, ranks).tensor, _Stage(tree, ranks).has
        self.inner = {name.rpartition(".")[0] for name, style in self.plan.items() if style == "rowwise"}
        for tensor in tensors:
            style = self.plan.get(_pattern(tensor.name).rpartition(".")[0], "")
            if style in ("colwise", "rowwise"):
                own = prod(_cut(tensor, style, ranks.tensor))
                if own * ranks.tensor != tensor.numel and own != tensor.numel:
                    raise ArchspecError(f"{tensor.name} cannot be cut into equal parts", help=_STATES)

    def saved_bytes(self, path: str, nbytes: int, fixed: int) -> int:
        """Return a rank's share of the bytes that a module saves; ``fixed`` bytes are not sharded."""
        pattern = _pattern(path)
        cut = pattern in self.inner or self.plan.get(pattern) in _ON_COLUMNS
        return fixed + self._share_of(path, nbytes - fixed) if cut else nbytes

    def flops(self, path: str, flops: int) -> int:
        """Return a rank's share of the FLOPs of a module."""
        pattern = _pattern(path)
        weight, style = self.shapes.get(f"{path}.weight"), self.plan.get(pattern)
        if weight is not None and style is not None:
            return flops * prod(_cut(weight, style, self.ranks.tensor)) // weight.numel
        return self._share_of(path, flops) if pattern in self.inner else flops

    def _share_of(self, path: str, number: int) -> int:
        if number % self.ranks.tensor:
            message = f"the activations of {path} cannot be cut into {self.ranks.tensor} equal parts"
            raise ArchspecError(message, help=_STATES)
        return number // self.ranks.tensor


def _pattern(name: str) -> str:
    """Return a name with `*` for the numbers of layers, as in plans."""
    return re.sub(r"\.\d+(?=\.|$)", ".*", name)
