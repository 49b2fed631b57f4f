package cuesta.spark

import java.nio.ByteBuffer
import java.nio.file.Path
import java.util.Arrays

import scala.util.Using

import org.apache.spark.RangePartitioner
import org.apache.spark.rdd.RDD
import org.apache.spark.util.SerializableConfiguration

/** 100-byte records in the order of their 10-byte keys; equal keys keep the order of the input. */
object Sort {
  private val RecordBytes = 100
  private val KeyBytes = 10
  private val SplitBytesMax = (32L << 20) / RecordBytes * RecordBytes

  /** A key and, so that no two are equal, the record's place: both compare as unsigned bytes. */
  private type Key = Array[Byte]
  private implicit val keyOrder: Ordering[Key] = (a, b) => Arrays.compareUnsigned(a, b)

  /** Records of a file, and how many come before them in all. */
  private final case class Piece(split: Split, first: Long)

  def run(job: Job): Map[String, Long] = {
    val pieces = job.clock.phase("open")(cut(job))
    val bytes = pieces.map(_.split.bytes).sum
    val records = read(job, pieces)
    val target = Path.of(job.request.output, "sorted.dat")
    // Sampling keys for the ranges reads the input once before it is sorted.
    val ranges = job.clock.phase("sample", Some(bytes), Some(bytes / RecordBytes)) {
      new RangePartitioner(math.max(1, job.partitions), records)
    }
    job.clock.phase("sort", Some(bytes), Some(bytes / RecordBytes)) {
      val sorted = records.repartitionAndSortWithinPartitions(ranges)
      Answer.write(sorted, target, Array.empty[Byte]) { case ((key, value), out) =>
        out.write(key, 0, KeyBytes)
        out.write(value)
      }
    }
    Map("records" -> bytes / RecordBytes, "partitions" -> ranges.numPartitions.toLong)
  }

  private def cut(job: Job): Seq[Piece] = {
    val files = Inputs.behind(job, "input.records", "files of records")
    for (file <- files; surplus = file.getLen % RecordBytes if surplus != 0)
      throw new InputException(
        s"input.records: ${Inputs.plain(file.getPath)} has ${file.getLen} bytes, $surplus more " +
          s"than a whole number of records of $RecordBytes bytes; if it is cut short, obtain " +
            "it again; lines of text are no records"
      )
    val configuration = job.context.hadoopConfiguration
    val splits = files.flatMap(Inputs.cut(_, SplitBytesMax, configuration, RecordBytes))
    val firsts = splits.scanLeft(0L)((first, split) => first + split.bytes / RecordBytes)
    splits.zip(firsts).map { case (split, first) => Piece(split, first) }
  }

  private def read(job: Job, pieces: Seq[Piece]): RDD[(Key, Array[Byte])] = {
    val configuration = new SerializableConfiguration(job.context.hadoopConfiguration)
    val placed = pieces.map(piece => piece -> piece.split.hosts)
    job.context.makeRDD(placed).flatMap { piece =>
      val bytes = new Array[Byte](piece.split.bytes.toInt)
      Using.resource(Inputs.open(piece.split, configuration.value))(_.readFully(bytes))
      Iterator.range(0, bytes.length / RecordBytes).map { index =>
        val start = index * RecordBytes
        val key = ByteBuffer.allocate(KeyBytes + java.lang.Long.BYTES)
        key.put(bytes, start, KeyBytes).putLong(piece.first + index)
        (key.array, Arrays.copyOfRange(bytes, start + KeyBytes, start + RecordBytes))
      }
    }
  }
}
