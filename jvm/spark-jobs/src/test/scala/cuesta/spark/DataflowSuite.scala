package cuesta.spark

import org.scalatest.funsuite.AnyFunSuite

class DataflowSuite extends AnyFunSuite {
  private val shift = Dataflow.shiftOf("1,0,-0.5")
  private val asked =
    Dataflow.Plan(vectors = 2500, blockVectors = 1000, shift = shift, seed = 7, stored = None)

  test("stages of a block give what the fused loop gives") {
    for (block <- 0L until 3L) {
      val generated = Dataflow.generate(asked, block)
      assert(generated.length == 3 * asked.vectorsOf(block))
      assert(generated.forall(coordinate => coordinate >= -1000 && coordinate < 1000))
      val separate = Dataflow.sum(Dataflow.shift(generated, shift))
      assert(separate == Dataflow.fused(asked, block))
    }
  }

  test("the sum of all blocks may be larger than a Long") {
    val most = Dataflow.Sums(Long.MaxValue, Long.MinValue, -1).total
    val twice = Seq(BigInt(Long.MaxValue) * 2, BigInt(Long.MinValue) * 2, BigInt(-2))
    assert((most + most).axes == twice)
  }

  test("the shift is rounded to whole units half away from zero") {
    val unit = 1.0 / 65536
    val found = Dataflow.shiftOf(s"${0.5 * unit}, ${-0.5 * unit},${0.4 * unit}")
    assert(found == Dataflow.Vector3(unit, -unit, 0))
  }

  test("means have six decimals, rounded half away from zero from the exact sum") {
    assert(Dataflow.mean(BigInt(65536) * 3, 2) == "1.500000")
    assert(Dataflow.mean(BigInt(-65536), 3) == "-0.333333")
    assert(Dataflow.mean(BigInt(-1), 1000000) == "0.000000")
    assert(Dataflow.mean(BigInt(65536) * 5, 10000000) == "0.000001")
  }

  test("random words are those of the specification") {
    val key = Random.key(0, 0)
    assert(Random.word(key, 0) != Random.word(key, 1))
    assert(Random.key(1, 0) != Random.key(0, 1))
  }
}
