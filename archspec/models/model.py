"""`load` and `formula`, and the model that `load` returns: its counts, tensors, closed forms and costs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property

from archspec.arguments import check_arguments, check_arguments_of
from archspec.configs.choice import choose, default_note, source_of
from archspec.configs.notes import check_fields, notes
from archspec.configs.origin import RawConfig, merge_overrides
from archspec.configs.reader import read_config
from archspec.configs.scope import Scope
from archspec.errors import ArchspecError, to_printable
from archspec.formats.dtypes import ASSUMED, stated_dtype
from archspec.formats.stated import assumed_note, quantization_of
from archspec.models import costs
from archspec.models.adapters.lora import lora
from archspec.models.counts import Counts
from archspec.specs.library import Library
from archspec.specs.records import Spec
from archspec.specs.search_path import Specs, library_of
from archspec.tables.items import lengths_in
from archspec.tables.quantities import QUANTITIES
from archspec.tree.builder import tree_of
from archspec.tree.node import Node
from archspec.tree.outline import checked_depth, outline
from archspec.tree.runnable import run_problems
from archspec.tree.tensors import Tensor, quantities_of, tensors
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.models.fields import Fields, Sensitivities
    from archspec.models.formula import Formula
    from archspec.models.tree import Tree


def _count_property(name: str) -> Any:
    return property(lambda model: model.count(name), doc=QUANTITIES[name].help)


class Model:
    """One architecture for one config: exact counts, tensors, closed forms and costs; made by :func:`load`.

    Counts are those of transformers' class ``architecture`` (model type ``model_type``); tied tensors count
    once. ``config`` is the config, ``whole`` the config that contains it (or the same), ``spec`` its spec,
    ``scope`` the config as the spec reads it. ``chosen`` explains how the class was selected, ``set_notes``
    and ``idle`` name overrides that do not affect counts.

    >>> import archspec
    >>> m = archspec.load("GptOssForCausalLM")  # gpt-oss-120b
    >>> m.params, m.active_params, m.active_params_without_lookup  # model cards give the last one: 5.1B
    (116829156672, 5711982912, 5132849472)
    """

    def __init__(self, config: RawConfig, whole: RawConfig, spec: Spec, architecture: str) -> None:
        self.config, self.whole, self.spec = config, whole, spec
        self.model_type, self.architecture = spec.model_type, architecture
        self.chosen, self.set_notes, self.idle = tuple[str, ...](), tuple[str, ...](), tuple[str, ...]()
        self.scope = Scope(spec, config.raw, config.origin)
        check_fields(config, self.scope)
        self.scope.validate()

    @cached_property
    def root(self) -> Node:
        """The module tree, as :attr:`tree` prints it."""
        return tree_of(self.scope, self.architecture)

    @property
    def tree(self) -> Tree:
        """The modules with their parameters, printed like torch's `print(model)`."""
        from archspec.models.tree import Tree

        return Tree(outline(self.root, self._tensors)._replace(name=""))

    @property
    def fields(self) -> Fields:
        """The fields that can be set, with their types and values."""
        from archspec.models.fields import Fields

        return Fields(self.scope)

    @cached_property
    def _tensors(self) -> list[Tensor]:
        return tensors(self.root)

    @cached_property
    def _counts(self) -> dict[str, int]:
        return quantities_of(self._tensors)

    @check_arguments
    def with_fields(self, set: Mapping[str, Any] | None = None, /, **fields: Any) -> Model:
        """Return the same class with some config fields changed, like :func:`load` with ``set``.

        >>> import archspec
        >>> archspec.load("GPT2Model").with_fields(n_layer=24).params
        209494272
        """
        fields, library = merge_overrides(set, fields), self.spec.library
        assert isinstance(library, Library)
        return _choose_model(read_config(self.whole, fields), self.architecture, fields, library)

    def tensors(self) -> list[Tensor]:
        """Return every parameter in torch's order, tied ones with `tied_to` set, then persistent buffers.

        >>> import archspec
        >>> archspec.load("BertModel").tensors()[0][:3]
        ('embeddings.word_embeddings.weight', (30522, 768), 23440896)
        """
        return list(self._tensors)

    @check_arguments
    def count(self, quantity: str) -> int:
        """Return a count by its name; see docs/reference/quantities.md."""
        if quantity not in self._counts:
            help_ = f"choose from: {', '.join(self._counts)}"
            raise ArchspecError(f"unknown quantity {quantity!r}", help=help_)
        return self._counts[quantity]

    @check_arguments_of("count")
    def counts(self, dtype: str | None = None, depth: int | None = None) -> Counts:
        """Return all counts, bytes and notes, and the modules down to a depth, like `archspec count`.

        >>> import archspec
        >>> archspec.load("GPT2LMHeadModel").counts("bf16").bytes
        248879616
        """
        return Counts(self, dtype, checked_depth(depth))

    params: int = _count_property("params")
    trainable_params: int = _count_property("trainable_params")
    active_params: int = _count_property("active_params")
    active_params_without_lookup: int = _count_property("active_params_without_lookup")
    embedding_params: int = _count_property("embedding_params")
    non_embedding_params: int = _count_property("non_embedding_params")
    buffers: int = _count_property("buffers")

    @property
    def dtype(self) -> str:
        """The config's dtype (`dtype`, formerly `torch_dtype`); float32 if it has none."""
        return stated_dtype(self.config.raw) or stated_dtype(self.whole.raw) or ASSUMED

    @property
    def dtype_note(self) -> str | None:
        """A note that bytes depend on an assumed dtype; None for a config that sets one."""
        return assumed_note(self.config, self.whole)

    @property
    def notes(self) -> list[str]:
        """Notes on this count: the class, modules that are not built, the config, the spec."""
        scope, found = self.scope, [*self.chosen]
        found += [problem.message for problem in run_problems(scope, self.architecture, self.root)]
        found += notes(self.config, self.spec, scope)
        found += [text for one, text in self.spec.notes if scope.is_true(scope.read(one), one.tree)]
        return [to_printable(note, 1_000) for note in found]

    @property
    def formula(self) -> Formula:
        """The closed form of :attr:`params` for this config's flags."""
        return self.quantity("params")

    @check_arguments
    def quantity(self, name: str, **lengths: Any) -> Formula:
        """Return the closed form of a quantity; see docs/reference/quantities.md.

        For a cost, the lengths select the case (prefill or decode step) and are symbols of the formula.

        >>> import archspec
        >>> kept = archspec.load("DeepseekV3ForCausalLM").quantity("cache_elements")
        >>> sorted(map(str, kept.expr.free_symbols))
        ['batch', 'kv_lora_rank', 'num_hidden_layers', 'past', 'qk_rope_head_dim', 'tokens']
        """
        from archspec.models.formula import Formula

        found = Formula.derive(self.scope, self.architecture, name, costs.call_of(self, name, lengths))
        found.source = self
        return found

    @check_arguments_of("sensitivity")
    def sensitivity(
        self,
        quantity: str = "params",
        *,
        dtype: str | None = None,
        assume: Sequence[str] = (),
        batch: int | None = None,
        tokens: int | None = None,
        past: int | None = None,
        encoder_tokens: int | None = None,
        new_encoder_tokens: int | None = None,
        **lengths: Any,
    ) -> Sensitivities:
        """Return derivatives and elasticities of a quantity, like `archspec sensitivity`.

        >>> import archspec
        >>> archspec.load("GPT2Model").sensitivity(assume=["n_inner=4*n_embd"]).fields[0].derivative
        272623.0
        """
        formula = self.quantity(quantity, **lengths_in(locals()), **lengths).assume(*assume)
        return (formula.in_bytes(dtype) if dtype else formula).sensitivity()

    @property
    def quantized_config(self) -> RawConfig:
        """The config to read quantization_config from: the model's, or the enclosing one."""
        return self.config if quantization_of(self.config) is not None else self.whole

    @property
    def is_quantized(self) -> bool:
        """True if the config has a quantization_config."""
        return quantization_of(self.quantized_config) is not None

    inputs = cached_property(costs.inputs)
    params_bytes = costs.params_bytes
    weights = costs.weights
    forward = costs.forward
    flops = costs.flops
    cache = costs.cache
    memory = costs.memory
    training = costs.training
    lora = lora

    def __repr__(self) -> str:
        return f"<{self.architecture} ({self.model_type}): {self.params:,} parameters>"

    def _repr_html_(self) -> str:
        from archspec.render.html import model_html

        return model_html(self.architecture, self.model_type, self.root, self.tensors(), self.notes)


