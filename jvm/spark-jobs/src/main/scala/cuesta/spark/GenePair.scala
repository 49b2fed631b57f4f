package cuesta.spark

import scala.util.Try

/** A row of gene-pair text, genes and clusters from 1, scores in millionths. */
final case class GenePair(
    gene1: Int,
    gene2: Int,
    cluster: Int,
    clusterSamples: Int,
    missing: Int,
    scores: Array[Int]
)

/** Shape common to all lines of a dataset. */
final case class Shape(fields: Int, samples: Int)

/** Reads KINC's text: version 1 (11 fields) and the export of version 3 (7 fields, all from 0). */
object GenePair {
  val NoScore: Int = Int.MinValue
  private val GenesMax = (1 << 24) - 1
  private val ClustersMax = 1 << 16
  private val ScoresMax = 8
  private val V1 = 11
  private val V3 = 7
  private val ShownMax = 24

  /** Whether a line carries no data: empty, or a comment. */
  def isBlank(line: String): Boolean = line.isEmpty || line.charAt(0) == '#'

  def shapeOf(line: String): Either[String, Shape] = {
    val fields = line.split("\t", -1)
    if (fields.length == V1 || fields.length == V3) Right(Shape(fields.length, fields.last.length))
    else
      Left(
        s"has ${fields.length} fields, expected $V1 (KINC version 1) or $V3 (KINC version 3), " +
          "tab-separated"
      )
  }

  /** Parses a complete line; the error continues the sentence "line N of FILE ...". */
  def parse(line: String, shape: Shape): Either[String, GenePair] =
    try Right(row(line.split("\t", -1), shape))
    catch { case Wrong(what) => Left(what) }

  /** Converts a line of version 1 or 3 to one of version 1. */
  def toV1(line: String, shape: Shape): String =
    if (shape.fields == V1) line
    else {
      val fields = line.split("\t", -1)
      val mask = fields.last
      val numbers = fields.take(3).map(_.toInt + 1) ++ fields.slice(3, 5).map(_.toInt) ++
        "9876".map(symbol => mask.count(_ == symbol))
      val scores = scoresOf(fields(5)).map(scoreText).mkString(",")
      (numbers.map(_.toString) :+ scores :+ mask).mkString("\t")
    }

  /** Millionths as text with six decimals. */
  def scoreText(score: Long): String =
    if (score == NoScore) "nan"
    else {
      val size = math.abs(score)
      val sign = if (score < 0) "-" else ""
      f"$sign${size / 1000000}%d.${size % 1000000}%06d"
    }

  private def scoreText(score: Int): String = scoreText(score.toLong)

  private final case class Wrong(what: String) extends Exception(what, null, false, false)

  private def row(fields: Array[String], shape: Shape): GenePair = {
    if (fields.length != shape.fields)
      throw Wrong(
        s"has ${fields.length} fields, expected ${shape.fields} separated by tabs; complete the " +
          "line, or obtain the file again")
    val mask = fields.last
    if (mask.length != shape.samples)
      throw Wrong(
        s"has a sample mask of ${mask.length} symbols, the lines before have ${shape.samples}"
      )
    checkMask(mask)
    val v1 = shape.fields == V1
    val from = if (v1) 0 else 1
    val numbers = fields.take(shape.fields - 2).zipWithIndex.map((whole _).tupled)
    val found = GenePair(
      gene1 = numbers(0) + from,
      gene2 = numbers(1) + from,
      cluster = numbers(2) + from,
      clusterSamples = numbers(4),
      missing = if (v1) numbers(5) else mask.count(_ == '9'),
      scores = scoresOf(fields(shape.fields - 2))
    )
    checkPair(found)
    found
  }

  private def whole(text: String, index: Int): Int =
    if (text.nonEmpty && text.length <= 9 && text.forall(c => c >= '0' && c <= '9')) text.toInt
    else throw Wrong(s"has ${shown(text)} in field ${index + 1}, expected a whole number")

  private def scoresOf(text: String): Array[Int] = {
    val scores = text.split(",", -1).map(score)
    if (scores.length > ScoresMax) throw Wrong(s"has more than $ScoresMax scores")
    scores
  }

  private def score(text: String): Int = text match {
    case "nan" | "-nan" | "NaN" | "NAN" => NoScore
    case _ =>
      val number = text.headOption
        .filter(first => first >= '0' && first <= '9' || first == '-' || first == '.')
        .flatMap(_ => Try(BigDecimal(text)).toOption)
        .getOrElse(throw Wrong(s"has ${shown(text)} for a score, expected -2000 to 2000 or nan"))
      (number * 1000000).setScale(0, BigDecimal.RoundingMode.HALF_EVEN).toIntExact
  }

  private def checkMask(mask: String): Unit = {
    val known = "016789"
    val index = mask.indexWhere(symbol => known.indexOf(symbol.toInt) < 0)
    if (index >= 0)
      throw Wrong(
        s"is damaged: sample ${index + 1} of the mask is '${mask(index)}', expected one of " +
          known.mkString(" ")
      )
  }

  private def checkPair(row: GenePair): Unit = {
    import row._
    if (gene1 == 0 || gene2 == 0)
      throw Wrong(
        "has gene number 0, but KINC version 1 counts from 1 (an older version-3 export?)"
      )
    if (gene1 > GenesMax) throw Wrong(s"has gene number $gene1, the largest allowed is $GenesMax")
    if (gene1 <= gene2)
      throw Wrong(s"has gene1 $gene1 not above gene2 $gene2; KINC writes the lower triangle")
    if (cluster < 1 || cluster > ClustersMax)
      throw Wrong(s"has cluster number $cluster, expected 1 to $ClustersMax")
  }

  private def shown(text: String): String =
    "\"" + text.take(ShownMax) + (if (text.length > ShownMax) "..." else "") + "\""
}
