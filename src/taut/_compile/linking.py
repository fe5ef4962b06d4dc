"""Functions that other compiled code calls stay in LLVM's language; a *unit* is linked once.

numba compiles every function to machine code of its own, and again as a part of every function that
calls it, directly or not. Here what is called from compiled code, a *helper*, is only translated
(numba's front end: parsing, typing, lowering). A unit, which is one function that Python calls or
the functions of one problem, links all helpers it needs, and is optimised and emitted once.

This file, ``entries`` and ``ops`` lean on numba's inside: how a library of code is finished, which
passes its pipeline has, how functions are called. ``TAUT_PLAIN_NUMBA=1`` does without them.
"""

import functools
import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba import _dynfunc
from numba.core import codegen, compiler, compiler_machinery, typed_passes, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher, cpu_target

from taut._compile import lean

# Passes for what kernels do not use: closures, lists, array expressions, parallel loops.
NOT_NEEDED = {
    "WithLifting", "InlineClosureLikes", "MakeFunctionToJitFunction", "InlineInlinables",
    "FindLiterallyCalls", "LiteralUnroll", "LiteralPropagationSubPipelinePass", "DeadBranchPrune",
    "InlineOverloads", "AnnotateTypes", "NoPythonSupportedFeatureValidation", "NopythonRewrites",
    "DumpParforDiagnostics", "RewriteSemanticConstants", "RewriteDynamicRaises", "IRProcessing",
    "IRLegalization",
}  # fmt: skip


class HelperLibrary(codegen.JITCodeLibrary):
    """One function, translated: what :func:`linked` puts together."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.uses: dict[str, int] = {}  # functions called through a table, and their places

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        return self._final_module

    def get_pointer_to_function(self, name: str) -> int:
        return 0  # it has no machine code


@compiler_machinery.register_pass(mutates_CFG=True, analysis_only=False)
class HelperLowering(typed_passes.NativeLowering):
    _name = "taut_helper_lowering"

    @property
    def lowering_class(self) -> type:
        return lean.Lower

    def run_pass(self, state: Any) -> bool:
        state.library = HelperLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        state.library.finalize()
        made = state["cr"]
        # numba finds a function to call by an object that stands for its machine code.
        name = made.fndesc.qualname.split(".")[-1]
        stand_in = _dynfunc.make_function(
            made.fndesc.lookup_module(), name, "", 0, made.env, (state.library,)
        )
        state.targetctx.insert_user_function(stand_in, made.fndesc, [state.library])
        state["cr"] = compiler._LowerResult(
            made.fndesc, made.call_helper, cfunc=stand_in, env=made.env
        )
        return True


class HelperCompiler(compiler.CompilerBase):
    def define_pipelines(self) -> list:
        whole = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager = compiler_machinery.PassManager("taut")
        manager.passes = [
            (HelperLowering, "lowering") if step[0] is typed_passes.NativeLowering else step
            for step in whole.passes
            if step[0].__name__ not in NOT_NEEDED
        ]
        manager.finalize()
        return [manager]


OPTIONS: dict[str, Any] = {
    "nopython": True,
    "_nrt": False,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


class Helper(CPUDispatcher):
    """A function that compiled code calls; one version serves all integers and all floats."""

    def __init__(self, function: Any, **options: Any):
        super().__init__(
            function, targetoptions={**OPTIONS, **options}, pipeline_class=HelperCompiler
        )

        self.options = options

    def __reduce__(self) -> tuple:
        return functools.partial(Helper, **self.options), (self.py_func,)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        if not _active:
            raise numba.TypingError(
                f"{self.py_func.__name__} is a kernel of taut, which numba.njit cannot link: call "
                "it from Python, or mark the caller by taut._compile.compiled"
            )
        return super().get_call_template(tuple(map(plain, args)), kws)


def plain(kind: Any) -> Any:
    """The type that machine code is made for, in place of ones that make no difference to it."""
    kind = types.unliteral(kind)
    if isinstance(kind, types.Integer) and kind != types.uint64:
        return types.int64
    if isinstance(kind, types.Array) and not kind.mutable:
        return kind.copy(readonly=False)
    return types.float64 if isinstance(kind, types.Float) else kind


@contextmanager
def compiling() -> Iterator[None]:
    """Without garbage collection, which would walk millions of the compiler's objects in vain."""
    with global_compiler_lock:
        collects, context = gc.isenabled(), cpu_target.typing_context
        before = context.resolve_function_type
        gc.disable()
        context.resolve_function_type = functools.partial(_remembered, before)
        _active.append(True)
        try:
            yield
        finally:
            _active.pop()
            context.resolve_function_type = before
            if collects:
                gc.enable()


