package cuesta.spark

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}

import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

/** Lloyd's k-means with sums of whole numbers, so that no order of additions changes a centre. */
object KMeans {
  private val NpyHeaderBytes = 128

  /** Sums on the grid, sizes, and inertias of the clusters in units and fine units. */
  private final case class Sums(
      coordinates: Array[Long],
      sizes: Array[Long],
      squares: Array[Long],
      rests: Array[Long]
  ) {
    def add(other: Sums): Sums = {
      addTo(coordinates, other.coordinates)
      addTo(sizes, other.sizes)
      addTo(squares, other.squares)
      addTo(rests, other.rests)
      this
    }

    private def addTo(all: Array[Long], more: Array[Long]): Unit =
      for (index <- all.indices) all(index) += more(index)
  }

  private final case class Iteration(shift: Double, sizes: Array[Long]) {
    def line(number: Int): String =
      s"$number\t$shift\t${sizes.count(_ == 0)}\t${sizes.min}\t${sizes.max}"
  }

  def run(job: Job): Map[String, Long] = {
    val k = job.request.int("clusters")
    val iterationsMax = job.request.int("iterations")
    val tolerance = job.request.double("tolerance")
    val (points, grid) = job.clock.phase("read") {
      val opened = Points.open(job)
      if (k > opened.count)
        throw new InputException(
          s"kmeans: --clusters is $k, there are only ${opened.count} points; give fewer clusters"
        )
      val kept = opened.copy(blocks = opened.blocks.persist(StorageLevel.MEMORY_AND_DISK))
      val axisMaxima = largest(kept)
      val maximum = axisMaxima.maxOption.getOrElse(0.0)
      if (maximum > 0 && maximum < Points.LargestMin)
        throw new InputException(
          s"kmeans: the largest coordinate is $maximum, below ${Points.LargestMin}; multiply all " +
            "coordinates by a power of ten"
        )
      (kept, Grid(kept.count, axisMaxima))
    }
    val centres = job.clock.phase("seed")(Seeding.centres(job, points, k))
    var iterations = Vector.empty[Iteration]
    var done = false
    while (!done && iterations.length < iterationsMax) {
      val name = s"iteration ${iterations.length + 1}"
      job.clock.phase(name, rows = Some(points.count)) {
        val sums = assign(points, centres, grid)
        val shift = update(centres, sums, grid)
        iterations :+= Iteration(shift, sums.sizes)
        done = shift <= tolerance
      }
    }
    job.clock.phase("assign", rows = Some(points.count)) {
      write(job, points, centres, grid, iterations)
    }
    points.blocks.unpersist()
    Map(
      "points" -> points.count,
      "dimensions" -> points.dimensions.toLong,
      "clusters" -> k.toLong,
      "iterations" -> iterations.length.toLong
    )
  }

  /** The number of the nearest of some centres, the smallest of equally near ones. */
  private[spark] def nearest(
      rows: Array[Double],
      start: Int,
      centres: Array[Array[Double]]
  ): Int = {
    var best = 0
    var least = Double.PositiveInfinity
    var cluster = 0
    while (cluster < centres.length) {
      val found = square(rows, start, centres(cluster))
      if (found < least) {
        least = found
        best = cluster
      }
      cluster += 1
    }
    best
  }

  /** The squared distance, summed in the order of the dimensions. */
  private[spark] def square(rows: Array[Double], start: Int, centre: Array[Double]): Double = {
    var sum = 0.0
    var axis = 0
    while (axis < centre.length) {
      val difference = rows(start + axis) - centre(axis)
      sum += difference * difference
      axis += 1
    }
    sum
  }

  /** The largest absolute coordinate on each axis. */
  private def largest(points: Points): Array[Double] = {
    val dimensions = points.dimensions
    points.blocks.aggregate(new Array[Double](dimensions))(
      (found, block) => {
        for (index <- block.rows.indices) {
          val axis = index % dimensions
          found(axis) = math.max(found(axis), math.abs(block.rows(index)))
        }
        found
      },
      (one, other) => one.zip(other).map { case (a, b) => math.max(a, b) }
    )
  }

