package cuesta.spark

import org.apache.hadoop.fs.Path
import org.scalatest.funsuite.AnyFunSuite

class GenePairSuite extends AnyFunSuite {
  private val line = "7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871,nan\t11910711"
  private val shape = Shape(fields = 11, samples = 8)

  private def row(line: String): GenePair = GenePair.parse(line, shape).fold(fail(_), identity)

  test("a line of version 1 is read") {
    val found = row(line)
    assert((found.gene1, found.gene2, found.cluster) == ((7, 3, 1)))
    assert(found.scores.toSeq == Seq(871000, GenePair.NoScore))
    assert(GenePair.shapeOf(line) == Right(shape))
  }

  test("a line of version 3 becomes one of version 1") {
    val exported = Shape(fields = 7, samples = 8)
    val written = GenePair.toV1("6\t2\t0\t2\t5\t0.871\t11910711", exported)
    assert(written == "7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000\t11910711")
  }

  test("scores are rounded to the nearest millionth") {
    for ((text, score) <- Seq("1" -> 1000000, "-0.1234567" -> -123457, "1e-3" -> 1000))
      assert(row(line.replace("0.871,nan", text)).scores.toSeq == Seq(score))
  }

  test("what is wrong with a line is said in one sentence") {
    for (
      (bad, said) <- Seq(
        "7\t3" -> "has 2 fields, expected 11",
        line.replace("7\t3", "3\t7") -> "gene1 3 not above gene2 7",
        line.replace("0.871", "x") -> "has \"x\" for a score",
        line.replace("119", "112") -> "sample 3 of the mask is '2'",
        line.dropRight(1) -> "has a sample mask of 7 symbols"
      )
    ) assert(GenePair.parse(bad, shape).left.exists(_.contains(said)), bad)
  }

  test("a bound of the filter is never moved past a millionth") {
    val filter = Filter(800000, 900000, 0, 0, Int.MaxValue)
    val pass = Seq("0.8", "0.799999", "-0.9", "0.900001").map { score =>
      filter.passes(row(line.replace("0.871,nan", score)))
    }
    assert(pass == Seq(Right(true), Right(false), Right(true), Right(false)))
  }

  test("a folder's name is a range of scores") {
    assert(GenePairs.zoneOf(new Path("/d/clusters-sc/083/x.txt")).contains(Zone(829999, 840000)))
    assert(GenePairs.zoneOf(new Path("/d/other/083/x.txt")).isEmpty)
  }

  test("neighbours are put together up to a size, in their order") {
    val splits = Seq(3L, 4, 5, 20, 1, 1, 10, 0).zipWithIndex.map { case (bytes, index) =>
      Split(s"file $index", 0, bytes)
    }
    val packed = GenePairs.packed(splits, 10)
    val sizes = Seq(Seq(3L, 4L), Seq(5L), Seq(20L), Seq(1L, 1L), Seq(10L, 0L))
    assert(packed.map(_.map(_.bytes)) == sizes)
    assert(packed.flatten == splits)
    assert(GenePairs.packed(Nil, 10).isEmpty)
  }
}
