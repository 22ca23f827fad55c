"""The part of a model on one rank, over a process group without other processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from archspec.costs.records import Call, Step
from archspec.costs.training.parallel import Plan, Ranks
from archspec.reference.construction import build_class
from archspec.reference.costs import instance
from archspec.reference.meta import local_part
from archspec.reference.saved import loss_bytes, saved_bytes, training_model
from archspec.reference.training import measured_training
from archspec.reference.verdicts import Refused, Unavailable

Raw = dict[str, Any]


@contextmanager
def build_rank(build: Callable[[], Any], ranks: Ranks) -> Iterator[Any]:
    """Yield a model on meta, sharded as transformers loads a checkpoint, on the rank of ``ranks.stage``.

    Of ranks that share tensors or experts it is the first, whose parts are the largest. Stages come last:
    transformers begins with them, and then finds nothing to cut in the layers that are on other stages.

    Errors: :class:`Refused` with the error of transformers, :class:`Unavailable`.
    """
    from transformers.distributed.pipeline_parallel import apply_pipeline_parallelism
    from transformers.initialization import no_tie_weights

    try:
        with no_tie_weights():
            model = build()
    except Refused as error:  # says nothing about ranks
        raise Unavailable(str(error)) from error
    with _make_meshes(ranks) as (distributed, manager):
        try:
            model = type(model).maybe_distribute_model(model, distributed, manager)
            if ranks.pipeline > 1:
                model = apply_pipeline_parallelism(model, manager.get_mesh("pp"))
            if ranks.stage == ranks.pipeline - 1:
                model.tie_weights(recompute_mapping=False)  # as loading ends
        except Exception as error:  # whatever it raises is its refusal
            raise Refused(str(error)) from error
        yield model


def rank_shapes(architecture: str, raw: Raw, model_type: str, ranks: Ranks) -> dict[str, tuple[int, ...]]:
    """Return the shape of each parameter on a rank, a tied one by its first name. Errors: of `build_rank`."""
    with build_rank(lambda: build_class(architecture, raw, model_type), ranks) as model:
        return {name: tuple(local_part(one).shape) for name, one in model.named_parameters()}


def rank_flops(architecture: str, raw: Raw, model_type: str, ranks: Ranks, call: Call) -> dict[str, int]:
    """Return the FLOPs of each module on a rank. Errors: see :func:`build_rank`.

    torch counts a layer's FLOPs for all ranks; the rank has its part of the weight.
    """
    with build_rank(lambda: instance(architecture, raw, model_type, trains=True), ranks) as model:
        found = measured_training(model, call)
        for name, module in model.named_modules():
            weight = getattr(module, "weight", None)
            if name in found and weight is not None and local_part(weight) is not weight:
                found[name] = found[name] * local_part(weight).numel() // weight.numel()
        return found


def rank_saved(architecture: str, raw: Raw, model_type: str, ranks: Ranks, step: Step) -> dict[str, int]:
    """Return the bytes that each module saves on a rank in a forward pass; of a stage without the head.

    The input of a stage counts as the output of the layer before. Errors: see :func:`build_rank`.
    """
    with build_rank(lambda: training_model(architecture, raw, model_type, step), ranks) as model:
        if ranks.pipeline == 1:
            return saved_bytes(model, step)
        kept = saved_bytes(model.base_model, step, _sent_inputs(model, step) if ranks.stage else None)
        return {f"{model.base_model_prefix}.{name}".rstrip("."): nbytes for name, nbytes in kept.items()}


def rank_loss(architecture: str, raw: Raw, model_type: str, ranks: Ranks, step: Step) -> int:
    """Return the bytes of the loss that a tensor rank, or the last stage, saves. Errors: of `build_rank`."""
    with build_rank(lambda: training_model(architecture, raw, model_type, step), ranks) as model:
        if ranks.pipeline == 1:
            return loss_bytes(model, step)
        model.forward = model.forward.__wrapped__  # without its messages to other stages
        return loss_bytes(model, step, _sent_inputs(model, step))


def _sent_inputs(model: Any, step: Step) -> dict[str, Any]:
    import torch

    if not hasattr(model.config, "hidden_size"):
        raise Unavailable("the config lacks hidden_size, which sets the width between stages")
    shape, dtype = (step.batch, step.tokens, model.config.hidden_size), getattr(torch, step.dtype)
    return {"inputs_embeds": torch.empty(shape, device="meta", dtype=dtype, requires_grad=True)}


def own_plans(architecture: str, model_type: str) -> dict[str, Plan]:
    """Return the plans that each class in a model adds, by its name; empty for a model without a plan.

    Errors: :class:`Refused`, :class:`Unavailable`, also if two models of a class have different plans.
    """
    model = build_class(architecture, {}, model_type)
    if not model._tp_plan and not model._ep_plan:
        return {}
    found: dict[str, Plan] = {}
    for module in model.modules():
        if not hasattr(module, "init_parallel_plans"):
            continue
        plan = Plan(*(_without_children(module, name) for name in ("_tp_plan", "_ep_plan")))
        if found.setdefault(type(module).__name__, plan) != plan:
            raise Unavailable(f"two {type(module).__name__} have different plans")
    return found


def _without_children(module: Any, name: str) -> dict[str, str]:
    children = {child: getattr(one, name, None) or () for child, one in module.named_children()}
    inner = {f"{child}.{pattern}" for child, patterns in children.items() for pattern in patterns}
    return {pattern: style for pattern, style in getattr(module, name).items() if pattern not in inner}


@contextmanager
def _make_meshes(ranks: Ranks) -> Iterator[tuple[Any, Any]]:
    """Yield transformers' config and meshes of some ranks, over a process group of one process."""
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from transformers.distributed import DistributedConfig
    from transformers.distributed.utils import TransformersDeviceMesh

    try:
        given = DistributedConfig(tp_size=ranks.tensor, ep_size=ranks.expert, fsdp_size=ranks.data)
    except ValueError as error:
        raise Refused(str(error)) from error
    on_stage = ranks.tensor * ranks.data
    world, rank = on_stage * ranks.pipeline, on_stage * ranks.stage
    dist.init_process_group(backend="fake", rank=rank, world_size=world, store=FakeStore())
    try:
        shapes = {
            ("pp", "dp_replicate", "fsdp", "tp"): (ranks.pipeline, 1, ranks.data, ranks.tensor),
            ("pp", "dp_replicate", "efsdp", "ep"): (ranks.pipeline, 1, given.efsdp_size, ranks.expert),
        }
        meshes = [dist.init_device_mesh("cpu", one, mesh_dim_names=names) for names, one in shapes.items()]
        given.fsdp_size = 1  # these ranks shard only experts
        yield given, TransformersDeviceMesh(*meshes)
    finally:
        dist.destroy_process_group()