Source = str | os.PathLike[str] | Mapping[str, Any] | Any


@check_arguments
def load(
    config: Source, architecture: str | None = None, set: Mapping[str, Any] | None = None, specs: Specs = ()
) -> Model:
    """Return the model of a config.

    ``config`` is a dict, a path to a config.json or to its directory, a Hub id, a transformers config
    object, or the name of an architecture or a model type (its default config). ``architecture``
    selects the class (default: the config's `architectures[0]`, else the model type's base model).
    ``set`` overrides fields, also of sub-configs: ``{"text_config.hidden_size": 64}``. ``specs`` are
    directories with your own specs, searched before ARCHSPEC_PATH and the shipped ones.

    Errors: :class:`archspec.ArchspecError` for a config that cannot be read, for values that transformers
    rejects, and for an unsupported class.

    >>> import archspec
    >>> archspec.load({"model_type": "bert"}).params
    109482240
    """
    library = library_of(specs)
    source, architecture = source_of(config, architecture, library)
    return _choose_model(read_config(source, set), architecture, set or {}, library, source is not config)


def _choose_model(
    found: RawConfig,
    architecture: str | None,
    fields: Mapping[str, Any],
    library: Library,
    by_name: bool = False,
) -> Model:
    """Return the model of a config with its overridden fields; ``by_name`` if only a name was given."""
    chosen = choose(found, architecture, library)
    spec = library.load(chosen.model_type)
    notes, idle = tuple[str, ...](), tuple[str, ...]()
    if fields:
        from archspec.configs.overrides import check_overrides, idle_fields, override_notes

        whole = spec if chosen.config is found else library.load(found.raw["model_type"])
        check_overrides(whole, fields, found)
        notes = tuple(override_notes(whole, tuple(fields), found).values())
        idle = tuple(idle_fields(whole, fields, found).values())
    model = Model(chosen.config, found, spec, chosen.architecture)
    of_class = (default_note(chosen, library, bool(fields)),) if by_name else chosen.notes
    model.chosen, model.set_notes, model.idle = (*of_class, *notes), notes, idle
    return model


@check_arguments
def formula(
    config: Source,
    quantity: str = "params",
    *,
    architecture: str | None = None,
    set: Mapping[str, Any] | None = None,
    specs: Specs = (),
    **lengths: Any,
) -> Formula:
    """Return the closed form of a quantity of a model, given as for :func:`load`; see :meth:`Model.quantity`.

    >>> import archspec
    >>> archspec.formula("LlamaModel").symbols["hidden_size"]
    4096
    """
    return load(config, architecture, set, specs).quantity(quantity, **lengths)
