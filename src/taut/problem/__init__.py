"""How a solver sees a problem: a handful of functions of an example's number.

:class:`taut.problem.any_problem.AnyProblem` says what each of them does:

    scores, add_loss     prepare H_i(.; w) in the scratch memory ``work``
    argmax, attained     the max oracle: the best labelling and its value, or a bound on it
    label_value          H_i of one labelling
    block_value          H_i averaged over the current mu_i
    begin_change, add_corner, project, advance
                         a change d of mu_i in ``work``, Psi_i d for the weights, mu_i += step * d
    dual_has_room             whether the dual has memory for one more change
    remember, begin_margins, margin, shift, finish_shifts
                         one labelling against the truth, without scoring all others
    expected             the sum oracle, where there is one: the image of the marginals, log Z
    nearly_argmax, likely     nearly the oracle's answer, in less time and memory
    value_alone, log_sum      the oracle's value without its answer
    thinned, narrowed    the same, from the oracle's answer
    image_size, true_image, add_marginals, image_value, image_loss
                         what can be seen of a distribution over labellings, as mu_i is kept; see
                         :mod:`taut.structures.smoothed`
    rescaled_argmax      the max oracle of slack rescaling, where there is one: see
                         :mod:`taut.structures.slack_rescaled`

Built-in problems are named tuples of arrays and run compiled; a model in plain Python is a
:class:`taut.PythonProblem`. Both run the same solver source, because these functions find their
implementation through the class of ``problem`` (see :mod:`taut._compile`). Those of a group are
compiled together.
"""

from taut._compile import generic
from taut.problem.any_problem import AnyProblem

length = generic(AnyProblem.length, group="scores")
scores = generic(AnyProblem.scores, group="scores")
add_loss = generic(AnyProblem.add_loss, group="scores")

argmax = generic(AnyProblem.argmax, group="argmax")
attained = generic(AnyProblem.attained, group="argmax")
value_alone = generic(AnyProblem.value_alone, group="argmax")
nearly_argmax = generic(AnyProblem.nearly_argmax, group="argmax")
thinned = generic(AnyProblem.thinned, group="argmax")

weight = generic(AnyProblem.weight, group="learn")
block_value = generic(AnyProblem.block_value, group="learn")
begin_change = generic(AnyProblem.begin_change, group="learn")
project = generic(AnyProblem.project, group="learn")
advance = generic(AnyProblem.advance, group="learn")
dual_has_room = generic(AnyProblem.dual_has_room, group="learn")

true_label = generic(AnyProblem.true_label, group="labels")
label_value = generic(AnyProblem.label_value, group="labels")
label_loss = generic(AnyProblem.label_loss, group="labels")
add_corner = generic(AnyProblem.add_corner, group="labels")
forget = generic(AnyProblem.forget, group="labels")

begin_margins = generic(AnyProblem.begin_margins, group="margins")
margin = generic(AnyProblem.margin, group="margins")
shift = generic(AnyProblem.shift, group="margins")
finish_shifts = generic(AnyProblem.finish_shifts, group="margins")
remember = generic(AnyProblem.remember, group="margins")

rescaled_argmax = generic(AnyProblem.rescaled_argmax, group="rescaled")

expected = generic(AnyProblem.expected, group="sums")
log_sum = generic(AnyProblem.log_sum, group="sums")
likely = generic(AnyProblem.likely, group="sums")
narrowed = generic(AnyProblem.narrowed, group="sums")
image_size = generic(AnyProblem.image_size, group="sums")
true_image = generic(AnyProblem.true_image, group="sums")
add_marginals = generic(AnyProblem.add_marginals, group="sums")
image_value = generic(AnyProblem.image_value, group="sums")
image_loss = generic(AnyProblem.image_loss, group="sums")
