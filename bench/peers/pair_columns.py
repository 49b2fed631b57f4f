"""The columns of KINC version-1 text, as all peers receive them."""

INTEGERS = (
    "gene1",
    "gene2",
    "cluster",
    "num_clusters",
    "cluster_samples",
    "missing",
    "outliers",
    "pair_outliers",
    "threshold",
)
SCORE = "score"
SAMPLES = "samples"
NAMES = (*INTEGERS, SCORE, SAMPLES)
