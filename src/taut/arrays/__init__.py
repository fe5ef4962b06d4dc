"""Arrays that know a little more than NumPy's: what is sparse, grows or is cut into pieces."""
