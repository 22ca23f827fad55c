"""An adapter of a model: its tensors and parameters; of LoRA also FLOPs and memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from math import prod

from archspec.arguments import check_arguments, check_arguments_of
from archspec.errors import ArchspecError
from archspec.models.report import OfModel, Record, Report, fact, facts_table, note_lines
from archspec.reports import Block, Table
from archspec.terminal import number, share
from archspec.tree.tensors import fold_layers
from archspec.typing_light import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import sympy

    from archspec.adapters.modules import Module
    from archspec.adapters.options import Options
    from archspec.models.adapters.memory import AdapterMemory


class AdapterTensor(NamedTuple):
    """A parameter of a model with an adapter.

    ``name`` is its name in `named_parameters()` of peft's model, ``saved_name`` that in the adapter's file,
    '' if the file has another tensor instead.
    """

    name: str
    saved_name: str
    shape: tuple[int, ...]
    trainable: bool

    @property
    def numel(self) -> int:
        """Number of elements."""
        return prod(self.shape)


class Trained(Record):
    """a tensor that is trained"""

    name: str = fact("the name in named_parameters() of peft's model")
    saved_name: str = fact("the name in the adapter's file; empty if that has another tensor instead")
    shape: list[int] = fact("the shape")
    numel: int = fact("elements")


class Adapter(OfModel, Report):
    """A model with an adapter; made by :meth:`archspec.Model.lora`.

    Tensors, their names and which of them are trained are those of peft's `get_peft_model`.

    >>> import archspec
    >>> adapter = archspec.load("LlamaForCausalLM").lora(r=16, target_modules=["q_proj", "v_proj"])
    >>> adapter.trainable_params, adapter.params
    (8388608, 6746804224)
    """

    trainable_params: int = fact("parameters that are trained", title="trainable params")
    params: int = fact("all parameters, with those of the adapter; tied ones count once", title="params")
    share: float = fact(
        "the share of trained parameters, from 0 to 1",
        lambda self: self.trainable_params / self.params,
        title="trainable share",
        text=lambda _, self: share(self.trainable_params, self.params),
    )
    forward_flops: int | None = fact(
        "FLOPs of a forward pass; null without lengths, or if a note refuses them",
        lambda self: self._reported_flops[0],
        title="forward FLOPs",
    )
    step_flops: int | None = fact(
        "the same and FLOPs of the gradients that the trained parameters need; null likewise",
        lambda self: self._reported_flops[1],
        title="training step FLOPs",
    )
    trained: list[AdapterTensor] = fact(
        "the tensors that are trained", lambda self: self.tensors(), kind="list[Trained]"
    )
    notes: list[str] = fact(
        "why FLOPs are not known, and which tensors of the adapter's file are not parameters",
        lambda self: [
            *self._reported_flops[2],
            *(f"the adapter's file has {name} {shape}" for name, shape in self.tree.buffers.items()),
        ],
    )

    def __init__(self, model: Any, options: Options, tree: Module) -> None:
        self.model, self.options, self.tree = model, options, tree
        self.lengths = dict[str, Any]()  # of the forward pass of a report
        self.architecture, self.model_type = model.architecture, model.model_type
        self.trainable_params = sum(one.numel for one in self._tensors if one.trainable)
        self.params = sum(one.numel for one in self._tensors)

    @cached_property
    def _tensors(self) -> list[AdapterTensor]:
        from archspec.adapters.inject import saved_name

        rows = [(name, saved_name(name), one) for name, one in self.tree.named_weights()]
        others = self.tree.buffers  # that the file has instead
        return [AdapterTensor(a, "" if b in others else b, one.shape, one.trainable) for a, b, one in rows]

    @check_arguments
    def tensors(self, frozen: bool = False) -> list[AdapterTensor]:
        """Return the parameters that are trained, with ``frozen`` all parameters of peft's model.

        >>> import archspec
        >>> archspec.load("BertModel").lora(target_modules=["query"]).tensors()[0][:3]
        ('base_model.model.encoder.layer.0.attention.self.query.lora_A.default.weight', \
'base_model.model.encoder.layer.0.attention.self.query.lora_A.weight', (8, 768))
        """
        return [one for one in self._tensors if frozen or one.trainable]

    def _require_lora(self, what: str, error: type[ArchspecError] = ArchspecError) -> None:
        """Raise an error for an adapter of another type."""
        if (kind := self.options.peft_type) != "LORA":
            message = f"{what} of {kind} adapters is not supported"
            raise error(message, help="leave it out: parameters and tensors are supported")

    @check_arguments
    def flops(self, batch: int = 1, tokens: int | None = None, train: bool = False, **lengths: Any) -> int:
        """Return the FLOPs of a forward pass; with ``train`` also those of the gradients that it needs.

        Lengths are those of :meth:`archspec.Model.forward`. A gradient is needed for the trained parameters,
        and for what depends on them. Frozen weights do not have gradients.

        >>> import archspec
        >>> adapter = archspec.load("LlamaForCausalLM", set={"num_hidden_layers": 2}).lora(r=16)
        >>> round(adapter.flops(tokens=128, train=True) / adapter.flops(tokens=128), 3)
        1.91
        """
        from archspec.adapters.costs import AdaptedCall

        self._require_lora("the number of FLOPs")
        call = self.model.forward(batch=batch, tokens=tokens, **lengths)
        found = AdaptedCall(call, self.tree, self.options)
        return found.training_flops if train else found.forward_flops

    @cached_property
    def _reported_flops(self) -> tuple[int | None, int | None, list[str]]:
        """FLOPs of a forward pass and of a step with the report's lengths, and why one is not known."""
        if not self.lengths:
            return None, None, []
        self.model.forward(**self.lengths)  # checks them
        found, notes = list[int | None](), list[str]()
        for train in (False, True):
            try:
                found.append(self.flops(**self.lengths, train=train))
            except ArchspecError as error:
                found.append(None)
                notes.append(error.problems[0].message)
        return found[0], found[1], [*dict.fromkeys(notes)]

    @property
    def formula(self) -> sympy.Expr:
        """The closed form of :attr:`trainable_params`, in terms of config fields and the rank `r`.

        Errors: :class:`archspec.FormulaError` if layers with the same name differ, or unless it is LoRA.

        >>> import archspec
        >>> archspec.load("BertModel").lora(target_modules=["query"]).formula
        2*hidden_size*num_hidden_layers*r
        """
        from archspec.errors import FormulaError
        from archspec.models.adapters.closed import trained_form

        self._require_lora("the closed form", FormulaError)
        return trained_form(self.model, self.tree, self.options.r)

    @cached_property
    def added_names(self) -> frozenset[str]:
        """The names of the parameters that peft adds: matrices, magnitudes, and copies of modules."""
        names = (one.name for one in self._tensors)
        return frozenset(name for name in names if ".lora_" in name or ".modules_to_save." in name)

    @check_arguments
    def memory(
        self,
        weights: str | None = None,
        dtype: str | None = None,
        optimizer: str = "adamw",
        batch: int = 1,
        tokens: int | None = None,
        encoder_tokens: int | None = None,
        checkpointing: bool = False,
        budget: str | int | None = None,
    ) -> AdapterMemory:
        """Return weights, gradients, optimizer states and, with ``tokens``, activations of a training step.

        ``weights`` is the weight format of the base model, ``dtype`` the dtype of its other weights, as for
        :meth:`archspec.Model.weights`. peft keeps its matrices in float32, and copies in the base dtype.
        Activations are those with flash attention, of a model whose embeddings return what has a gradient, as
        peft's `prepare_model_for_kbit_training` and checkpointing ask for. ``budget`` is a memory size
        such as `24GiB`; the result then has the largest batch size that fits.

        >>> import archspec
        >>> adapter = archspec.load("LlamaForCausalLM").lora(r=16, target_modules="all-linear")
        >>> [(part.name, part.bytes) for part in adapter.memory(weights="nf4-double", dtype="bf16").parts][:2]
        [('base weights', 3341015936), ('base weights', 524820480)]
        >>> adapter.memory("nf4", "bf16", tokens=2048, checkpointing=True, budget="24GiB").fitting_batch
        15
        """
        from archspec.adapters.activations import AdaptedActivations
        from archspec.costs.training.activations import validated_activations
        from archspec.formats.dtypes import dtype_name
        from archspec.models.adapters.memory import AdapterMemory

        self._require_lora("the memory of a step")
        stored, known = self.model.weights(weights, dtype), dtype_name(dtype or self.model.dtype)

        def activations(size: int) -> AdaptedActivations:
            trained = validated_activations(
                self.model.scope,
                self.architecture,
                size,
                tokens,  # type: ignore[arg-type]  # None is refused
                encoder_tokens,
                known,
                checkpointing=checkpointing,
            )
            return AdaptedActivations(trained, self.tree, self.options)

        if tokens is not None:
            self.model.forward(batch=batch, tokens=tokens, encoder_tokens=encoder_tokens)  # checks them
        step = None if tokens is None and budget is None else activations
        return AdapterMemory(self, stored, known, optimizer, batch, step, budget)

    def blocks(self) -> Iterator[Block]:
        """Yield the counts, and the tensors that are trained, once for equal layers."""
        yield facts_table(self, "lora")
        rows = Counter((fold_layers(one.saved_name or one.name), one.shape) for one in self.tensors())
        cells = [
            (name, str(shape), number(count), number(count * prod(shape)))
            for (name, shape), count in rows.items()
        ]
        yield ""
        yield Table("tensor|shape|>count|>elements", cells)
        yield from note_lines(self.notes)


