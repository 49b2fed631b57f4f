package cuesta.spark

import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.{Files, Path}

import org.apache.spark.rdd.RDD
import org.apache.spark.storage.StorageLevel

/** Blocks of 3-vectors: generate, shift, average, reduce. What an engine itself costs. */
object Dataflow {

  /** Coordinates are whole multiples of 2^-16, so all sums of doubles below are exact. */
  private val Units = 65536.0
  private val Stream = 5L
  private val Header = "block\tvectors\tsum_x\tsum_y\tsum_z\tmean_x\tmean_y\tmean_z\n"

  /** Parameters; all blocks but the last have `blockVectors` vectors. */
  final case class Plan(
      vectors: Long,
      blockVectors: Int,
      shift: Vector3,
      seed: Long,
      stored: Option[Vectors]
  ) {
    def blocks: Long = (vectors + blockVectors - 1) / blockVectors

    def first(block: Long): Long = block * blockVectors

    def vectorsOf(block: Long): Int = math.min(blockVectors.toLong, vectors - first(block)).toInt
  }

  final case class Vector3(x: Double, y: Double, z: Double)

  /** Sums of the coordinates of a block, in units. */
  final case class Sums(x: Long, y: Long, z: Long) {
    def total: Total = Total(BigInt(x), BigInt(y), BigInt(z))
  }

  /** Sums of many blocks, which may not fit in a `Long`. */
  final case class Total(x: BigInt, y: BigInt, z: BigInt) {
    def +(other: Total): Total = Total(x + other.x, y + other.y, z + other.z)

    def axes: Seq[BigInt] = Seq(x, y, z)
  }

  def run(job: Job): Map[String, Long] = {
    val asked = plan(job)
    val keep = job.request.text("keep")
    val tasks =
      job.request.partitions.getOrElse(math.min(job.partitions.toLong, asked.blocks).toInt)
    val numbers = job.context.range(0, asked.blocks, 1, tasks)
    val sums =
      if (keep != "none") staged(job, asked, numbers, keep)
      else
        job.clock.phase("pipeline", asked.stored.map(_.bytes), Some(asked.vectors)) {
          if (job.request.text("stages") == "fused" && asked.stored.isEmpty)
            computed(numbers.map(fused(asked, _)))
          else computed(numbers.map(make(asked, _)).map(shift(_, asked.shift)).map(sum))
        }
    try {
      val rows = Some(asked.blocks)
      val total = job.clock.phase("reduce", rows = rows)(sums.map(_.total).reduce(_ + _))
      job.clock.phase("write", rows = rows) {
        write(Path.of(job.request.output, "averages.tsv"), asked, (sums.collect(), total))
      }
    } finally sums.unpersist(blocking = true)
    Map("blocks" -> asked.blocks, "vectors" -> asked.vectors, "partitions" -> tasks.toLong)
  }

  private def plan(job: Job): Plan = {
    val request = job.request
    val blockVectors = request.int("block_vectors")
    val stored = if (request.inputs.isEmpty) None else Some(Vectors.open(job, blockVectors))
    Plan(
      vectors = stored.fold(request.int("blocks").toLong * blockVectors)(_.count),
      blockVectors = blockVectors,
      shift = shiftOf(request.text("shift")),
      seed = request.seed.toLong,
      stored = stored
    )
  }

  private def staged(job: Job, asked: Plan, numbers: RDD[Long], keep: String): RDD[Sums] = {
    val level = if (keep == "memory") StorageLevel.MEMORY_AND_DISK else StorageLevel.DISK_ONLY
    val rows = Some(asked.vectors)
    val once = asked.vectors * 3 * java.lang.Double.BYTES
    val fileBytes = asked.stored.fold(0L)(_.bytes)
    val first = if (asked.stored.isEmpty) "generate" else "load"
    val made = numbers.map(make(asked, _)).persist(level)
    val shifted = made.map(block => shift(block.clone(), asked.shift)).persist(level)
    try {
      job.clock.phase(first, Some(fileBytes + once), rows)(made.count())
      job.clock.phase("shift", Some(2 * once), rows)(shifted.count())
      job.clock.phase("average", Some(once), rows)(computed(shifted.map(sum)))
    } finally {
      shifted.unpersist(blocking = true)
      made.unpersist(blocking = true)
    }
  }

