"""`archspec lora`, as people and programs read it."""

from __future__ import annotations

from conftest import Command

import archspec


def test_any_length_adds_flops(cli: Command) -> None:
    adapter = archspec.load("ViTForImageClassification").lora(target_modules=["q_proj"])
    found = cli("lora ViTForImageClassification --target q_proj --batch 2 --json").json
    assert found["forward_flops"] == adapter.flops(batch=2) > 0
    llama = cli("lora LlamaForCausalLM --batch 2 --json").json
    assert llama["step_flops"] > llama["forward_flops"] > 0 and llama["notes"] == []
    llava = cli("lora LlavaForConditionalGeneration --target q_proj --text 9 --image 336x336 --json").json
    assert llava["forward_flops"] > 0


def test_a_note_says_why_flops_are_not_known(cli: Command) -> None:
    command = "lora MixtralForCausalLM --target-parameters experts.gate_up_proj --tokens 9"
    found = cli(f"{command} --json").json
    assert found["forward_flops"] is found["step_flops"] is None
    assert len(found["notes"]) == 1 and "not supported" in found["notes"][0]
    assert cli(command).out.splitlines()[-1] == f"note: {found['notes'][0]}"


def test_lengths_need_an_effect(cli: Command) -> None:
    train = "lora ViTForImageClassification --target q_proj --train"
    assert "--batch has no effect without --tokens" in cli(f"{train} --batch 2", code=2).err
    assert "--image cannot be combined with --train" in cli(f"{train} --image 224x224", code=2).err


def test_targets_that_match_nothing_name_the_linear_layers(cli: Command) -> None:
    problem = cli("lora ViTForImageClassification --target query", code=2).err
    assert "no module matches" in problem and "q_proj, k_proj, v_proj, o_proj, fc1" in problem
