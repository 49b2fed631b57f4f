package cuesta.spark

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.ISO_8859_1

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus

/** A file in NumPy's own format: rows of little-endian float32 or float64 in C order.
  *
  * @param single
  *   whether numbers are float32
  * @param start
  *   the first byte of the numbers
  */
final case class NpyArray(path: String, rows: Long, columns: Int, single: Boolean, start: Long) {

  /** Bytes of all numbers. */
  def bytes: Long = bytesOf(rows)

  def bytesOf(rows: Long): Long = rows * rowBytes

  /** The byte of the file where a row begins. */
  def offset(row: Long): Long = start + bytesOf(row)

  private def rowBytes: Long = columns.toLong * (if (single) 4 else 8)

  /** Rows from number `first` on. */
  def read(first: Long, count: Int, configuration: Configuration): Array[Double] = {
    val split = Split(path, offset(first), bytesOf(count.toLong))
    val raw = ByteBuffer.allocate(split.bytes.toInt).order(ByteOrder.LITTLE_ENDIAN)
    Using.resource(Inputs.open(split, configuration))(_.readFully(raw.array))
    if (single) {
      val found = raw.asFloatBuffer
      Array.fill(found.remaining)(found.get.toDouble)
    } else {
      val found = new Array[Double](count * columns)
      raw.asDoubleBuffer.get(found)
      found
    }
  }
}

object NpyArray {
  private val Magic = "\u0093NUMPY"
  private val HeaderMax = 1 << 16

  /** Reads the header; refuses what is no such array or cut short. */
  def open(file: FileStatus, operation: String, configuration: Configuration): NpyArray = {
    val name = Inputs.plain(file.getPath)
    val split = Split(file.getPath.toString, 0, file.getLen)
    val start = ByteBuffer.allocate(math.min(file.getLen, HeaderMax).toInt)
    Using.resource(Inputs.open(split, configuration))(_.readFully(start.array))
    start.order(ByteOrder.LITTLE_ENDIAN)
    val whole = start.capacity >= 12 && new String(start.array, 0, 6, ISO_8859_1) == Magic
    if (!whole) throw new InputException(s"$operation: $name is not a .npy file")
    val wide = start.get(6) > 1
    val from = if (wide) 12 else 10
    val length = math.min(
      if (wide) start.getInt(8) else start.getShort(8) & 0xffff,
      start.capacity - from
    )
    val text = new String(start.array, from, length, ISO_8859_1)
    val single = """'descr':\s*'<f([48])'""".r.findFirstMatchIn(text).map(_.group(1) == "4")
    val shape = """'shape':\s*\((\d+),\s*(\d+)\)""".r.findFirstMatchIn(text)
    val straight = text.matches("""(?s).*'fortran_order':\s*False.*""")
    (single, shape) match {
      case (Some(one), Some(found)) if straight =>
        val array = NpyArray(
          split.file,
          rows = found.group(1).toLong,
          columns = found.group(2).toInt,
          single = one,
          start = (from + length).toLong
        )
        if (file.getLen < array.start + array.bytes)
          throw new InputException(s"$operation: $name is cut short, obtain it again")
        array
      case _ =>
        throw new InputException(
          s"$operation: $name is not points x dimensions of little-endian float32 or float64 " +
            "in C order; save it so"
        )
    }
  }
}