  /** The sums of the blocks, kept where they were computed. */
  private def computed(sums: RDD[Sums]): RDD[Sums] = {
    sums.persist(StorageLevel.MEMORY_AND_DISK).count()
    sums
  }

  /** Three numbers, rounded to whole units half away from zero. The caller has checked them. */
  private[spark] def shiftOf(text: String): Vector3 = {
    val axes = text.split(',').map { field =>
      val value = field.trim.toDouble
      math.signum(value) * math.floor(math.abs(value) * Units + 0.5) / Units
    }
    Vector3(axes(0), axes(1), axes(2))
  }

  /** A block, read where there are files, else generated. */
  private def make(asked: Plan, block: Long): Array[Double] =
    asked.stored.fold(generate(asked, block)) { stored =>
      stored.read(asked.first(block), asked.vectorsOf(block))
    }

  private[spark] def generate(asked: Plan, block: Long): Array[Double] = {
    val key = Random.key(asked.seed, Stream)
    val first = asked.first(block)
    val vectors = new Array[Double](3 * asked.vectorsOf(block))
    var index = 0
    while (3 * index < vectors.length) {
      val word = Random.word(key, first + index)
      vectors(3 * index) = coordinate(word)
      vectors(3 * index + 1) = coordinate(word >>> 20)
      vectors(3 * index + 2) = coordinate(word >>> 40)
      index += 1
    }
    vectors
  }

  /** Adds a vector to each, in place. */
  private[spark] def shift(block: Array[Double], by: Vector3): Array[Double] = {
    var index = 0
    while (index < block.length) {
      block(index) += by.x
      block(index + 1) += by.y
      block(index + 2) += by.z
      index += 3
    }
    block
  }

  private[spark] def sum(block: Array[Double]): Sums = {
    var x, y, z = 0.0
    var index = 0
    while (index < block.length) {
      x += block(index)
      y += block(index + 1)
      z += block(index + 2)
      index += 3
    }
    Sums((x * Units).toLong, (y * Units).toLong, (z * Units).toLong)
  }

  /** All stages of a block, without a block. */
  private[spark] def fused(asked: Plan, block: Long): Sums = {
    val key = Random.key(asked.seed, Stream)
    val first = asked.first(block)
    val by = asked.shift
    val count = asked.vectorsOf(block)
    var x, y, z = 0.0
    var index = 0
    while (index < count) {
      val word = Random.word(key, first + index)
      x += coordinate(word) + by.x
      y += coordinate(word >>> 20) + by.y
      z += coordinate(word >>> 40) + by.z
      index += 1
    }
    Sums((x * Units).toLong, (y * Units).toLong, (z * Units).toLong)
  }

  private def coordinate(word: Long): Double = (word & 0xfffff) * (125 / Units) - 1000.0

  private def write(path: Path, asked: Plan, found: (Array[Sums], Total)): Unit = {
    val (sums, total) = found
    val text = new StringBuilder(Header)
    for ((sum, block) <- sums.zipWithIndex)
      appendLine(text, block.toString, asked.vectorsOf(block.toLong).toLong, sum.total.axes)
    appendLine(text, "all", asked.vectors, total.axes)
    Files.write(path, text.toString.getBytes(US_ASCII))
    ()
  }

  /** Appends a line: sums in units of 2^-16, then means as decimals. */
  private def appendLine(
      text: StringBuilder,
      block: String,
      vectors: Long,
      sums: Seq[BigInt]
  ): Unit = {
    val fields = Seq(block, vectors.toString) ++ sums.map(_.toString) ++ sums.map(mean(_, vectors))
    text ++= fields.mkString("", "\t", "\n")
  }

  /** Six decimals, half away from zero, from whole numbers. */
  private[spark] def mean(total: BigInt, vectors: Long): String = {
    val divisor = BigInt(vectors) * Units.toLong
    val rounded = (total.abs * 2000000 + divisor) / (divisor * 2)
    val sign = if (total < 0 && rounded > 0) "-" else ""
    f"$sign${rounded / 1000000}%s.${(rounded % 1000000).toInt}%06d"
  }
}
