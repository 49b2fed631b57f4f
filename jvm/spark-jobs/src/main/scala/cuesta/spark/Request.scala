package cuesta.spark

import org.json4s._
import org.json4s.jackson.JsonMethods

/** A request: a trial of the command line. */
final case class Request(
    workload: String,
    inputs: Seq[String],
    parameters: JValue,
    seed: BigInt,
    output: String,
    partitions: Option[Int],
    options: Options
) {
  private implicit val formats: Formats = DefaultFormats

  def text(name: String): String = (parameters \ name).extract[String]

  def int(name: String): Int = (parameters \ name).extract[Int]

  def double(name: String): Double = (parameters \ name).extract[Double]

  /** A parameter that may be left out. */
  def intOption(name: String): Option[Int] = (parameters \ name).extractOpt[Int]

  def doubleOption(name: String): Option[Double] = (parameters \ name).extractOpt[Double]

  def textOption(name: String): Option[String] = (parameters \ name).extractOpt[String]
}

object Request {
  def parse(json: String): Request = {
    implicit val formats: Formats = DefaultFormats
    val asked = JsonMethods.parse(json)
    Request(
      workload = (asked \ "workload").extract[String],
      inputs = (asked \ "inputs").extract[Seq[String]],
      parameters = asked \ "parameters",
      seed = (asked \ "seed").extract[BigInt],
      output = (asked \ "output").extract[String],
      partitions = (asked \ "partitions").extractOpt[Int],
      options = optionsOf(asked \ "options")
    )
  }

  private def optionsOf(asked: JValue): Options = {
    implicit val formats: Formats = DefaultFormats
    def word(name: String): Option[String] = (asked \ name).extractOpt[String]
    val default = Options()
    Options(
      keys = word("keys").getOrElse(default.keys),
      cache = word("cache").getOrElse(default.cache),
      level = word("storage_level").fold(default.level)(Options.levelOf)
    )
  }
}

/** Outcome of a request. */
object Response {

  /** Times of phases, counts of the answer, and bytes that lay in caches. */
  def toJson(phases: Seq[Phase], counts: Map[String, Long], cached: Map[String, Long]): String = {
    val rows = phases.map { phase =>
      val amounts = Seq("bytes" -> phase.bytes, "rows" -> phase.rows).collect {
        case (name, Some(amount)) => JField(name, JLong(amount))
      }
      JObject(
        JField("name", JString(phase.name)) :: JField("seconds", JDouble(phase.seconds)) ::
          amounts.toList
      )
    }
    def numbers(all: Map[String, Long]) =
      JObject(all.map { case (name, count) => JField(name, JLong(count)) }.toList)
    val all = JObject(
      JField("phases", JArray(rows.toList)),
      JField("counts", numbers(counts)),
      JField("cached", numbers(cached)),
      JField("scala", JString(util.Properties.versionNumberString))
    )
    JsonMethods.compact(JsonMethods.render(all))
  }
}
