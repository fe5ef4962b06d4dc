"""Object files in memory, ready to run."""

import functools

import llvmlite.binding as llvm
from numba.core.registry import cpu_target


@functools.cache
def failing() -> "Loaded":
    """A function that only fails: what a table holds for functions that were not provided, so that
    a mistake in this package ends in a SystemError instead of a crash."""
    module = llvm.parse_assembly("define i32 @fail() { ret i32 -1 }")
    return Loaded(bytes(cpu_target.target_context.codegen()._tm.emit_object(module)))


class Loaded:
    """An object file, ready to run."""

    def __init__(self, code: bytes):
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def function(self, name: str) -> int:
        return self._engine.get_function_address(name)

    def variable(self, name: str) -> int:
        return self._engine.get_global_value_address(name)
