package cuesta.spark

import java.nio.ByteBuffer
import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.spark.network.TransportContext
import org.apache.spark.network.buffer.{ManagedBuffer, NioManagedBuffer}
import org.apache.spark.network.client.{
  ChunkReceivedCallback, RpcResponseCallback, TransportClient
}
import org.apache.spark.network.server.{RpcHandler, StreamManager}
import org.apache.spark.network.util.{MapConfigProvider, TransportConf}
import org.apache.spark.sql.SparkSession

/** Costs of Spark itself: tasks without work, and the transport that its shuffle goes through,
  * over a connection within the machine.
  */
object Limits {
  private val BlockBytes = 8 << 20
  private val InFlight = 4
  private val Seconds = 0.15
  private val TasksPerSlot = 100
  private val WarmUps = 3
  private val WaitSeconds = 20L

  /** Samples by name as JSON, so many of each after some that are not kept. */
  def measure(spark: SparkSession, repeats: Int): String = {
    val server = new Server
    try {
      val client = server.client()
      val found = Seq(
        "tasks_per_s" -> samples(repeats)(tasks(spark)),
        "transport_bytes_per_s" -> samples(repeats)(blocks(client)),
        "transport_round_trips_per_s" -> samples(repeats)(roundTrips(client))
      )
      found
        .map { case (name, values) => s""""$name": [${values.mkString(", ")}]""" }
        .mkString("{", ", ", "}")
    } finally server.close()
  }

  private def samples(repeats: Int)(work: => Double): Seq[Double] = {
    Seq.fill(WarmUps)(work)
    Seq.fill(repeats)(work)
  }

  private def tasks(spark: SparkSession): Double = {
    val context = spark.sparkContext
    val count = TasksPerSlot * context.defaultParallelism
    val empty = context.parallelize(0 until count, count)
    val started = System.nanoTime()
    empty.foreach(_ => ())
    count * 1e9 / (System.nanoTime() - started)
  }

  private def blocks(client: TransportClient): Double = {
    val arrived = new LinkedBlockingQueue[Either[Throwable, Long]]
    val callback = new ChunkReceivedCallback {
      def onSuccess(index: Int, buffer: ManagedBuffer): Unit = arrived.put(Right(buffer.size()))
      def onFailure(index: Int, error: Throwable): Unit = arrived.put(Left(error))
    }
    val started = System.nanoTime()
    var bytes = 0L
    (0 until InFlight).foreach(client.fetchChunk(0L, _, callback))
    var asked = InFlight
    while ((System.nanoTime() - started) / 1e9 < Seconds) {
      bytes += next(arrived)
      client.fetchChunk(0L, asked, callback)
      asked += 1
    }
    (0 until InFlight).foreach(_ => bytes += next(arrived))
    bytes * 1e9 / (System.nanoTime() - started)
  }

  private def next(arrived: LinkedBlockingQueue[Either[Throwable, Long]]): Long =
    Option(arrived.poll(WaitSeconds, TimeUnit.SECONDS)) match {
      case Some(Right(bytes)) => bytes
      case Some(Left(error)) => throw error
      case None => throw new IllegalStateException("Spark's transport does not answer")
    }

  private def roundTrips(client: TransportClient): Double = {
    val started = System.nanoTime()
    var count = 0
    while ((System.nanoTime() - started) / 1e9 < Seconds) {
      client.sendRpcSync(ByteBuffer.allocate(1), WaitSeconds * 1000)
      count += 1
    }
    count * 1e9 / (System.nanoTime() - started)
  }

  /** Sends the same block whenever it is asked, and answers a message with it. */
  private final class Server {
    private val block = ByteBuffer.allocateDirect(BlockBytes)

    private val streams = new StreamManager {
      def getChunk(stream: Long, index: Int): ManagedBuffer =
        new NioManagedBuffer(block.duplicate())
    }
    private val handler = new RpcHandler {
      def receive(
          client: TransportClient, message: ByteBuffer, callback: RpcResponseCallback
      ): Unit = callback.onSuccess(ByteBuffer.allocate(1))

      def getStreamManager: StreamManager = streams
    }
    private val settings = new MapConfigProvider(Map.empty[String, String].asJava)
    private val context = new TransportContext(new TransportConf("shuffle", settings), handler)
    private val server = context.createServer("127.0.0.1", 0, java.util.List.of())
    private val factory = context.createClientFactory()

    def client(): TransportClient = factory.createClient("127.0.0.1", server.getPort)

    def close(): Unit = {
      factory.close()
      server.close()
      context.close()
    }
  }
}
