"""Chains as files and models: what the command line writes and ChainSVM, ChainCRF load."""
