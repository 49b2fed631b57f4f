/* The dataflow of the papers as an MPI programmer writes it in C.
 *
 * usage: mpiexec -n RANKS dataflow BLOCKS BLOCK_VECTORS SEED X Y Z STAGES KEEP TABLE
 *
 * Blocks of BLOCK_VECTORS vectors are generated, shifted by (X, Y, Z), whole multiples of 2^-16,
 * averaged and reduced. STAGES is `fused` (one loop without a block) or `separate` (a loop a
 * stage); separate stages KEEP `none` (a block goes through all of them before the next) or
 * `memory` (all blocks between stages). The answer goes to the file TABLE; standard output has
 * `ranks` and how many there are, then the name and the seconds of each phase, which ends when its
 * last rank does.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AXES 3

typedef __int128 wide;

static const uint64_t G = 0x9E3779B97F4A7C15u;
static const double UNITS = 65536;

static uint64_t key;
static double by[AXES];
static int rank, ranks;
static double started;

static inline uint64_t mix(uint64_t z) {
  z ^= z >> 30;
  z *= 0xBF58476D1CE4E5B9u;
  z ^= z >> 27;
  z *= 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static inline uint64_t random_word(uint64_t index) { return mix(mix(key + index * G) ^ key); }

static inline double coordinate(uint64_t word, int axis) {
  return (double)(word >> 20 * axis & 0xFFFFF) * (125.0 / 65536) - 1000.0;
}

static void generate(uint64_t first, long vectors, double *block) {
  for (long i = 0; i < vectors; i++) {
    uint64_t word = random_word(first + i);
    for (int axis = 0; axis < AXES; axis++) block[AXES * i + axis] = coordinate(word, axis);
  }
}

static void shift(long vectors, double *block) {
  const double add[AXES] = {by[0], by[1], by[2]};
  for (long i = 0; i < vectors; i++)
    for (int axis = 0; axis < AXES; axis++) block[AXES * i + axis] += add[axis];
}

/* Sums of doubles are exact: see the specification of the workload. */
static void add(long vectors, const double *block, int64_t *sums) {
  double total[AXES] = {0};
  for (long i = 0; i < vectors; i++)
    for (int axis = 0; axis < AXES; axis++) total[axis] += block[AXES * i + axis];
  for (int axis = 0; axis < AXES; axis++) sums[axis] = (int64_t)(total[axis] * UNITS);
}

static void fused(uint64_t first, long vectors, int64_t *sums) {
  double total[AXES] = {0};
  for (long i = 0; i < vectors; i++) {
    uint64_t word = random_word(first + i);
    for (int axis = 0; axis < AXES; axis++) total[axis] += coordinate(word, axis) + by[axis];
  }
  for (int axis = 0; axis < AXES; axis++) sums[axis] = (int64_t)(total[axis] * UNITS);
}