_active: list[bool] = []  # one for each time that compilation was entered
_RESULTS: dict[Any, Any] = {}


def _remembered(resolve: Any, function: Any, args: Any, kws: Any) -> Any:
    """What a built-in function makes of arguments of these types; numba finds out anew each time,
    and kernels add, compare and index thousands of times."""
    if kws or not isinstance(function, types.Function):
        return resolve(function, args, kws)
    own = lean.result(cpu_target.typing_context, function, args)
    if own is not None:
        return own
    key = function, tuple(args)
    if key not in _RESULTS:
        found = resolve(function, args, kws)
        if found is None:
            return None
        _RESULTS[key] = found
    return _RESULTS[key]


@contextmanager
def naming(function: Any, name: str) -> Iterator[None]:
    """An error says which function was being compiled, where it is, and what is often wrong."""
    try:
        yield
    except Exception as error:
        code = function.__code__
        error.add_note(f"while taut compiled {name}, {code.co_filename}:{code.co_firstlineno}")
        if re.search("NRT|built-in function (zeros|empty|ones|full|array)", str(error)):
            error.add_note("a kernel allocates nothing: no new arrays, lists or strings")
        raise


def translated(function: Any, kinds: tuple, result: Any = None) -> Any:
    """numba's result for a helper of these argument types."""
    function.compile(kinds if result is None else numba.core.typing.signature(result, *kinds))
    return function.overloads[kinds]


def linked(
    name: str, members: dict[str, Any], called_from_python: str = ""
) -> tuple[bytes, dict[str, int]]:
    """Machine code of these translated functions under these names, as an object file.

    Also returns which functions it calls through problems' tables. One of them can be made callable
    from Python: as ``call``, with its numba environment, an object that Python must provide, as
    ``environment``.
    """
    context = cpu_target.target_context
    library = HelperLibrary(context.codegen(), name)
    names = {}
    for symbol, made in members.items():
        names[made.fndesc.llvm_func_name] = symbol
        library.add_linking_library(made.library)
    if called_from_python:
        made = members[called_from_python]
        context.create_cpython_wrapper(
            library, made.fndesc, made.environment, made.call_helper, release_gil=True
        )
        names = {made.fndesc.llvm_cpython_wrapper_name: "call"}
    module = library._final_module
    uses: dict[str, int] = {}
    for part in _closure(library):
        module.link_in(part._get_module_for_linking(), preserve=True)
        uses |= getattr(part, "uses", {})
    for function in module.functions:
        if function.name in names:
            function.name = names[function.name]
        elif not function.is_declaration:
            function.linkage = "internal"
    if called_from_python:
        made = members[called_from_python]
        module.get_global_variable(context.get_env_name(made.fndesc)).name = "environment"
    manager, builder = library._codegen._module_pass_manager()
    manager.run(module, builder)
    module.verify()
    # Addresses in this process; those of functions are gone by now.
    if any(each.name.startswith("numba.dynamic.globals") for each in module.global_variables):
        raise TypeError(f"{name} reads a large array that is global: hand it over instead")
    return bytes(library._codegen._tm.emit_object(module)), uses


def _closure(library: Any) -> Iterator[Any]:
    """Everything it needs, each once."""
    seen, stack = set(), list(library._linking_libraries)
    while stack:
        part = stack.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            if isinstance(part, HelperLibrary):
                stack.extend(part._linking_libraries)
