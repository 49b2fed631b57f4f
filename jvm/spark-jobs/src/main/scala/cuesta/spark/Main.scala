package cuesta.spark

import java.nio.file.{Files, Path}

import org.apache.spark.sql.SparkSession

/** Runs a request from a file, for `spark-submit --class cuesta.spark.Main`.
  *
  * The response goes to the second file; the answer to the folder that the request names.
  */
object Main {
  def main(arguments: Array[String]): Unit = arguments match {
    case Array(request, response) =>
      val spark = SparkSession.builder().appName("cuesta").getOrCreate()
      try Files.writeString(Path.of(response), Jobs.run(spark, Files.readString(Path.of(request))))
      finally spark.stop()
    case _ =>
      Console.err.println("usage: spark-submit --class cuesta.spark.Main JAR REQUEST RESPONSE")
      sys.exit(2)
  }
}
