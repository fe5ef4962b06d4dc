"""``python -m taut.demo``: read words of handwritten digits, print the certificate, save a plot."""

import argparse
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", type=Path, default=Path("demo.png"), help="where the plot goes")
    plot = parser.parse_args().plot
    what = "600 words of real handwritten digits, noisy and partly covered; 300 more to test on."
    print(f"{what}\n", flush=True)
    # Imported here, because that takes longer than the training.
    from taut import ChainSVM, MulticlassSVM
    from taut.datasets import make_digit_words

    X_train, y_train = make_digit_words(600, random_state=0, images="train")
    X_test, y_test = make_digit_words(300, random_state=1, images="test")

    clf = ChainSVM(C=0.1, tol=1e-3, random_state=0, n_jobs=-1).fit(X_train, y_train)
    print("The certificate:")
    print(clf.solution_)

    import numpy as np

    single = MulticlassSVM(C=0.1, random_state=0).fit(
        np.concatenate(X_train), np.concatenate(y_train)
    )
    alone = single.score(np.concatenate(X_test), np.concatenate(y_test))
    print(f"\nDigits read correctly: {clf.score(X_test, y_test):.1%} as words, {alone:.1%} alone.")
    for word, truth in zip(clf.predict(X_test[:3]), y_test, strict=False):
        print(f"  truth {''.join(map(str, truth))}  read {''.join(map(str, word))}")

    import matplotlib

    matplotlib.use("Agg")
    from taut.plotting import plot_convergence

    plot_convergence(clf.solution_).savefig(plot, dpi=120)
    print(f"\nThe path to it is drawn in {plot}.")


if __name__ == "__main__":
    main()
