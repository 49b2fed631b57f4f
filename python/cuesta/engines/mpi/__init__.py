"""The Rust kernels in MPI ranks, by mpi4py: `--ranks N`, or `mpirun -n N cuesta run ...`."""

from cuesta.engines.mpi.engine import MpiEngine

__all__ = ["MpiEngine"]