  private def assign(points: Points, centres: Array[Array[Double]], grid: Grid): Sums = {
    val dimensions = points.dimensions
    val shared = points.blocks.context.broadcast(centres)
    val k = centres.length
    def zeros(count: Int) = new Array[Long](count)
    def empty = Sums(zeros(k * dimensions), zeros(k), zeros(k), zeros(k))
    val sums = points.blocks.treeAggregate(empty)(
      (sums, block) => {
        for (start <- block.rows.indices by dimensions) {
          val cluster = nearest(block.rows, start, shared.value)
          sums.sizes(cluster) += 1
          val found = square(block.rows, start, shared.value(cluster))
          sums.squares(cluster) += grid.units(found)
          sums.rests(cluster) += grid.rests(found)
          var axis = 0
          while (axis < dimensions) {
            val place = cluster * dimensions + axis
            sums.coordinates(place) += grid.coordinate(axis, block.rows(start + axis))
            axis += 1
          }
        }
        sums
      },
      _.add(_)
    )
    shared.destroy()
    sums
  }

  /** Puts means in place of centres; an empty cluster keeps its own. Returns the furthest move. */
  private def update(centres: Array[Array[Double]], sums: Sums, grid: Grid): Double = {
    val moves = for (cluster <- centres.indices if sums.sizes(cluster) > 0) yield {
      val before = centres(cluster)
      centres(cluster) = Array.tabulate(before.length) { axis =>
        grid.mean(axis, sums.coordinates(cluster * before.length + axis), sums.sizes(cluster))
      }
      square(centres(cluster), 0, before)
    }
    math.sqrt(moves.max)
  }

  private def write(
      job: Job,
      points: Points,
      centres: Array[Array[Double]],
      grid: Grid,
      iterations: Seq[Iteration]
  ): Unit = {
    val folder = Path.of(job.request.output)
    writeAssignments(points, centres, folder.resolve("assignments.npy"))
    val last = assign(points, centres, grid)
    val axes = (1 to points.dimensions).map(axis => s"x$axis")
    val header = ("cluster" +: "size" +: "inertia" +: axes).mkString("\t")
    val rows = centres.indices.map { cluster =>
      val inertia = grid.inertia(last.squares(cluster), last.rests(cluster))
      val fields = cluster.toString +: last.sizes(cluster).toString +: inertia.toString +:
        centres(cluster).map(_.toString)
      fields.mkString("\t")
    }
    Files.writeString(folder.resolve("centres.tsv"), (header +: rows).mkString("", "\n", "\n"))
    val lines = iterations.zipWithIndex.map { case (one, index) => one.line(index + 1) }
    val all = "iteration\tshift\tempty\tsmallest\tlargest" +: lines
    Files.writeString(folder.resolve("iterations.tsv"), all.mkString("", "\n", "\n"))
    ()
  }

  /** Writes the number of the nearest centre of each point as .npy; returns its size in bytes. */
  private def writeAssignments(points: Points, centres: Array[Array[Double]], target: Path) = {
    val dimensions = points.dimensions
    val shared = points.blocks.context.broadcast(centres)
    val clusters: RDD[Array[Byte]] = points.blocks.map { block =>
      val found = ByteBuffer.allocate(block.rows.length / dimensions * 4)
      found.order(ByteOrder.LITTLE_ENDIAN)
      for (start <- block.rows.indices by dimensions)
        found.putInt(nearest(block.rows, start, shared.value))
      found.array
    }
    Answer.write(clusters, target, npyHeader(points.count))((bytes, out) => out.write(bytes))
  }

  private def npyHeader(count: Long): Array[Byte] = {
    val fields = s"{'descr': '<u4', 'fortran_order': False, 'shape': ($count,), }"
    val magic = Array(0x93.toByte) ++ "NUMPY".getBytes(ISO_8859_1) ++ Array[Byte](1, 0)
    val length = NpyHeaderBytes - magic.length - 2
    val padded = fields.padTo(length - 1, ' ') + "\n"
    magic ++ Array(length.toByte, (length >> 8).toByte) ++ padded.getBytes(ISO_8859_1)
  }
}
