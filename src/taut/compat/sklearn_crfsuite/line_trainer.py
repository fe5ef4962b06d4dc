"""A trainer that says one line for each certificate, and the scores of labels as a table."""

from typing import Any

from taut.compat.pycrfsuite.crfsuite_trainer import Trainer


class LinePerIterationTrainer(Trainer):
    def on_iteration(self, log: str, info: dict[str, Any] | None) -> None:
        if info is None:
            return
        parts = [f"Iter {info['num']:<3}  time={info['time']:<5.2f}  loss={info['loss']:<8.2f}"]
        if "active_features" in info:
            parts.append(f" active={info['active_features']:<5}")
        if "avg_precision" in info:
            parts.append(
                f" precision={info['avg_precision']:.3f}  recall={info['avg_recall']:.3f}  "
                f"F1={info['avg_f1']:.3f}  Acc(item/seq)={info['item_accuracy_float']:.3f} "
                f"{info['instance_accuracy_float']:.3f}"
            )
        if "feature_norm" in info:
            parts.append(f" feature_norm={info['feature_norm']:<8.2f}")
        print(" ".join(parts).strip())

    def on_optimization_end(self, log: str) -> None:
        parser = self.logparser
        last = None if parser is None else parser.last_iteration
        scores = sorted(last["scores"].items()) if last else []
        if scores:
            width = max(len("Label"), *(len(label) for label, _ in scores))
            print(f"{'Label':{width}}  Precision  Recall     F1  Support")
            for label, score in scores:
                found = (score.precision or 0.0, score.recall or 0.0, score.f1 or 0.0)
                print(f"{label:{width}}  {found[0]:9.3f}  {found[1]:6.3f}  {found[2]:5.3f}  "
                      f"{score.ref:7}")  # fmt: skip
        super().on_optimization_end(log)
