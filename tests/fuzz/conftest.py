"""The harnesses are programs of their own and need atheris; pytest leaves them alone."""

collect_ignore_glob = ["fuzz*.py"]
