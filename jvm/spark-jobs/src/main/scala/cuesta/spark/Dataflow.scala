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

  final case class Plan(blocks: Long, blockVectors: Int, shift: Vector3, seed: Long)

  final case class Vector3(x: Double, y: Double, z: Double)

  /** Sums of the coordinates of a block, in units. */
  final case class Sums(x: Long, y: Long, z: Long)

  def run(job: Job): Map[String, Long] = {
    val request = job.request
    val asked = Plan(
      blocks = request.int("blocks").toLong,
      blockVectors = request.int("block_vectors"),
      shift = shiftOf(request.text("shift")),
      seed = request.seed.toLong
    )
    val keep = request.text("keep")
    val tasks = request.partitions.getOrElse(math.min(job.partitions.toLong, asked.blocks).toInt)
    val numbers = job.context.range(0, asked.blocks, 1, tasks)
    val vectors = asked.blocks * asked.blockVectors
    val sums =
      if (request.text("stages") == "fused")
        job.clock.phase("pipeline", rows = Some(vectors))(numbers.map(fused(asked, _)).collect())
      else if (keep == "none")
        job.clock.phase("pipeline", rows = Some(vectors)) {
          numbers.map(generate(asked, _)).map(shift(_, asked.shift)).map(sum).collect()
        }
      else staged(job, asked, numbers, keep)
    job.clock.phase("reduce", rows = Some(asked.blocks)) {
      write(Path.of(request.output, "averages.tsv"), asked, sums)
    }
    Map("blocks" -> asked.blocks, "vectors" -> vectors, "partitions" -> tasks.toLong)
  }

  private def staged(job: Job, asked: Plan, numbers: RDD[Long], keep: String): Array[Sums] = {
    val level = if (keep == "memory") StorageLevel.MEMORY_AND_DISK else StorageLevel.DISK_ONLY
    val vectors = asked.blocks * asked.blockVectors
    val once = vectors * 3 * java.lang.Double.BYTES
    val generated = numbers.map(generate(asked, _)).persist(level)
    val shifted = generated.map(block => shift(block.clone(), asked.shift)).persist(level)
    try {
      job.clock.phase("generate", Some(once), Some(vectors))(generated.count())
      job.clock.phase("shift", Some(2 * once), Some(vectors))(shifted.count())
      job.clock.phase("average", Some(once), Some(vectors))(shifted.map(sum).collect())
    } finally {
      shifted.unpersist(blocking = true)
      generated.unpersist(blocking = true)
    }
  }

  /** Three numbers, rounded to whole units half away from zero. The caller has checked them. */
  private[spark] def shiftOf(text: String): Vector3 = {
    val axes = text.split(',').map { field =>
      val value = field.trim.toDouble
      math.signum(value) * math.floor(math.abs(value) * Units + 0.5) / Units
    }
    Vector3(axes(0), axes(1), axes(2))
  }

  private[spark] def generate(asked: Plan, block: Long): Array[Double] = {
    val key = Random.key(asked.seed, Stream)
    val first = block * asked.blockVectors
    val vectors = new Array[Double](3 * asked.blockVectors)
    var index = 0
    while (index < asked.blockVectors) {
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
    val first = block * asked.blockVectors
    val by = asked.shift
    var x, y, z = 0.0
    var index = 0
    while (index < asked.blockVectors) {
      val word = Random.word(key, first + index)
      x += coordinate(word) + by.x
      y += coordinate(word >>> 20) + by.y
      z += coordinate(word >>> 40) + by.z
      index += 1
    }
    Sums((x * Units).toLong, (y * Units).toLong, (z * Units).toLong)
  }

  private def coordinate(word: Long): Double = (word & 0xfffff) * (125 / Units) - 1000.0

  private def write(path: Path, asked: Plan, sums: Array[Sums]): Unit = {
    val text = new StringBuilder(Header)
    val total = Array.fill(3)(BigInt(0))
    for ((sum, block) <- sums.zipWithIndex) {
      val axes = Seq(BigInt(sum.x), BigInt(sum.y), BigInt(sum.z))
      for (axis <- 0 until 3) total(axis) += axes(axis)
      appendLine(text, block.toString, asked.blockVectors.toLong, axes)
    }
    appendLine(text, "all", asked.blocks * asked.blockVectors, total.toSeq)
    Files.write(path, text.toString.getBytes(US_ASCII))
    ()
  }

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
