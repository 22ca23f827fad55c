from dataclasses import dataclass

from torch import nn


@dataclass
class ByteLMConfig:
    width: int = 256
    depth: int = 4
    hidden: int = 1024
    gated: bool = True


class Block(nn.Module):
    def __init__(self, config: ByteLMConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.width)
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=False)
        self.out = nn.Linear(config.width, config.width, bias=False)
        self.up = nn.Linear(config.width, config.hidden * (2 if config.gated else 1), bias=False)
        self.down = nn.Linear(config.hidden, config.width, bias=False)


class ByteLM(nn.Module):
    def __init__(self, config: ByteLMConfig) -> None:
        super().__init__()
        self.embed = nn.Embedding(256, config.width)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.depth)])
        self.norm = nn.LayerNorm(config.width)
        self.lm_head = nn.Linear(config.width, 256, bias=False)
        self.lm_head.weight = self.embed.weight
