package cuesta.spark

import java.io.{BufferedOutputStream, OutputStream}
import java.nio.channels.FileChannel
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{
  DirectoryNotEmptyException, Files, Path, StandardCopyOption, StandardOpenOption
}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD

/** Answer files. Tasks write parts into a folder that all of them share; the driver joins them. */
object Answer {

  /** Times that the folder of the parts is emptied, at most: files may appear in it meanwhile. */
  private val RemovalsMax = 100

  /** Writes `header`, then the partitions of lines in order; returns the size in bytes. */
  def writeLines(lines: RDD[String], target: Path, header: String = ""): Long =
    write(lines, target, header.getBytes(UTF_8)) { (line, out) =>
      out.write(line.getBytes(UTF_8))
      out.write('\n')
    }

  /** Writes `header`, then the partitions in order; returns the size of the file in bytes. */
  def write[T](rows: RDD[T], target: Path, header: Array[Byte])(
      append: (T, OutputStream) => Unit
  ): Long = {
    val folder = Files.createDirectory(target.resolveSibling("parts"))
    val place = folder.toString
    rows.context.runJob(rows, (task: TaskContext, partition: Iterator[T]) => {
      writePart(Path.of(place), task, partition, append)
    })
    val bytes = join(target, header, (0 until rows.getNumPartitions).map(part(folder, _)))
    remove(folder)
    bytes
  }

  /** Removes the folder of the parts with what attempts of tasks left there that were killed. One
    * that still ends may add a file meanwhile.
    */
  private def remove(folder: Path): Unit = {
    def isGone: Boolean = {
      Using.resource(Files.newDirectoryStream(folder))(_.asScala.foreach(Files.deleteIfExists))
      try Files.deleteIfExists(folder)
      catch { case _: DirectoryNotEmptyException => false }
      !Files.exists(folder)
    }
    Iterator.continually(isGone).take(RemovalsMax).contains(true)
    ()
  }

  /** A whole table of numbers. */
  def writeTable(target: Path, header: String, rows: Iterator[Seq[Long]]): Long = {
    Using.resource(Files.newBufferedWriter(target)) { out =>
      out.write(header)
      out.write('\n')
      for (row <- rows) {
        out.write(row.mkString("\t"))
        out.write('\n')
      }
    }
    Files.size(target)
  }

  /** A part gets its name when it is whole, whichever attempt of the task writes it. */
  private def writePart[T](
      folder: Path,
      task: TaskContext,
      rows: Iterator[T],
      append: (T, OutputStream) => Unit
  ): Unit = {
    val temporary = folder.resolve(s".${task.taskAttemptId()}")
    try {
      Using.resource(new BufferedOutputStream(Files.newOutputStream(temporary), 1 << 18)) { out =>
        rows.foreach(append(_, out))
      }
      Files.move(temporary, part(folder, task.partitionId()), StandardCopyOption.ATOMIC_MOVE)
    } finally Files.deleteIfExists(temporary)
    ()
  }

  private def part(folder: Path, number: Int): Path = folder.resolve(s"part-$number")

  private def join(target: Path, header: Array[Byte], parts: Seq[Path]): Long = {
    Files.write(target, header)
    Using.resource(FileChannel.open(target, StandardOpenOption.WRITE, StandardOpenOption.APPEND)) {
      out =>
        for (part <- parts) {
          Using.resource(FileChannel.open(part)) { in =>
            var done = 0L
            while (done < in.size) done += in.transferTo(done, in.size - done, out)
          }
          Files.delete(part)
        }
    }
    Files.size(target)
  }
}
