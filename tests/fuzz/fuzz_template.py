"""Any text is a template or is refused."""

from fuzzing import fuzz, watched

with watched():
    from taut.text.built_in_templates import BUILT_IN
    from taut.text.template import TemplateError, parse_template

fuzz(
    lambda data: parse_template(data.decode(errors="replace")),
    TemplateError,
    [text.encode() for text in BUILT_IN.values()],
)
