"""stub"""

from taut._compile import linking


class Unit:
    def __init__(self, code, uses):
        self.loaded = linking.Loaded(code)
        self.uses = frozenset(uses)
        self.function = self.loaded.function
        self.variable = self.loaded.variable


def unit(what, source, make):
    return Unit(*make())