static void *room(size_t count, size_t size) {
  void *found = malloc(count ? count * size : 1);
  if (!found) {
    fprintf(stderr, "dataflow: rank %d has no memory for %zu bytes\n", rank, count * size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return found;
}

static void begin(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  started = MPI_Wtime();
}

static void end(const char *phase) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%s %.9f\n", phase, MPI_Wtime() - started);
}

/* Generates, shifts and adds the blocks from number `first` on; `sums` are those of each. */
static void run_stages(long first, long count, long vectors, int keeps, int is_fused,
                       int64_t *sums) {
  if (!keeps) {
    double *block = is_fused ? NULL : room(AXES * vectors, sizeof *block);
    begin();
    for (long i = 0; i < count; i++) {
      uint64_t start = (uint64_t)(first + i) * vectors;
      if (is_fused) {
        fused(start, vectors, sums + AXES * i);
        continue;
      }
      generate(start, vectors, block);
      shift(vectors, block);
      add(vectors, block, sums + AXES * i);
    }
    end("pipeline");
    free(block);
    return;
  }
  size_t size = (size_t)AXES * vectors;
  double *blocks = room(count * size, sizeof *blocks);
  begin();
  for (long i = 0; i < count; i++)
    generate((uint64_t)(first + i) * vectors, vectors, blocks + i * size);
  end("generate");
  begin();
  for (long i = 0; i < count; i++) shift(vectors, blocks + i * size);
  end("shift");
  begin();
  for (long i = 0; i < count; i++) add(vectors, blocks + i * size, sums + AXES * i);
  end("average");
  free(blocks);
}

/* The sum of all blocks on rank 0. Halves of the sums travel, so that none is too large. */
static void reduce(long count, const int64_t *sums, wide total[AXES]) {
  int64_t halves[2 * AXES] = {0}, all[2 * AXES];
  begin();
  for (long i = 0; i < AXES * count; i++) {
    halves[i % AXES] += sums[i] >> 32;
    halves[AXES + i % AXES] += sums[i] & 0xFFFFFFFF;
  }
  MPI_Reduce(halves, all, 2 * AXES, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  for (int axis = 0; axis < AXES && rank == 0; axis++)
    total[axis] = (wide)all[axis] * ((wide)1 << 32) + all[AXES + axis];
  end("reduce");
}

static void print_whole(FILE *file, wide number) {
  char digits[48], *at = digits + sizeof digits;
  unsigned __int128 size = number < 0 ? -(unsigned __int128)number : (unsigned __int128)number;
  *--at = 0;
  do {
    *--at = '0' + (int)(size % 10);
    size /= 10;
  } while (size);
  fprintf(file, "%s%s", number < 0 ? "-" : "", at);
}

/* Sums, and means with six decimals, rounded half away from zero. */
static void print_row(FILE *file, int64_t vectors, const wide sums[AXES]) {
  fprintf(file, "\t%lld", (long long)vectors);
  for (int axis = 0; axis < AXES; axis++) {
    fputc('\t', file);
    print_whole(file, sums[axis]);
  }
  for (int axis = 0; axis < AXES; axis++) {
    wide divisor = (wide)vectors * 65536;
    wide size = sums[axis] < 0 ? -sums[axis] : sums[axis];
    wide rounded = (2 * size * 1000000 + divisor) / (2 * divisor);
    fprintf(file, "\t%s", sums[axis] < 0 && rounded > 0 ? "-" : "");
    print_whole(file, rounded / 1000000);
    fprintf(file, ".%06d", (int)(rounded % 1000000));
  }
  fputc('\n', file);
}

static void write_table(const char *path, long blocks, long vectors, const int64_t *sums,
                        const wide total[AXES]) {
  FILE *file = fopen(path, "w");
  if (!file) {
    fprintf(stderr, "dataflow: %s cannot be written\n", path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  fprintf(file, "block\tvectors\tsum_x\tsum_y\tsum_z\tmean_x\tmean_y\tmean_z\n");
  for (long block = 0; block < blocks; block++) {
    wide row[AXES];
    for (int axis = 0; axis < AXES; axis++) row[axis] = sums[AXES * block + axis];
    fprintf(file, "%ld", block);
    print_row(file, vectors, row);
  }
  fprintf(file, "all");
  print_row(file, (int64_t)blocks * vectors, total);
  if (ferror(file) | fclose(file)) {
    fprintf(stderr, "dataflow: %s cannot be written\n", path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 10) {
    fprintf(stderr, "dataflow: BLOCKS BLOCK_VECTORS SEED X Y Z STAGES KEEP TABLE are wanted\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (rank == 0) printf("ranks %d\n", ranks);
  long blocks = atol(argv[1]), vectors = atol(argv[2]);
  key = mix(mix(strtoull(argv[3], NULL, 10) ^ G) + 5);
  for (int axis = 0; axis < AXES; axis++) by[axis] = atof(argv[4 + axis]);
  int is_fused = !strcmp(argv[7], "fused"), keeps = !strcmp(argv[8], "memory");

  int *counts = room(ranks, sizeof *counts), *starts = room(ranks, sizeof *starts);
  for (int r = 0; r < ranks; r++) {
    starts[r] = AXES * (int)(r * blocks / ranks);
    counts[r] = AXES * (int)((r + 1) * blocks / ranks) - starts[r];
  }
  long first = starts[rank] / AXES, count = counts[rank] / AXES;
  int64_t *mine = room(counts[rank], sizeof *mine);
  wide total[AXES];
  run_stages(first, count, vectors, keeps, is_fused, mine);
  reduce(count, mine, total);

  int64_t *all = rank == 0 ? room(AXES * blocks, sizeof *all) : NULL;
  begin();
  MPI_Gatherv(mine, counts[rank], MPI_INT64_T, all, counts, starts, MPI_INT64_T, 0,
              MPI_COMM_WORLD);
  if (rank == 0) write_table(argv[9], blocks, vectors, all, total);
  end("write");
  MPI_Finalize();
  return 0;
}
