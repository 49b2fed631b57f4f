/* The dataflow of the papers as an MPI programmer writes it: blocks, three loops each, a gather.
 *
 * usage: mpiexec -n RANKS dataflow BLOCKS BLOCK_VECTORS SEED X Y Z FUSED REPEATS OUTPUT
 *
 * FUSED 1 runs the three loops as one, without a block. The last repeat's sums, in units of 2^-16,
 * go to OUTPUT, a line a block; the seconds of each repeat to standard output.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const uint64_t G = 0x9E3779B97F4A7C15u;

static inline uint64_t mix(uint64_t z) {
  z ^= z >> 30;
  z *= 0xBF58476D1CE4E5B9u;
  z ^= z >> 27;
  z *= 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static inline double coordinate(uint64_t word, int axis) {
  return (double)(word >> 20 * axis & 0xFFFFF) * (125.0 / 65536) - 1000.0;
}

static void staged(uint64_t key, uint64_t first, long vectors, const double by[3], double *block,
                   int64_t sums[3]) {
  for (long i = 0; i < vectors; i++) {
    uint64_t word = mix(mix(key + (first + i) * G) ^ key);
    for (int axis = 0; axis < 3; axis++) block[3 * i + axis] = coordinate(word, axis);
  }
  for (long i = 0; i < vectors; i++)
    for (int axis = 0; axis < 3; axis++) block[3 * i + axis] += by[axis];
  double total[3] = {0, 0, 0};
  for (long i = 0; i < vectors; i++)
    for (int axis = 0; axis < 3; axis++) total[axis] += block[3 * i + axis];
  for (int axis = 0; axis < 3; axis++) sums[axis] = (int64_t)(total[axis] * 65536);
}

static void fused(uint64_t key, uint64_t first, long vectors, const double by[3],
                  int64_t sums[3]) {
  double total[3] = {0, 0, 0};
  for (long i = 0; i < vectors; i++) {
    uint64_t word = mix(mix(key + (first + i) * G) ^ key);
    for (int axis = 0; axis < 3; axis++) total[axis] += coordinate(word, axis) + by[axis];
  }
  for (int axis = 0; axis < 3; axis++) sums[axis] = (int64_t)(total[axis] * 65536);
}

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 10) MPI_Abort(MPI_COMM_WORLD, 2);
  long blocks = atol(argv[1]), vectors = atol(argv[2]);
  uint64_t seed = strtoull(argv[3], NULL, 10);
  double by[3] = {atof(argv[4]), atof(argv[5]), atof(argv[6])};
  int is_fused = atoi(argv[7]), repeats = atoi(argv[8]);
  uint64_t key = mix(mix(seed ^ G) + 5);

  int *counts = malloc(ranks * sizeof *counts), *starts = malloc(ranks * sizeof *starts);
  for (int r = 0; r < ranks; r++) {
    starts[r] = 3 * (r * blocks / ranks);
    counts[r] = 3 * ((r + 1) * blocks / ranks) - starts[r];
  }
  int64_t *mine = malloc(counts[rank] * sizeof *mine + 1);
  int64_t *all = malloc(3 * blocks * sizeof *all);
  double *block = is_fused ? NULL : malloc(3 * vectors * sizeof *block);

  for (int repeat = 0; repeat < repeats; repeat++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double started = MPI_Wtime();
    for (int i = 0; i < counts[rank] / 3; i++) {
      uint64_t first = (uint64_t)(starts[rank] / 3 + i) * vectors;
      if (is_fused)
        fused(key, first, vectors, by, mine + 3 * i);
      else
        staged(key, first, vectors, by, block, mine + 3 * i);
    }
    MPI_Gatherv(mine, counts[rank], MPI_INT64_T, all, counts, starts, MPI_INT64_T, 0,
                MPI_COMM_WORLD);
    if (rank == 0) printf("%.9f\n", MPI_Wtime() - started);
  }
  if (rank == 0) {
    FILE *file = fopen(argv[9], "w");
    if (!file) MPI_Abort(MPI_COMM_WORLD, 1);
    for (long b = 0; b < blocks; b++)
      fprintf(file, "%lld\t%lld\t%lld\n", (long long)all[3 * b], (long long)all[3 * b + 1],
              (long long)all[3 * b + 2]);
    fclose(file);
  }
  MPI_Finalize();
  return 0;
}
