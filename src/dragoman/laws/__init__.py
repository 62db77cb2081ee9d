"""The laws that conversions are held to, for ``dragoman.testing`` and the tests of a dialect."""