@check_arguments_of("lora")
def lora(  # noqa: PLR0913 - the options of the verb
    self: Any,
    adapter: Any = None,
    *,
    r: int | None = None,
    target_modules: Any = None,
    exclude_modules: Any = None,
    target_parameters: Any = None,
    modules_to_save: Any = None,
    layers_to_transform: Any = None,
    rank_pattern: Mapping[str, Any] | None = None,
    bias: str | None = None,
    use_dora: bool | None = None,
    lora_bias: bool | None = None,
    task_type: str | None = None,
    **options: Any,
) -> Adapter:
    """Return the model with an adapter as peft adds it, like `archspec lora`.

    ``adapter`` is an adapter_config.json, its directory, or a mapping. Its `peft_type` is LORA (the default),
    IA3, VERA, PROMPT_TUNING or PREFIX_TUNING. The other arguments are options of peft's config class, such
    as `LoraConfig`, with its semantics and defaults; they override those of ``adapter``. A text in
    ``target_modules`` is a regular expression that a whole name must match, or `all-linear`.

    Errors: :class:`ArchspecError` for options that peft rejects for this model, and for layers and options
    that are not supported.

    >>> import archspec
    >>> archspec.load("GPT2LMHeadModel").lora(r=4, target_modules="all-linear").trainable_params
    589824
    """
    named = {name: value for name, value in locals().items() if name not in ("self", "adapter", "options")}
    from archspec.adapters.inject import inject
    from archspec.adapters.modules import build_modules
    from archspec.adapters.options import read_options

    given = {name: value for name, value in named.items() if value is not None} | options
    found = read_options(adapter, given)
    base = build_modules(self.root, self.tensors())
    return Adapter(self, found, inject(base, self.root, found, self.scope, self.architecture))
