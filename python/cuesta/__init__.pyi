# Written by `python tools/generate_api.py` from spec/workloads; change that instead.
"""Data-intensive science at hardware speed, verified and measured against the machine's ceilings.

`run`, `compare`, `assess` and `report` are the commands of the same names, and the keywords are the
words of the command line.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, overload

from cuesta import data as data
from cuesta import tl as tl
from cuesta.api.answer import Answer as Answer
from cuesta.api.answer import Assessment as Assessment
from cuesta.api.answer import Comparison as Comparison
from cuesta.api.calls import report as report
from cuesta.errors import CuestaError as CuestaError
from cuesta.errors import Defect as Defect
from cuesta.errors import EngineError as EngineError
from cuesta.errors import EngineMissing as EngineMissing
from cuesta.errors import InputError as InputError
from cuesta.errors import VerificationError as VerificationError

PathText = str | PathLike[str]
Input = PathText | Answer | Any

__version__: str

def assess(
    answer: Answer | PathText,
    reference: PathText | None = None,
    *,
    min_contig: int = 500,
    linear: bool = False,
    no_reads: bool = False,
    progress: bool = True,
) -> Assessment:
    """Measure an assembly beside its reads and a reference genome.

    The assessment is written into the answer folder, where a report finds it.

    Parameters
    ----------
    answer
        What `run("assemble", ...)` returned, or its folder.
    reference
        A genome to hold the contigs against: FASTA, plain or gzipped.
    min_contig
        Shortest contig that is looked at, in bases.
    linear
        The reference's sequences are linear; else a contig may run over their ends.
    no_reads
        Do not count the k-mers of the reads anew.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.

    Errors: as `cuesta assess`.
    """

@overload
def run(
    workload: Literal["assemble"],
    *inputs: Input | Sequence[Input],
    kmer_sizes: str | float | PathText | None = None,
    k: str | float | PathText | None = None,
    min_count: int | None = None,
    profile: Literal["default", "metagenome", "paper", "none"] = "default",
    chains: Literal["auto", "buckets", "ranking"] = "auto",
    min_contig: int = 200,
    drop_reads_with_n: bool = False,
    trim: Literal["auto", "none"] | None = None,
    depth: int | None = None,
    pairs: bool = False,
    interleaved: bool = False,
    singles: int = 0,
    unchecked_mates: bool = False,
    resume: str | float | PathText | None = None,
    paper_rounds: int | None = None,
    paper_jobs: int | None = None,
    paper_edits: float | None = None,
    engine: Literal["native", "spark", "spark-scala", "mpi", "dask", "hadoop", "array"] = "native",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Answer:
    """Assemble short reads into contigs and their graph.

    Parameters
    ----------
    inputs
        Reads: FASTQ or FASTA, plain or packed by gzip, bgzip, bzip2, xz or zstd, in any number of
        files; - is standard input.
    kmer_sizes
        Odd sizes of k-mers from 15 to 127, ascending, such as 31 or 31,55,79; auto: by the reads.
        None: from the reads.
    k
        Odd sizes of k-mers from 15 to 127, ascending, such as 31 or 31,55,79; auto: by the reads.
        None: from the reads.
    min_count
        Fewest occurrences of a solid k-mer; rarer k-mers count as sequencing errors. From 1 to
        268435455 times. None: from the spectrum.
    profile
        How errors are removed from the graph: by relative coverage in one genome (default) or in
        many, each of another depth (metagenome), by PGA, the vertex program of the paper (paper),
        or not at all (none).
    chains
        How chains of k-mers are compacted: in buckets on one machine, or by list ranking in vertex
        programs on all. Auto: in buckets. PGA has its own way, the coin toss.
    min_contig
        Shortest contig in contigs.fa; graph.gfa holds all. From 0 to 1e+09 bases.
    drop_reads_with_n
        Leave out reads with ambiguous letters (N, R, Y ...); otherwise they are cut there.
    trim
        Whether ends of reads are cut off: adapters, by the overlap of pairs or as known ones, tails
        of G and of low quality (auto), or nothing is (none). None: auto; with profile paper: none.
    depth
        Depth of the reads that are assembled, in bases for each base of the genome: of deeper ones
        every so many are taken, with their mates. Of one genome. At least 1 bases. None: all reads.
    pairs
        The files hold read pairs, two files at a time; pairs resolve repeats longer than a read.
    interleaved
        Each file holds read pairs, the two reads of a pair one after the other.
    singles
        How many of the last files hold single reads, beside pairs; -s FILE adds one to them. At
        least 0 files.
    unchecked_mates
        Take reads for pairs whatever their names are. Otherwise the names of the reads of a pair
        must be equal, but for /1 and /2, or .1 and .2, or _1 and _2.
    resume
        A folder for checkpoints; the same command continues after the last complete stage. None: no
        checkpoints.
    paper_rounds
        With profile paper: most rounds of the coin toss in a job. At least 1. None: until chains
        are whole.
    paper_jobs
        With profile paper: most jobs; it ends sooner where a job changes nothing. At least 1. None:
        15, as in its tables.
    paper_edits
        With profile paper: most edits between sides of a bubble, as a fraction of the longer. From
        0 to 1. None: 0.1.
    engine
        Engine to run on: native, spark, spark-scala, mpi, dask, hadoop, array; one that does not
        run this workload says so.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def run(
    workload: Literal["communities"],
    *inputs: Input | Sequence[Input],
    method: Literal["components", "label-propagation", "louvain", "leiden"] = "components",
    iterations: int = 10,
    quality: Literal["modularity", "cpm"] = "modularity",
    resolution: float = 1.0,
    weights: Literal["rows", "score"] = "rows",
    genes: int | PathText | None = None,
    graph: Literal["none", "graphml", "sif"] = "none",
    min_abs_score: float = 0.0,
    max_abs_score: float | None = None,
    score_index: int = 0,
    min_cluster_samples: int = 0,
    max_missing: int | None = None,
    engine: Literal["native", "spark", "spark-scala", "mpi", "dask", "hadoop", "array"] = "native",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Answer:
    """Group genes that hang together.

    Parameters
    ----------
    inputs
        Gene-pair files, a clusters-*/NNN/ tree, or a pair matrix.
    method
        How communities are found.
    iterations
        Most rounds of label propagation. From 1 to 1000 rounds.
    quality
        Of leiden: the quality that communities maximise; cpm is the constant Potts model.
    resolution
        Of leiden: more makes smaller communities; for cpm, the weight that a pair must exceed. From
        1e-06 to 1000.
    weights
        Of leiden: the weight of an edge, 1 for each row as for louvain, or its |score|.
    genes
        Genes in the network, so that genes without an edge are listed too. A number, or a file that
        names them: genes.tsv, a list with a name a line, an expression matrix or a pair matrix.
        From 2 to 16777215 genes. None: the largest gene of an edge, and the names beside the input,
        if any.
    graph
        Write the network too: GraphML for Cytoscape, NetworkX and igraph, or SIF for Cytoscape.
    min_abs_score
        Keep rows with |score| of at least this; a missing score is never kept. From 0 to 1.
    max_abs_score
        Keep rows with |score| of at most this. At least 0. None: no limit.
    score_index
        Which score of a row's list decides, counted from 0. From 0 to 7.
    min_cluster_samples
        Keep rows whose cluster has at least this many samples. From 0 to 1048576 samples.
    max_missing
        Keep rows with at most this many missing samples. From 0 to 1048576 samples. None: no limit.
    engine
        Engine to run on: native, spark, spark-scala, mpi, dask, hadoop, array; one that does not
        run this workload says so.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def run(
    workload: Literal["correlate"],
    *inputs: Input | Sequence[Input],
    method: Literal["pearson", "spearman", "bicor"] = "pearson",
    max_p_outliers: float = 1.0,
    min_abs_score: float = 0.0,
    top: int | None = None,
    min_samples: int | None = None,
    format: Literal["text", "pairs"] = "text",
    p_values: bool = False,
    top_variable: int | None = None,
    min_mean: float | None = None,
    log2: bool = False,
    missing: str | float | PathText | None = None,
    transpose: bool = False,
    layer: str | float | PathText | None = None,
    delimiter: Literal["auto", "tab", "comma", "semicolon", "space"] = "auto",
    decimal: Literal["auto", "point", "comma"] = "auto",
    header: Literal["auto", "present", "absent"] = "auto",
    columns: str | float | PathText | None = None,
    engine: Literal["native", "spark", "spark-scala", "mpi", "dask", "hadoop", "array"] = "native",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Answer:
    """Turn an expression matrix into correlated gene pairs.

    Parameters
    ----------
    inputs
        Expression matrix: text (a row a gene), h5ad, 10x, loom, Parquet or Feather.
    method
        The correlation; bicor is the biweight midcorrelation.
    max_p_outliers
        Of bicor: largest part of the samples on a side that may be outliers; 1 is no limit. From 0
        to 1.
    min_abs_score
        Keep pairs with |correlation| of at least this. From 0 to 1.
    top
        Keep only so many pairs: those with the largest |correlation|. From 1 to 10000000 pairs.
        None: all.
    min_samples
        Samples that both genes must have; a pair with fewer has no score. From 2 to 100000 samples.
        None: from the samples.
    format
        Write KINC version-1 text, or the binary pair matrix.
    p_values
        Write edges.tsv too: the pairs kept, with p (Student's t, approximate for spearman and
        bicor) and q (Benjamini-Hochberg over all pairs).
    top_variable
        Use only so many genes: those with the largest variances. At least 1 genes. None: all.
    min_mean
        Use only genes with a mean of at least this, before logarithms. None: any.
    log2
        Replace each value x by log2(x + 1).
    missing
        Words, separated by commas, for a missing value, besides NA, NaN, nan and an empty field.
        None: only those.
    transpose
        Rows are samples and columns are genes: turn the matrix.
    layer
        Layer of an AnnData file (h5ad) or loom file to read, or raw for its raw.X. None: X.
    delimiter
        What separates the fields of text; auto recognises it.
    decimal
        The decimal sign of text; auto recognises it.
    header
        Whether the first line of text names the columns; auto recognises it.
    columns
        Columns to read, by name or number from 1, such as x,y or 2-5,7. None: all that hold
        numbers.
    engine
        Engine to run on: native, spark, spark-scala, mpi, dask, hadoop, array; one that does not
        run this workload says so.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def run(
    workload: Literal["dataflow"],
    *inputs: Input | Sequence[Input],
    blocks: int = 96,
    block_vectors: int = 1048576,
    shift: str | float | PathText = "25,-12.5,3",
    stages: Literal["fused", "separate"] = "fused",
    keep: Literal["none", "memory", "disk"] = "none",
    engine: Literal["native", "spark", "spark-scala", "mpi", "dask", "hadoop", "array"] = "native",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Answer:
    """Generate or read, shift, average and reduce vectors: what an engine itself costs.

    Parameters
    ----------
    inputs
        Files of vectors: .npy (n x 3), or folders of them; none: vectors are generated.
    blocks
        Blocks to generate; vectors of files fill as many as they need. From 1 to 16777216 blocks.
    block_vectors
        Vectors of a block, 24 bytes each. From 1 to 67108864 vectors.
    shift
        Added to every vector: three numbers from -1000 to 1000.
    stages
        All stages as one loop, or one loop a stage over stored vectors.
    keep
        What separate stages keep: nothing (lazy), or all blocks, each stage timed on its own.
    engine
        Engine to run on: native, spark, spark-scala, mpi, dask, hadoop, array; one that does not
        run this workload says so.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def run(
    workload: Literal["degrees"],
    *inputs: Input | Sequence[Input],
    method: Literal["count", "graphx"] = "count",
    genes: int | PathText | None = None,
    min_abs_score: float = 0.0,
    max_abs_score: float | None = None,
    score_index: int = 0,
    min_cluster_samples: int = 0,
    max_missing: int | None = None,
    engine: Literal["native", "spark", "spark-scala", "mpi", "dask", "hadoop", "array"] = "native",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Answer:
    """Count the edges of every gene, and the genes of every degree.

    Parameters
    ----------
    inputs
        Gene-pair files, a clusters-*/NNN/ tree, or a pair matrix.
    method
        Count the rows, or make a graph of them and ask GraphX (engine spark-scala only).
    genes
        Genes in the network, so that genes without an edge are listed too. A number, or a file that
        names them: genes.tsv, a list with a name a line, an expression matrix or a pair matrix.
        From 2 to 16777215 genes. None: the largest gene of an edge, and the names beside the input,
        if any.
    min_abs_score
        Keep rows with |score| of at least this; a missing score is never kept. From 0 to 1.
    max_abs_score
        Keep rows with |score| of at most this. At least 0. None: no limit.
    score_index
        Which score of a row's list decides, counted from 0. From 0 to 7.
    min_cluster_samples
        Keep rows whose cluster has at least this many samples. From 0 to 1048576 samples.
    max_missing
        Keep rows with at most this many missing samples. From 0 to 1048576 samples. None: no limit.
    engine
        Engine to run on: native, spark, spark-scala, mpi, dask, hadoop, array; one that does not
        run this workload says so.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def run(
    workload: Literal["images"],
    *inputs: Input | Sequence[Input],
    channel: Literal["luma", "red", "green", "blue"] = "luma",
    threshold: str | float | PathText = "otsu",
    objects: Literal["bright", "dark"] = "bright",
    min_pixels: int = 1,
    engine: Literal["native", "spark", "spark-scala", "mpi", "dask", "hadoop", "array"] = "native",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Answer:
    """Count the objects above a threshold in every image of a stack.

    Parameters
    ----------
    inputs
        Images: TIFF (any number of pages), .npy (height x width, or a stack), or folders of them.
    channel
        Intensity of a colour pixel; grey images have luma only, their own numbers.
    threshold
        otsu, for each image its own, or a number in the units of the pixels.
    objects
        Objects are pixels above the threshold, or those at or below it.
    min_pixels
        Objects with fewer pixels do not count. From 1 to 536870912 pixels.
    engine
        Engine to run on: native, spark, spark-scala, mpi, dask, hadoop, array; one that does not
        run this workload says so.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def run(
    workload: Literal["ioread"],
    *inputs: Input | Sequence[Input],
    request_bytes: int = 1048576,
    skip_bytes: int = 0,
    engine: Literal["native", "spark", "spark-scala", "mpi", "dask", "hadoop", "array"] = "native",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Answer:
    """Read files in requests of one size with gaps between them, to find what a storage gives.

    Parameters
    ----------
    inputs
        Files of any kind, at paths or URIs.
    request_bytes
        Read so much at once. From 1 to 1.07374182e+09 bytes.
    skip_bytes
        Leave out so much between two requests. From 0 to 1.09951163e+12 bytes.
    engine
        Engine to run on: native, spark, spark-scala, mpi, dask, hadoop, array; one that does not
        run this workload says so.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def run(
    workload: Literal["join"],
    *inputs: Input | Sequence[Input],
    how: Literal["inner", "left", "outer"] = "inner",
    test: bool = False,
    method: Literal["pearson", "spearman"] = "pearson",
    max_q: float = 0.05,
    min_abs_score: float = 0.0,
    max_abs_score: float | None = None,
    score_index: int = 0,
    min_cluster_samples: int = 0,
    max_missing: int | None = None,
    genes: PathText | None = None,
    engine: Literal["native", "spark", "spark-scala", "mpi", "dask", "hadoop", "array"] = "native",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Answer:
    """Match two versions of a pair matrix by gene 1, gene 2 and cluster.

    Parameters
    ----------
    inputs
        The first and the second version: each a file, a folder of files or a pair matrix.
    how
        Rows to give: in both versions, in the first, or in either.
    test
        Test the differences of correlation of the matched pairs: z, p, q and class, in
        differences.tsv.
    method
        Correlation that the scores are, for test: it decides the variance.
    max_q
        Largest q-value of a pair that has a class, for test. From 0 to 1.
    min_abs_score
        Keep rows with |score| of at least this; a missing score is never kept. From 0 to 1.
    max_abs_score
        Keep rows with |score| of at most this. At least 0. None: no limit.
    score_index
        Which score of a row's list decides, counted from 0. From 0 to 7.
    min_cluster_samples
        Keep rows whose cluster has at least this many samples. From 0 to 1048576 samples.
    max_missing
        Keep rows with at most this many missing samples. From 0 to 1048576 samples. None: no limit.
    genes
        File that names the genes: genes.tsv, a list with a name a line, an expression matrix or a
        pair matrix. None: the names beside the input, if any.
    engine
        Engine to run on: native, spark, spark-scala, mpi, dask, hadoop, array; one that does not
        run this workload says so.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def run(
    workload: Literal["kmeans"],
    *inputs: Input | Sequence[Input],
    clusters: int = 10,
    iterations: int = 20,
    init: Literal["first", "kmeans++"] = "first",
    centres: str | float | PathText | None = None,
    dtype: Literal["auto", "float32", "float64"] = "auto",
    tolerance: float = 0.0,
    keep: Literal["all", "none"] = "all",
    delimiter: Literal["auto", "tab", "comma", "semicolon", "space"] = "auto",
    decimal: Literal["auto", "point", "comma"] = "auto",
    header: Literal["auto", "present", "absent"] = "auto",
    columns: str | float | PathText | None = None,
    engine: Literal["native", "spark", "spark-scala", "mpi", "dask", "hadoop", "array"] = "native",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Answer:
    """Group points around k means, by Lloyd's iterations.

    Parameters
    ----------
    inputs
        Points: .npy (points x dimensions), text (a point a line), Parquet, or folders of them.
    clusters
        Clusters, k. From 1 to 65536 clusters.
    iterations
        Most iterations. From 1 to 10000 iterations.
    init
        First centres: the first points, or points far from each other, by seed.
    centres
        A file with the first centres, .npy or text. None: as init says.
    dtype
        Precision of the points in memory; auto is that of the files, float64 for text.
    tolerance
        Stop when no centre moved further than this. At least 0.
    keep
        Points that stay in memory: all where they fit, or none, so that each pass reads them anew.
    delimiter
        What separates the fields of text; auto recognises it.
    decimal
        The decimal sign of text; auto recognises it.
    header
        Whether the first line of text names the columns; auto recognises it.
    columns
        Columns to read, by name or number from 1, such as x,y or 2-5,7. None: all that hold
        numbers.
    engine
        Engine to run on: native, spark, spark-scala, mpi, dask, hadoop, array; one that does not
        run this workload says so.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def run(
    workload: Literal["load"],
    *inputs: Input | Sequence[Input],
    genes: int | PathText | None = None,
    engine: Literal["native", "spark", "spark-scala", "mpi", "dask", "hadoop", "array"] = "native",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Answer:
    """Convert gene-pair text to the binary pair matrix.

    Parameters
    ----------
    inputs
        Gene-pair files or a clusters-*/NNN/ tree.
    genes
        Genes of the matrix. A number, or a file that names them: genes.tsv, a list with a name a
        line, an expression matrix or a pair matrix. From 2 to 16777215 genes. None: the largest
        gene of a row, and the names beside the input, if any.
    engine
        Engine to run on: native, spark, spark-scala, mpi, dask, hadoop, array; one that does not
        run this workload says so.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def run(
    workload: Literal["modules"],
    *inputs: Input | Sequence[Input],
    power: int | None = None,
    network: Literal["unsigned", "signed", "signed-hybrid"] = "unsigned",
    method: Literal["pearson", "bicor"] = "pearson",
    max_p_outliers: float = 1.0,
    tom: Literal["signed", "unsigned"] = "signed",
    min_module_size: int | None = None,
    deep_split: float = 2.0,
    no_pam: bool = False,
    min_kme: float = 0.3,
    reassign_p: float = 1e-06,
    merge_cut_height: float = 0.15,
    traits: PathText | None = None,
    as_: Literal["cuesta", "wgcna-1.72", "wgcna-1.72-colours"] = "cuesta",
    min_samples: int | None = None,
    top_variable: int | None = None,
    min_mean: float | None = None,
    log2: bool = False,
    missing: str | float | PathText | None = None,
    transpose: bool = False,
    layer: str | float | PathText | None = None,
    delimiter: Literal["auto", "tab", "comma", "semicolon", "space"] = "auto",
    decimal: Literal["auto", "point", "comma"] = "auto",
    header: Literal["auto", "present", "absent"] = "auto",
    columns: str | float | PathText | None = None,
    engine: Literal["native", "spark", "spark-scala", "mpi", "dask", "hadoop", "array"] = "native",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Answer:
    """Group the genes of an expression matrix into modules with eigengenes, as WGCNA does.

    Parameters
    ----------
    inputs
        Expression matrix: text (a row a gene), h5ad, 10x, loom, Parquet or Feather.
    power
        Power of the soft network. From 1 to 30. None: chosen by the fit to a power law, or by the
        number of samples.
    network
        Similarity of two genes: |r|, (1 + r) / 2, or r where it is positive.
    method
        The correlation; bicor is the biweight midcorrelation.
    max_p_outliers
        Of bicor: largest part of the samples on a side that may be outliers; 1 is no limit. From 0
        to 1.
    tom
        Topological overlap with the signs of an unsigned network, or without.
    min_module_size
        Smallest module. At least 2 genes. None: 30.
    deep_split
        Sensitivity to splits: more makes more and smaller modules. From 0 to 4.
    no_pam
        Leave genes grey that the tree leaves out, not in the nearest module of their branch.
    min_kme
        A gene leaves its module if its correlation with the eigengene is below this. From 0 to 1.
    reassign_p
        A gene moves to a nearer module if its p-value there is below this part of that in its own.
        From 0 to 1.
    merge_cut_height
        Merge modules whose eigengenes are at most this apart, 1 - r. From 0 to 2.
    traits
        File of the traits of samples: a row a sample, named in the first column. None: no traits.
    as_
        Rules and defaults: our own, or those of R's WGCNA 1.72, with numeric labels or colours.
    min_samples
        Use only genes with values in at least so many samples. None: more than half of the samples,
        and at least four.
    top_variable
        Use only so many genes: those with the largest variances. At least 1 genes. None: all.
    min_mean
        Use only genes with a mean of at least this, before logarithms. None: any.
    log2
        Replace each value x by log2(x + 1).
    missing
        Words, separated by commas, for a missing value, besides NA, NaN, nan and an empty field.
        None: only those.
    transpose
        Rows are samples and columns are genes: turn the matrix.
    layer
        Layer of an AnnData file (h5ad) or loom file to read, or raw for its raw.X. None: X.
    delimiter
        What separates the fields of text; auto recognises it.
    decimal
        The decimal sign of text; auto recognises it.
    header
        Whether the first line of text names the columns; auto recognises it.
    columns
        Columns to read, by name or number from 1, such as x,y or 2-5,7. None: all that hold
        numbers.
    engine
        Engine to run on: native, spark, spark-scala, mpi, dask, hadoop, array; one that does not
        run this workload says so.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def run(
    workload: Literal["scan"],
    *inputs: Input | Sequence[Input],
    graph: Literal["none", "graphml", "sif"] = "none",
    min_abs_score: float = 0.0,
    max_abs_score: float | None = None,
    score_index: int = 0,
    min_cluster_samples: int = 0,
    max_missing: int | None = None,
    genes: PathText | None = None,
    engine: Literal["native", "spark", "spark-scala", "mpi", "dask", "hadoop", "array"] = "native",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Answer:
    """Filter gene pairs by score, cluster size and missing samples.

    Parameters
    ----------
    inputs
        Gene-pair files, a clusters-*/NNN/ tree, or a pair matrix.
    graph
        Write the network too: GraphML for Cytoscape, NetworkX and igraph, or SIF for Cytoscape.
    min_abs_score
        Keep rows with |score| of at least this; a missing score is never kept. From 0 to 1.
    max_abs_score
        Keep rows with |score| of at most this. At least 0. None: no limit.
    score_index
        Which score of a row's list decides, counted from 0. From 0 to 7.
    min_cluster_samples
        Keep rows whose cluster has at least this many samples. From 0 to 1048576 samples.
    max_missing
        Keep rows with at most this many missing samples. From 0 to 1048576 samples. None: no limit.
    genes
        File that names the genes: genes.tsv, a list with a name a line, an expression matrix or a
        pair matrix. None: the names beside the input, if any.
    engine
        Engine to run on: native, spark, spark-scala, mpi, dask, hadoop, array; one that does not
        run this workload says so.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def run(
    workload: Literal["sort"],
    *inputs: Input | Sequence[Input],
    engine: Literal["native", "spark", "spark-scala", "mpi", "dask", "hadoop", "array"] = "native",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Answer:
    """Sort 100-byte records by their 10-byte keys (TeraSort).

    Parameters
    ----------
    inputs
        Files of 100-byte records, or folders of them, taken in the order given.
    engine
        Engine to run on: native, spark, spark-scala, mpi, dask, hadoop, array; one that does not
        run this workload says so.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def run(
    workload: Literal["threshold"],
    *inputs: Input | Sequence[Input],
    network: Literal["unsigned", "signed", "signed-hybrid"] = "unsigned",
    method: Literal["pearson", "bicor"] = "pearson",
    max_p_outliers: float = 1.0,
    low: float = 0.3,
    high: float = 0.99,
    step: float = 0.01,
    random_matrix: Literal["none", "all", "kinc-3"] = "none",
    min_samples: int | None = None,
    top_variable: int | None = None,
    min_mean: float | None = None,
    log2: bool = False,
    missing: str | float | PathText | None = None,
    transpose: bool = False,
    layer: str | float | PathText | None = None,
    delimiter: Literal["auto", "tab", "comma", "semicolon", "space"] = "auto",
    decimal: Literal["auto", "point", "comma"] = "auto",
    header: Literal["auto", "present", "absent"] = "auto",
    columns: str | float | PathText | None = None,
    engine: Literal["native", "spark", "spark-scala", "mpi", "dask", "hadoop", "array"] = "native",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Answer:
    """Compare thresholds and soft powers of a gene network, without writing its pairs.

    Parameters
    ----------
    inputs
        Expression matrix: text (a row a gene), h5ad, 10x, loom, Parquet or Feather.
    network
        Similarity that is raised to a power: |r|, (1 + r) / 2, or r where it is positive.
    method
        The correlation; bicor is the biweight midcorrelation.
    max_p_outliers
        Of bicor: largest part of the samples on a side that may be outliers; 1 is no limit. From 0
        to 1.
    low
        Smallest cut-off of |r|. From 0 to 1.
    high
        Largest cut-off of |r|. From 0 to 1.
    step
        Difference of two cut-offs. From 0.0001 to 1.
    random_matrix
        Search a cut-off by random matrix theory: among all genes with an edge, or as KINC 3 does.
    min_samples
        Use only genes with values in at least so many samples. None: more than half of the samples,
        and at least four.
    top_variable
        Use only so many genes: those with the largest variances. At least 1 genes. None: all.
    min_mean
        Use only genes with a mean of at least this, before logarithms. None: any.
    log2
        Replace each value x by log2(x + 1).
    missing
        Words, separated by commas, for a missing value, besides NA, NaN, nan and an empty field.
        None: only those.
    transpose
        Rows are samples and columns are genes: turn the matrix.
    layer
        Layer of an AnnData file (h5ad) or loom file to read, or raw for its raw.X. None: X.
    delimiter
        What separates the fields of text; auto recognises it.
    decimal
        The decimal sign of text; auto recognises it.
    header
        Whether the first line of text names the columns; auto recognises it.
    columns
        Columns to read, by name or number from 1, such as x,y or 2-5,7. None: all that hold
        numbers.
    engine
        Engine to run on: native, spark, spark-scala, mpi, dask, hadoop, array; one that does not
        run this workload says so.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def compare(
    workload: Literal["assemble"],
    *inputs: Input | Sequence[Input],
    kmer_sizes: str | float | PathText | None = None,
    k: str | float | PathText | None = None,
    min_count: int | None = None,
    profile: Literal["default", "metagenome", "paper", "none"] = "default",
    chains: Literal["auto", "buckets", "ranking"] = "auto",
    min_contig: int = 200,
    drop_reads_with_n: bool = False,
    trim: Literal["auto", "none"] | None = None,
    depth: int | None = None,
    pairs: bool = False,
    interleaved: bool = False,
    singles: int = 0,
    unchecked_mates: bool = False,
    resume: str | float | PathText | None = None,
    paper_rounds: int | None = None,
    paper_jobs: int | None = None,
    paper_edits: float | None = None,
    engines: str | Sequence[str] = "native,spark,array",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Comparison:
    """Assemble short reads into contigs and their graph.

    Parameters
    ----------
    inputs
        Reads: FASTQ or FASTA, plain or packed by gzip, bgzip, bzip2, xz or zstd, in any number of
        files; - is standard input.
    kmer_sizes
        Odd sizes of k-mers from 15 to 127, ascending, such as 31 or 31,55,79; auto: by the reads.
        None: from the reads.
    k
        Odd sizes of k-mers from 15 to 127, ascending, such as 31 or 31,55,79; auto: by the reads.
        None: from the reads.
    min_count
        Fewest occurrences of a solid k-mer; rarer k-mers count as sequencing errors. From 1 to
        268435455 times. None: from the spectrum.
    profile
        How errors are removed from the graph: by relative coverage in one genome (default) or in
        many, each of another depth (metagenome), by PGA, the vertex program of the paper (paper),
        or not at all (none).
    chains
        How chains of k-mers are compacted: in buckets on one machine, or by list ranking in vertex
        programs on all. Auto: in buckets. PGA has its own way, the coin toss.
    min_contig
        Shortest contig in contigs.fa; graph.gfa holds all. From 0 to 1e+09 bases.
    drop_reads_with_n
        Leave out reads with ambiguous letters (N, R, Y ...); otherwise they are cut there.
    trim
        Whether ends of reads are cut off: adapters, by the overlap of pairs or as known ones, tails
        of G and of low quality (auto), or nothing is (none). None: auto; with profile paper: none.
    depth
        Depth of the reads that are assembled, in bases for each base of the genome: of deeper ones
        every so many are taken, with their mates. Of one genome. At least 1 bases. None: all reads.
    pairs
        The files hold read pairs, two files at a time; pairs resolve repeats longer than a read.
    interleaved
        Each file holds read pairs, the two reads of a pair one after the other.
    singles
        How many of the last files hold single reads, beside pairs; -s FILE adds one to them. At
        least 0 files.
    unchecked_mates
        Take reads for pairs whatever their names are. Otherwise the names of the reads of a pair
        must be equal, but for /1 and /2, or .1 and .2, or _1 and _2.
    resume
        A folder for checkpoints; the same command continues after the last complete stage. None: no
        checkpoints.
    paper_rounds
        With profile paper: most rounds of the coin toss in a job. At least 1. None: until chains
        are whole.
    paper_jobs
        With profile paper: most jobs; it ends sooner where a job changes nothing. At least 1. None:
        15, as in its tables.
    paper_edits
        With profile paper: most edits between sides of a bubble, as a fraction of the longer. From
        0 to 1. None: 0.1.
    engines
        Engines, separated by commas.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def compare(
    workload: Literal["communities"],
    *inputs: Input | Sequence[Input],
    method: Literal["components", "label-propagation", "louvain", "leiden"] = "components",
    iterations: int = 10,
    quality: Literal["modularity", "cpm"] = "modularity",
    resolution: float = 1.0,
    weights: Literal["rows", "score"] = "rows",
    genes: int | PathText | None = None,
    graph: Literal["none", "graphml", "sif"] = "none",
    min_abs_score: float = 0.0,
    max_abs_score: float | None = None,
    score_index: int = 0,
    min_cluster_samples: int = 0,
    max_missing: int | None = None,
    engines: str | Sequence[str] = "native,spark,array",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Comparison:
    """Group genes that hang together.

    Parameters
    ----------
    inputs
        Gene-pair files, a clusters-*/NNN/ tree, or a pair matrix.
    method
        How communities are found.
    iterations
        Most rounds of label propagation. From 1 to 1000 rounds.
    quality
        Of leiden: the quality that communities maximise; cpm is the constant Potts model.
    resolution
        Of leiden: more makes smaller communities; for cpm, the weight that a pair must exceed. From
        1e-06 to 1000.
    weights
        Of leiden: the weight of an edge, 1 for each row as for louvain, or its |score|.
    genes
        Genes in the network, so that genes without an edge are listed too. A number, or a file that
        names them: genes.tsv, a list with a name a line, an expression matrix or a pair matrix.
        From 2 to 16777215 genes. None: the largest gene of an edge, and the names beside the input,
        if any.
    graph
        Write the network too: GraphML for Cytoscape, NetworkX and igraph, or SIF for Cytoscape.
    min_abs_score
        Keep rows with |score| of at least this; a missing score is never kept. From 0 to 1.
    max_abs_score
        Keep rows with |score| of at most this. At least 0. None: no limit.
    score_index
        Which score of a row's list decides, counted from 0. From 0 to 7.
    min_cluster_samples
        Keep rows whose cluster has at least this many samples. From 0 to 1048576 samples.
    max_missing
        Keep rows with at most this many missing samples. From 0 to 1048576 samples. None: no limit.
    engines
        Engines, separated by commas.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def compare(
    workload: Literal["correlate"],
    *inputs: Input | Sequence[Input],
    method: Literal["pearson", "spearman", "bicor"] = "pearson",
    max_p_outliers: float = 1.0,
    min_abs_score: float = 0.0,
    top: int | None = None,
    min_samples: int | None = None,
    format: Literal["text", "pairs"] = "text",
    p_values: bool = False,
    top_variable: int | None = None,
    min_mean: float | None = None,
    log2: bool = False,
    missing: str | float | PathText | None = None,
    transpose: bool = False,
    layer: str | float | PathText | None = None,
    delimiter: Literal["auto", "tab", "comma", "semicolon", "space"] = "auto",
    decimal: Literal["auto", "point", "comma"] = "auto",
    header: Literal["auto", "present", "absent"] = "auto",
    columns: str | float | PathText | None = None,
    engines: str | Sequence[str] = "native,spark,array",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Comparison:
    """Turn an expression matrix into correlated gene pairs.

    Parameters
    ----------
    inputs
        Expression matrix: text (a row a gene), h5ad, 10x, loom, Parquet or Feather.
    method
        The correlation; bicor is the biweight midcorrelation.
    max_p_outliers
        Of bicor: largest part of the samples on a side that may be outliers; 1 is no limit. From 0
        to 1.
    min_abs_score
        Keep pairs with |correlation| of at least this. From 0 to 1.
    top
        Keep only so many pairs: those with the largest |correlation|. From 1 to 10000000 pairs.
        None: all.
    min_samples
        Samples that both genes must have; a pair with fewer has no score. From 2 to 100000 samples.
        None: from the samples.
    format
        Write KINC version-1 text, or the binary pair matrix.
    p_values
        Write edges.tsv too: the pairs kept, with p (Student's t, approximate for spearman and
        bicor) and q (Benjamini-Hochberg over all pairs).
    top_variable
        Use only so many genes: those with the largest variances. At least 1 genes. None: all.
    min_mean
        Use only genes with a mean of at least this, before logarithms. None: any.
    log2
        Replace each value x by log2(x + 1).
    missing
        Words, separated by commas, for a missing value, besides NA, NaN, nan and an empty field.
        None: only those.
    transpose
        Rows are samples and columns are genes: turn the matrix.
    layer
        Layer of an AnnData file (h5ad) or loom file to read, or raw for its raw.X. None: X.
    delimiter
        What separates the fields of text; auto recognises it.
    decimal
        The decimal sign of text; auto recognises it.
    header
        Whether the first line of text names the columns; auto recognises it.
    columns
        Columns to read, by name or number from 1, such as x,y or 2-5,7. None: all that hold
        numbers.
    engines
        Engines, separated by commas.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def compare(
    workload: Literal["dataflow"],
    *inputs: Input | Sequence[Input],
    blocks: int = 96,
    block_vectors: int = 1048576,
    shift: str | float | PathText = "25,-12.5,3",
    stages: Literal["fused", "separate"] = "fused",
    keep: Literal["none", "memory", "disk"] = "none",
    engines: str | Sequence[str] = "native,spark,array",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Comparison:
    """Generate or read, shift, average and reduce vectors: what an engine itself costs.

    Parameters
    ----------
    inputs
        Files of vectors: .npy (n x 3), or folders of them; none: vectors are generated.
    blocks
        Blocks to generate; vectors of files fill as many as they need. From 1 to 16777216 blocks.
    block_vectors
        Vectors of a block, 24 bytes each. From 1 to 67108864 vectors.
    shift
        Added to every vector: three numbers from -1000 to 1000.
    stages
        All stages as one loop, or one loop a stage over stored vectors.
    keep
        What separate stages keep: nothing (lazy), or all blocks, each stage timed on its own.
    engines
        Engines, separated by commas.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def compare(
    workload: Literal["degrees"],
    *inputs: Input | Sequence[Input],
    method: Literal["count", "graphx"] = "count",
    genes: int | PathText | None = None,
    min_abs_score: float = 0.0,
    max_abs_score: float | None = None,
    score_index: int = 0,
    min_cluster_samples: int = 0,
    max_missing: int | None = None,
    engines: str | Sequence[str] = "native,spark,array",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Comparison:
    """Count the edges of every gene, and the genes of every degree.

    Parameters
    ----------
    inputs
        Gene-pair files, a clusters-*/NNN/ tree, or a pair matrix.
    method
        Count the rows, or make a graph of them and ask GraphX (engine spark-scala only).
    genes
        Genes in the network, so that genes without an edge are listed too. A number, or a file that
        names them: genes.tsv, a list with a name a line, an expression matrix or a pair matrix.
        From 2 to 16777215 genes. None: the largest gene of an edge, and the names beside the input,
        if any.
    min_abs_score
        Keep rows with |score| of at least this; a missing score is never kept. From 0 to 1.
    max_abs_score
        Keep rows with |score| of at most this. At least 0. None: no limit.
    score_index
        Which score of a row's list decides, counted from 0. From 0 to 7.
    min_cluster_samples
        Keep rows whose cluster has at least this many samples. From 0 to 1048576 samples.
    max_missing
        Keep rows with at most this many missing samples. From 0 to 1048576 samples. None: no limit.
    engines
        Engines, separated by commas.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def compare(
    workload: Literal["images"],
    *inputs: Input | Sequence[Input],
    channel: Literal["luma", "red", "green", "blue"] = "luma",
    threshold: str | float | PathText = "otsu",
    objects: Literal["bright", "dark"] = "bright",
    min_pixels: int = 1,
    engines: str | Sequence[str] = "native,spark,array",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Comparison:
    """Count the objects above a threshold in every image of a stack.

    Parameters
    ----------
    inputs
        Images: TIFF (any number of pages), .npy (height x width, or a stack), or folders of them.
    channel
        Intensity of a colour pixel; grey images have luma only, their own numbers.
    threshold
        otsu, for each image its own, or a number in the units of the pixels.
    objects
        Objects are pixels above the threshold, or those at or below it.
    min_pixels
        Objects with fewer pixels do not count. From 1 to 536870912 pixels.
    engines
        Engines, separated by commas.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def compare(
    workload: Literal["ioread"],
    *inputs: Input | Sequence[Input],
    request_bytes: int = 1048576,
    skip_bytes: int = 0,
    engines: str | Sequence[str] = "native,spark,array",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Comparison:
    """Read files in requests of one size with gaps between them, to find what a storage gives.

    Parameters
    ----------
    inputs
        Files of any kind, at paths or URIs.
    request_bytes
        Read so much at once. From 1 to 1.07374182e+09 bytes.
    skip_bytes
        Leave out so much between two requests. From 0 to 1.09951163e+12 bytes.
    engines
        Engines, separated by commas.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def compare(
    workload: Literal["join"],
    *inputs: Input | Sequence[Input],
    how: Literal["inner", "left", "outer"] = "inner",
    test: bool = False,
    method: Literal["pearson", "spearman"] = "pearson",
    max_q: float = 0.05,
    min_abs_score: float = 0.0,
    max_abs_score: float | None = None,
    score_index: int = 0,
    min_cluster_samples: int = 0,
    max_missing: int | None = None,
    genes: PathText | None = None,
    engines: str | Sequence[str] = "native,spark,array",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Comparison:
    """Match two versions of a pair matrix by gene 1, gene 2 and cluster.

    Parameters
    ----------
    inputs
        The first and the second version: each a file, a folder of files or a pair matrix.
    how
        Rows to give: in both versions, in the first, or in either.
    test
        Test the differences of correlation of the matched pairs: z, p, q and class, in
        differences.tsv.
    method
        Correlation that the scores are, for test: it decides the variance.
    max_q
        Largest q-value of a pair that has a class, for test. From 0 to 1.
    min_abs_score
        Keep rows with |score| of at least this; a missing score is never kept. From 0 to 1.
    max_abs_score
        Keep rows with |score| of at most this. At least 0. None: no limit.
    score_index
        Which score of a row's list decides, counted from 0. From 0 to 7.
    min_cluster_samples
        Keep rows whose cluster has at least this many samples. From 0 to 1048576 samples.
    max_missing
        Keep rows with at most this many missing samples. From 0 to 1048576 samples. None: no limit.
    genes
        File that names the genes: genes.tsv, a list with a name a line, an expression matrix or a
        pair matrix. None: the names beside the input, if any.
    engines
        Engines, separated by commas.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def compare(
    workload: Literal["kmeans"],
    *inputs: Input | Sequence[Input],
    clusters: int = 10,
    iterations: int = 20,
    init: Literal["first", "kmeans++"] = "first",
    centres: str | float | PathText | None = None,
    dtype: Literal["auto", "float32", "float64"] = "auto",
    tolerance: float = 0.0,
    keep: Literal["all", "none"] = "all",
    delimiter: Literal["auto", "tab", "comma", "semicolon", "space"] = "auto",
    decimal: Literal["auto", "point", "comma"] = "auto",
    header: Literal["auto", "present", "absent"] = "auto",
    columns: str | float | PathText | None = None,
    engines: str | Sequence[str] = "native,spark,array",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Comparison:
    """Group points around k means, by Lloyd's iterations.

    Parameters
    ----------
    inputs
        Points: .npy (points x dimensions), text (a point a line), Parquet, or folders of them.
    clusters
        Clusters, k. From 1 to 65536 clusters.
    iterations
        Most iterations. From 1 to 10000 iterations.
    init
        First centres: the first points, or points far from each other, by seed.
    centres
        A file with the first centres, .npy or text. None: as init says.
    dtype
        Precision of the points in memory; auto is that of the files, float64 for text.
    tolerance
        Stop when no centre moved further than this. At least 0.
    keep
        Points that stay in memory: all where they fit, or none, so that each pass reads them anew.
    delimiter
        What separates the fields of text; auto recognises it.
    decimal
        The decimal sign of text; auto recognises it.
    header
        Whether the first line of text names the columns; auto recognises it.
    columns
        Columns to read, by name or number from 1, such as x,y or 2-5,7. None: all that hold
        numbers.
    engines
        Engines, separated by commas.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def compare(
    workload: Literal["load"],
    *inputs: Input | Sequence[Input],
    genes: int | PathText | None = None,
    engines: str | Sequence[str] = "native,spark,array",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Comparison:
    """Convert gene-pair text to the binary pair matrix.

    Parameters
    ----------
    inputs
        Gene-pair files or a clusters-*/NNN/ tree.
    genes
        Genes of the matrix. A number, or a file that names them: genes.tsv, a list with a name a
        line, an expression matrix or a pair matrix. From 2 to 16777215 genes. None: the largest
        gene of a row, and the names beside the input, if any.
    engines
        Engines, separated by commas.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def compare(
    workload: Literal["modules"],
    *inputs: Input | Sequence[Input],
    power: int | None = None,
    network: Literal["unsigned", "signed", "signed-hybrid"] = "unsigned",
    method: Literal["pearson", "bicor"] = "pearson",
    max_p_outliers: float = 1.0,
    tom: Literal["signed", "unsigned"] = "signed",
    min_module_size: int | None = None,
    deep_split: float = 2.0,
    no_pam: bool = False,
    min_kme: float = 0.3,
    reassign_p: float = 1e-06,
    merge_cut_height: float = 0.15,
    traits: PathText | None = None,
    as_: Literal["cuesta", "wgcna-1.72", "wgcna-1.72-colours"] = "cuesta",
    min_samples: int | None = None,
    top_variable: int | None = None,
    min_mean: float | None = None,
    log2: bool = False,
    missing: str | float | PathText | None = None,
    transpose: bool = False,
    layer: str | float | PathText | None = None,
    delimiter: Literal["auto", "tab", "comma", "semicolon", "space"] = "auto",
    decimal: Literal["auto", "point", "comma"] = "auto",
    header: Literal["auto", "present", "absent"] = "auto",
    columns: str | float | PathText | None = None,
    engines: str | Sequence[str] = "native,spark,array",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Comparison:
    """Group the genes of an expression matrix into modules with eigengenes, as WGCNA does.

    Parameters
    ----------
    inputs
        Expression matrix: text (a row a gene), h5ad, 10x, loom, Parquet or Feather.
    power
        Power of the soft network. From 1 to 30. None: chosen by the fit to a power law, or by the
        number of samples.
    network
        Similarity of two genes: |r|, (1 + r) / 2, or r where it is positive.
    method
        The correlation; bicor is the biweight midcorrelation.
    max_p_outliers
        Of bicor: largest part of the samples on a side that may be outliers; 1 is no limit. From 0
        to 1.
    tom
        Topological overlap with the signs of an unsigned network, or without.
    min_module_size
        Smallest module. At least 2 genes. None: 30.
    deep_split
        Sensitivity to splits: more makes more and smaller modules. From 0 to 4.
    no_pam
        Leave genes grey that the tree leaves out, not in the nearest module of their branch.
    min_kme
        A gene leaves its module if its correlation with the eigengene is below this. From 0 to 1.
    reassign_p
        A gene moves to a nearer module if its p-value there is below this part of that in its own.
        From 0 to 1.
    merge_cut_height
        Merge modules whose eigengenes are at most this apart, 1 - r. From 0 to 2.
    traits
        File of the traits of samples: a row a sample, named in the first column. None: no traits.
    as_
        Rules and defaults: our own, or those of R's WGCNA 1.72, with numeric labels or colours.
    min_samples
        Use only genes with values in at least so many samples. None: more than half of the samples,
        and at least four.
    top_variable
        Use only so many genes: those with the largest variances. At least 1 genes. None: all.
    min_mean
        Use only genes with a mean of at least this, before logarithms. None: any.
    log2
        Replace each value x by log2(x + 1).
    missing
        Words, separated by commas, for a missing value, besides NA, NaN, nan and an empty field.
        None: only those.
    transpose
        Rows are samples and columns are genes: turn the matrix.
    layer
        Layer of an AnnData file (h5ad) or loom file to read, or raw for its raw.X. None: X.
    delimiter
        What separates the fields of text; auto recognises it.
    decimal
        The decimal sign of text; auto recognises it.
    header
        Whether the first line of text names the columns; auto recognises it.
    columns
        Columns to read, by name or number from 1, such as x,y or 2-5,7. None: all that hold
        numbers.
    engines
        Engines, separated by commas.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def compare(
    workload: Literal["scan"],
    *inputs: Input | Sequence[Input],
    graph: Literal["none", "graphml", "sif"] = "none",
    min_abs_score: float = 0.0,
    max_abs_score: float | None = None,
    score_index: int = 0,
    min_cluster_samples: int = 0,
    max_missing: int | None = None,
    genes: PathText | None = None,
    engines: str | Sequence[str] = "native,spark,array",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Comparison:
    """Filter gene pairs by score, cluster size and missing samples.

    Parameters
    ----------
    inputs
        Gene-pair files, a clusters-*/NNN/ tree, or a pair matrix.
    graph
        Write the network too: GraphML for Cytoscape, NetworkX and igraph, or SIF for Cytoscape.
    min_abs_score
        Keep rows with |score| of at least this; a missing score is never kept. From 0 to 1.
    max_abs_score
        Keep rows with |score| of at most this. At least 0. None: no limit.
    score_index
        Which score of a row's list decides, counted from 0. From 0 to 7.
    min_cluster_samples
        Keep rows whose cluster has at least this many samples. From 0 to 1048576 samples.
    max_missing
        Keep rows with at most this many missing samples. From 0 to 1048576 samples. None: no limit.
    genes
        File that names the genes: genes.tsv, a list with a name a line, an expression matrix or a
        pair matrix. None: the names beside the input, if any.
    engines
        Engines, separated by commas.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def compare(
    workload: Literal["sort"],
    *inputs: Input | Sequence[Input],
    engines: str | Sequence[str] = "native,spark,array",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Comparison:
    """Sort 100-byte records by their 10-byte keys (TeraSort).

    Parameters
    ----------
    inputs
        Files of 100-byte records, or folders of them, taken in the order given.
    engines
        Engines, separated by commas.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """

@overload
def compare(
    workload: Literal["threshold"],
    *inputs: Input | Sequence[Input],
    network: Literal["unsigned", "signed", "signed-hybrid"] = "unsigned",
    method: Literal["pearson", "bicor"] = "pearson",
    max_p_outliers: float = 1.0,
    low: float = 0.3,
    high: float = 0.99,
    step: float = 0.01,
    random_matrix: Literal["none", "all", "kinc-3"] = "none",
    min_samples: int | None = None,
    top_variable: int | None = None,
    min_mean: float | None = None,
    log2: bool = False,
    missing: str | float | PathText | None = None,
    transpose: bool = False,
    layer: str | float | PathText | None = None,
    delimiter: Literal["auto", "tab", "comma", "semicolon", "space"] = "auto",
    decimal: Literal["auto", "point", "comma"] = "auto",
    header: Literal["auto", "present", "absent"] = "auto",
    columns: str | float | PathText | None = None,
    engines: str | Sequence[str] = "native,spark,array",
    threads: int | None = None,
    memory: str | int | None = None,
    scratch: PathText | None = None,
    master: str | float | PathText | None = None,
    ranks: int | None = None,
    kernels: Literal["native", "numpy", "c"] | None = None,
    engine_option: Mapping[str, object] | None = None,
    seed: int = 0,
    repeat: int = 1,
    cold: bool | Literal["machine"] = False,
    output: PathText | None = None,
    verify: Literal["full", "sample", "none"] = "full",
    overwrite: bool = False,
    progress: bool = True,
) -> Comparison:
    """Compare thresholds and soft powers of a gene network, without writing its pairs.

    Parameters
    ----------
    inputs
        Expression matrix: text (a row a gene), h5ad, 10x, loom, Parquet or Feather.
    network
        Similarity that is raised to a power: |r|, (1 + r) / 2, or r where it is positive.
    method
        The correlation; bicor is the biweight midcorrelation.
    max_p_outliers
        Of bicor: largest part of the samples on a side that may be outliers; 1 is no limit. From 0
        to 1.
    low
        Smallest cut-off of |r|. From 0 to 1.
    high
        Largest cut-off of |r|. From 0 to 1.
    step
        Difference of two cut-offs. From 0.0001 to 1.
    random_matrix
        Search a cut-off by random matrix theory: among all genes with an edge, or as KINC 3 does.
    min_samples
        Use only genes with values in at least so many samples. None: more than half of the samples,
        and at least four.
    top_variable
        Use only so many genes: those with the largest variances. At least 1 genes. None: all.
    min_mean
        Use only genes with a mean of at least this, before logarithms. None: any.
    log2
        Replace each value x by log2(x + 1).
    missing
        Words, separated by commas, for a missing value, besides NA, NaN, nan and an empty field.
        None: only those.
    transpose
        Rows are samples and columns are genes: turn the matrix.
    layer
        Layer of an AnnData file (h5ad) or loom file to read, or raw for its raw.X. None: X.
    delimiter
        What separates the fields of text; auto recognises it.
    decimal
        The decimal sign of text; auto recognises it.
    header
        Whether the first line of text names the columns; auto recognises it.
    columns
        Columns to read, by name or number from 1, such as x,y or 2-5,7. None: all that hold
        numbers.
    engines
        Engines, separated by commas.
    threads
        Cores to use. None: all this process may use.
    memory
        Hard limit, such as '8GiB' or bytes; work that does not fit goes to scratch. None: half of
        the machine's memory.
    scratch
        Folder for what does not fit in memory. None: next to the output.
    master
        Spark master. None: local[THREADS].
    ranks
        MPI ranks. None: as threads.
    kernels
        Program of dataflow in Spark's tasks or MPI's ranks; c is for mpi. None: native.
    engine_option
        Settings of the engine, by name.
    seed
        Seed of whatever is drawn at random.
    repeat
        Run so often and give the median.
    cold
        Run cold: before every repeat drop the input's pages from the page cache, or with 'machine'
        (root only) empty the whole cache.
    output
        Answer folder to make. None: a temporary one, which lives as long as the answer.
    verify
        How much of the answer to hold against its input by another method.
    overwrite
        Replace an answer that is there.
    progress
        Whether to show how far it is: in a notebook in its cell, else on stderr.
    """
