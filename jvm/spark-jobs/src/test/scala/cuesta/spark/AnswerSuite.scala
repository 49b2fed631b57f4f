package cuesta.spark

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import org.apache.spark.{SparkConf, SparkContext, TaskContext}
import org.scalatest.funsuite.AnyFunSuite

class AnswerSuite extends AnyFunSuite {

  // An attempt that failed or was killed left its half of a part, and so the folder of the parts
  // could not be removed: the job failed at its very end, with all of the answer written.
  test("a task that fails once leaves nothing, and the answer is whole") {
    val folder = Files.createTempDirectory("cuesta-answer-")
    val killed = folder.resolve("parts/.killed").toString
    val conf = new SparkConf().setMaster("local[2,2]").setAppName("answer")
    val context = new SparkContext(conf.set("spark.ui.enabled", "false"))
    context.setLogLevel("OFF")
    try {
      val lines = context.parallelize(1 to 8, 2).map { number =>
        if (number == 6 && TaskContext.get().attemptNumber() == 0) {
          Files.createFile(Path.of(killed))
          sys.error("on purpose")
        }
        number.toString
      }
      Answer.writeLines(lines, folder.resolve("answer"))
    } finally context.stop()
    val found = new String(Files.readAllBytes(folder.resolve("answer")), UTF_8)
    assert(found == (1 to 8).mkString("", "\n", "\n"))
    assert(folder.toFile.list().toSeq == Seq("answer"))
  }
}
