from dataclasses import dataclass

from torch import nn


@dataclass
class TinyConfig:
    width: int = 64
    depth: int = 3
    vocab: int = 1000
    gated: bool = False
    tied: bool = True


class Mlp(nn.Module):
    def __init__(self, config: TinyConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.width, 4 * config.width)
        if config.gated:
            self.gate = nn.Linear(config.width, 4 * config.width)
        self.down = nn.Linear(4 * config.width, config.width)


class Tiny(nn.Module):
    def __init__(self, config: TinyConfig) -> None:
        super().__init__()
        if config.width % 4:
            raise ValueError("width must be a multiple of 4")
        self.embed = nn.Embedding(config.vocab, config.width)
        self.layers = nn.ModuleList([Mlp(config) for _ in range(config.depth)])
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocab, bias=False)
        if config.tied:
            self.head.weight = self.embed.weight
