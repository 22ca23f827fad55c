from torch import nn


class NetConfig:
    def __init__(self, width: int = 64) -> None:
        self.width = width


def sizes(width: int):
    while width > 8:
        yield width
        width //= 2


class Net(nn.Module):
    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width // 2) for width in sizes(config.width)])
