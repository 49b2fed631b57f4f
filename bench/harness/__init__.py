"""Parts that all benches share: data, interleaved repeats, equal answers, results, tables."""
